//! The threat model names places and tests: they must be there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn page(name: &str) -> String {
    fs::read_to_string(repository(&format!("docs/src/{name}.md"))).unwrap()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the table of what must never happen: the three cells of each.
fn rows(page: &str) -> Vec<[String; 3]> {
    let table = page.split("## What must never happen").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<String> = row
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not three cells: {row}"))
    })
    .collect()
}

/// All functions of a file that are tests, and the names of its attacks.
fn names(path: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(repository(path)).unwrap();
    let name = Regex::new(r#"fn (\w+)\(|name: "([a-z0-9-]+)""#).unwrap();
    name.captures_iter(&text)
        .map(|found| found.iter().flatten().nth(1).unwrap().as_str().to_owned())
        .collect()
}

#[test]
fn places_and_tests_are_there() {
    let rows = rows(&page("threat-model"));
    assert!(rows.len() > 10);
    for [never, prevented, proven] in &rows {
        for path in quoted(prevented).filter(|it| it.contains(".rs")) {
            assert!(repository(path).exists(), "{never}: {path}");
        }
        let files: Vec<&str> = quoted(proven).filter(|it| it.contains('/')).collect();
        let known: BTreeSet<String> = files.iter().flat_map(|path| names(path)).collect();
        for name in quoted(proven).filter(|it| !it.contains('/') && *it != "openat2") {
            assert!(
                known.contains(name),
                "{never}: no test `{name}` in {files:?}"
            );
        }
        assert!(
            !files.is_empty() || proven.contains("]("),
            "{never} is not proven"
        );
    }
}
