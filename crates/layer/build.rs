//! The version of the facts of layers, which is part of their keys in the cache.

#![allow(clippy::print_stdout)] // This is how a build script talks to cargo.

#[path = "../hash_sources.rs"]
mod hash_sources;

/// Everything that decides what the facts of a layer are, which files links lead to, and how both are written. A change to any of it,
/// even to a comment, changes the version, and layers are read again. `tests/layering.rs` checks that no crate is missing.
const FACTS: [&str; 10] = [
    "Cargo.lock",
    "rules/knowledge/files.yaml",
    "rules/knowledge/libraries.yaml",
    "crates/archive/src",
    "crates/base/src",
    "crates/deflate/src",
    "crates/elf/src",
    "crates/image/src",
    "crates/layer/src",
    "crates/python/src",
];

fn main() {
    hash_sources::hash_sources("IMGCHECK_FACTS_CODE", &FACTS);
}
