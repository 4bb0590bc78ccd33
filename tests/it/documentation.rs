//! README and book tell the truth: their console blocks are run, their examples are accepted, and their links lead somewhere.

mod examples;
mod links;

use crate::program;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the book.
fn book() -> PathBuf {
    program::repository("docs/src")
}

/// README and its neighbours, and all pages of the book.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = Vec::new();
    for directory in [
        root.to_owned(),
        root.join("docs/src"),
        root.join("docs/src/rules"),
    ] {
        for entry in fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// After a change of output, `TRYCMD=overwrite cargo test --test it documentation::` writes the blocks anew.
#[test]
fn console_blocks_tell_the_truth() {
    trycmd::TestCases::new()
        .case("README.md")
        .case("docs/src/*.md")
        .run();
}
