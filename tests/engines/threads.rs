//! Images of what people asked about in public, and of rules that none of them shows, against what imgcheck reports for them.
//!
//! `testdata/recipes/threads.py` makes them, in `threads` below IMGCHECK_REAL, else below `testdata/real`; absent ones are skipped with
//! a message; where none is there, the test fails when IMGCHECK_REQUIRE_REAL is `1`.

use crate::program;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use testkit::tools::say;
use testkit::tools::{real_images, real_images_required};

use imgcheck_rules::rules::RuleSet;
use serde_json::Value;
use tempfile::tempdir;

use crate::program::imgcheck;

const TABLES: [&str; 2] = [
    include_str!("../../testdata/threads/threads.csv"),
    include_str!("../../testdata/threads/catalogue.csv"),
];
const COLUMNS: &str = "thread;image;arguments;printed;findings;words";

/// A row of a table.
#[derive(Debug)]
struct Row<'t> {
    /// URL of the thread; empty in the catalogue.
    thread: &'t str,
    /// One image, or several joined by `+` that are checked in one call.
    image: &'t str,
    arguments: Vec<&'t str>,
    /// Part of the error in the thread, which the real program also prints in the image; empty if that needs a GPU.
    printed: &'t str,
    /// `error RULE`, `warning RULE`, `note RULE`: all expected errors and warnings, and notes that must be among the findings.
    findings: BTreeSet<String>,
    /// Part of the message of the first of them.
    words: &'t str,
    first: &'t str,
}

fn rows() -> Vec<Row<'static>> {
    let mut rows = Vec::new();
    for table in TABLES {
        assert_eq!(table.lines().next(), Some(COLUMNS));
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split(';').collect();
            let [thread, image, arguments, printed, findings, words] = fields[..] else {
                panic!("not {COLUMNS}: {line}");
            };
            rows.push(Row {
                thread,
                image,
                arguments: arguments.split_whitespace().collect(),
                printed,
                findings: findings.split(", ").map(str::to_owned).collect(),
                words,
                first: findings.split([' ', ',']).nth(1).unwrap(),
            });
        }
    }
    rows
}

impl<'t> Row<'t> {
    fn images(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.image.split('+')
    }
}

/// Exit code and report of a row's images; they share `cache`.
fn report(directory: &Path, row: &Row, cache: &Path) -> (i32, Value) {
    let output = imgcheck()
        .args(["check", "--format", "json"])
        .args(
            row.images()
                .map(|name| format!("oci:{}", directory.join(name).display())),
        )
        .args(&row.arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("IMGCHECK_NO_CACHE")
        .env("IMGCHECK_CACHE_DIR", cache)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{row:?}: {error}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (output.status.code().unwrap(), report)
}

/// Checks the report for an image; an error says what is wrong.
fn check(row: &Row, directory: &Path, cache: &Path) -> Result<(), String> {
    let printed = fs::read_to_string(directory.join(format!("{}.txt", row.image)));
    if let Ok(printed) = printed
        && !printed.contains(row.printed)
    {
        return Err(format!(
            "the program does not print {:?} but {printed}",
            row.printed
        ));
    }
    let (code, report) = report(directory, row, cache);
    let images = report["images"].as_array().unwrap().iter();
    // Findings on the whole call are beside the images.
    let findings: Vec<&Value> = images
        .chain([&report])
        .flat_map(|part| part["findings"].as_array().into_iter().flatten())
        .collect();
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap().to_owned();
    let said: BTreeSet<String> = findings
        .iter()
        .map(|finding| format!("{} {}", text(finding, "severity"), text(finding, "rule")))
        .filter(|said| !said.starts_with("note") || row.findings.contains(said))
        .collect();
    if said != row.findings {
        let messages: Vec<String> = findings
            .iter()
            .map(|it| {
                format!(
                    "    {} {}: {}",
                    text(it, "severity"),
                    text(it, "rule"),
                    text(it, "message")
                )
            })
            .collect();
        return Err(format!(
            "not {:?} but\n{}",
            row.findings,
            messages.join("\n")
        ));
    }
    let failing = row
        .findings
        .iter()
        .any(|finding| finding.starts_with("error"));
    if code != i32::from(failing) {
        return Err(format!("exit code {code}"));
    }
    let first = findings
        .iter()
        .filter(|finding| finding["rule"] == row.first);
    let messages: Vec<String> = first.map(|finding| text(finding, "message")).collect();
    match messages.iter().any(|message| message.contains(row.words)) {
        true => Ok(()),
        false => Err(format!("no {:?} in {messages:?}", row.words)),
    }
}

#[test]
fn questions_from_public_threads_are_answered() {
    let directory = real_images().join("threads");
    let cache = tempdir().unwrap();
    let (mut answered, mut absent, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for row in rows() {
        let missing = |name: &&str| !directory.join(name).join("index.json").exists();
        if let Some(name) = row.images().find(missing) {
            absent.insert(name);
            continue;
        }
        answered += 1;
        if let Err(what) = check(&row, &directory, cache.path()) {
            let arguments = row.arguments.join(" ");
            wrong.push(format!("{} {} {arguments}: {what}", row.thread, row.image));
        }
    }
    if !absent.is_empty() {
        let message = format!("{absent:?} are not in {}", directory.display());
        assert!(
            !real_images_required() || answered > 0,
            "{message}; make them with testdata/recipes/threads.py"
        );
        say(format_args!("skipped: {message}"));
    }
    assert!(
        wrong.is_empty(),
        "{} of {answered} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    say(format_args!(
        "{answered} images are diagnosed as they should be"
    ));
}

#[test]
fn every_image_of_the_tables_is_made_by_the_recipe() {
    let recipe =
        fs::read_to_string(program::repository("testdata/recipes/thread_list.py")).unwrap();
    for row in rows() {
        for image in row.images() {
            let entry = format!("\n    \"{image}\": ");
            assert!(recipe.contains(&entry), "{image} is not in thread_list.py");
        }
    }
}

/// The page shows what the program says now.
#[test]
fn every_thread_is_in_the_documentation_with_the_words_that_answer_it() {
    let page = fs::read_to_string(program::repository("docs/src/threads.md")).unwrap();
    for row in rows().iter().filter(|row| !row.thread.is_empty()) {
        for piece in [row.thread, row.words] {
            assert!(
                page.contains(piece),
                "docs/src/threads.md does not have {piece:?}"
            );
        }
    }
}

/// The table of the cases names every rule.
#[test]
fn every_rule_has_a_row_in_the_table_of_cases() {
    let page = fs::read_to_string(program::repository("docs/src/proof.md")).unwrap();
    let rules = RuleSet::builtin().unwrap();
    let absent: Vec<&str> = rules
        .rules()
        .map(|rule| rule.id.as_str())
        .filter(|id| !page.contains(&format!("\n| [{id}](rules/{id}.md) | ")))
        .collect();
    assert!(absent.is_empty(), "no row in docs/src/proof.md: {absent:?}");
}
