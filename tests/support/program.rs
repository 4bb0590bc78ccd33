//! Runs the built program and reads its JSON report.

#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process;

use assert_cmd::Command;
use serde_json::Value;

/// The program, without what the tests' own environment would tell it.
pub fn imgcheck() -> Command {
    Command::from_std(imgcheck_process())
}

/// As [`imgcheck`], for a test that goes on while it runs.
pub fn imgcheck_process() -> process::Command {
    let mut command = process::Command::new(env!("CARGO_BIN_EXE_imgcheck"));
    for (name, _) in std::env::vars() {
        if name.starts_with("IMGCHECK_") {
            command.env_remove(name);
        }
    }
    // The user's own cache and configuration must not decide what a test sees.
    command.env("IMGCHECK_NO_CACHE", "true");
    command.env("IMGCHECK_NO_CONFIG", "true");
    command
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Exit code and JSON report of a check.
pub fn check(image: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = imgcheck()
        .arg("check")
        .arg(image)
        .args(["--format", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let code = output.status.code().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{image:?} {arguments:?}: exit code {code}, {error}; standard error:\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (code, report)
}

/// Exit code, standard output and standard error of a lint in a directory.
pub fn lint(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = imgcheck()
        .current_dir(directory)
        .arg("lint")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The only image of a report.
pub fn only_image(report: &Value) -> &Value {
    let images = report["images"].as_array().unwrap();
    assert_eq!(images.len(), 1);
    &images[0]
}

/// Rule ids of the findings at or above a warning, sorted, each once.
pub fn faults(report: &Value) -> Vec<String> {
    let mut rules: Vec<String> = only_image(report)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] != "note")
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect();
    rules.sort();
    rules.dedup();
    rules
}

/// Version of the copy of `name` that the process gets.
pub fn version(report: &Value, name: &str) -> Option<String> {
    only_image(report)["stack"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["name"] == name && part["loaded"] == true)
        .map(|part| part["version"].as_str().unwrap().to_owned())
}

/// Runs a command that must fail; returns its message.
pub fn failure(code: i32, arguments: &[&str]) -> String {
    let output = imgcheck().args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{error}");
    assert!(!error.contains("panicked"), "{error}");
    assert!(
        !error.trim().is_empty(),
        "{arguments:?} failed without a word"
    );
    error
}

/// What the program printed, with the day of the knowledge tables left out, for a snapshot: the tables are renewed weekly.
pub fn undated(text: &str) -> String {
    let day = regex::Regex::new(r"(tables: `?|known on )\d{4}-\d\d-\d\d").unwrap();
    day.replace_all(text, "${1}DAY").into_owned()
}
