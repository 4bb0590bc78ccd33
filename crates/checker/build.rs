//! The version of what the facts of an image say of it, which is part of its key in the cache.

#![allow(clippy::print_stdout)] // This is how a build script talks to cargo.

#[path = "../hash_sources.rs"]
mod hash_sources;

/// Everything that decides what the facts of an image say of it: lint, rules, reports, the gate and the command line do not.
const MODEL: [&str; 14] = [
    "Cargo.lock",
    "rules/knowledge",
    "crates/archive/src",
    "crates/base/src",
    "crates/checker/src",
    "crates/deflate/src",
    "crates/elf/src",
    "crates/image/src",
    "crates/launch/src",
    "crates/layer/src",
    "crates/loader/src",
    "crates/model/src",
    "crates/python/src",
    "crates/tables/src",
];

fn main() {
    hash_sources::hash_sources("IMGCHECK_MODEL_CODE", &MODEL);
}
