//! README and book tell the truth: their console blocks are run, and their links lead somewhere.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

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

/// After a change of output, `TRYCMD=overwrite cargo test --test documentation` writes the blocks anew.
#[test]
fn console_blocks_tell_the_truth() {
    trycmd::TestCases::new()
        .case("README.md")
        .case("docs/src/*.md")
        .run();
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)").unwrap();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for found in link.captures_iter(&text) {
            let target = page.parent().unwrap().join(&found[1]);
            assert!(
                target.exists(),
                "{}: {} is not there",
                page.display(),
                &found[1]
            );
        }
    }
}

#[test]
fn the_book_lists_every_page() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let summary = fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    for page in pages().iter().filter(|page| page.starts_with(&book)) {
        let name = page.strip_prefix(&book).unwrap().to_str().unwrap();
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("]({name})")),
            "{name}"
        );
    }
}

#[test]
fn the_example_rule_passes_its_own_tests() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/writing-rules.md");
    let text = fs::read_to_string(page).unwrap();
    let rule = text
        .split("```yaml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("team-python.yaml");
    fs::write(&file, rule).unwrap();
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_imgcheck"))
        .args(["rules", "test"])
        .arg(file)
        .assert()
        .success();
}
