//! README and book tell the truth: their console blocks are run, their examples are accepted, and their links lead somewhere.

mod console;
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let mut copies = Vec::new();
    for page in pages() {
        // The pages of rules have no console blocks, and those beside README none that can run.
        let is_run = page.parent() == Some(&book()) || page == root.join("README.md");
        let text = fs::read_to_string(&page).unwrap();
        if is_run && text.contains("```console\n") {
            let copy = directory.path().join(page.file_name().unwrap());
            fs::write(
                &copy,
                console::for_trycmd(&page.display().to_string(), &text),
            )
            .unwrap();
            copies.push((page, copy));
        }
    }
    assert!(copies.len() >= 8, "only {} pages were seen", copies.len());
    trycmd::TestCases::new()
        .case(directory.path().join("*.md"))
        .run();
    // It has written them if the variable says so.
    for (page, copy) in copies {
        let text = console::for_people(&fs::read_to_string(copy).unwrap());
        if std::env::var("TRYCMD").is_ok_and(|it| it == "overwrite") {
            fs::write(page, text).unwrap();
        }
    }
}
