//! `imgcheck lint`: faults of files that images are built from, files that are fine, files that cannot be parsed.

mod cases;
mod inputs;
mod not_read;
mod packages;
mod public_faults;
mod reports;
mod source_builds;
mod system_pip;
mod uv;

use crate::program;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;

use imgcheck_lint::lint::{FileKind, Neighbour, Sources, read};
use imgcheck_model::knowledge::Knowledge;

use crate::program::{imgcheck, lint, undated};

const FILES: [(&str, FileKind); 4] = [
    ("Dockerfile", FileKind::Dockerfile),
    ("requirements.txt", FileKind::Requirements),
    ("environment.yml", FileKind::Environment),
    ("pyproject.toml", FileKind::Pyproject),
];

fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) = lint(directory, &[arguments, &["-f", "json"]].concat());
    (
        code,
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}")),
    )
}

/// `rule file:line:column` of each finding.
fn places(report: &Value) -> Vec<String> {
    let files = report["files"].as_array().unwrap();
    let findings = files
        .iter()
        .flat_map(|file| file["findings"].as_array().unwrap());
    findings
        .map(|finding| {
            let place = &finding["location"];
            format!(
                "{} {}:{}:{}",
                finding["rule"].as_str().unwrap(),
                place["file"].as_str().unwrap(),
                place["line"],
                place["column"]
            )
        })
        .collect()
}

fn data(name: &str) -> std::path::PathBuf {
    program::repository("testdata/lint").join(name)
}

/// A directory with some files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// The rules that find something in one of several files, each with its place.
fn found_in(files: &[(&str, &str)], checked: &str) -> String {
    let directory = directory(files);
    let (_, report) = json(directory.path(), &[checked]);
    places(&report).join(" ")
}

fn parse(kind: FileKind, text: &str) -> Option<Sources> {
    thread_local! {
        static KNOWLEDGE: Knowledge = Knowledge::read().unwrap();
    }
    KNOWLEDGE.with(|knowledge| {
        read("f", text, kind, knowledge, &|_| {
            Neighbour::Text("torch==2.8.0\n".to_owned())
        })
        .ok()
    })
}

/// What `imgcheck lint` says of one file: the exit code, and the severity and message of each finding of a rule.
fn said(name: &str, text: &str) -> (i32, Vec<String>) {
    let directory = directory(&[(name, text)]);
    let (code, report) = json(directory.path(), &[name]);
    let findings = report["files"][0]["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|finding| finding["rule"] != "lint-unpinned-stack");
    let said = findings.map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        format!("{}: {}", text("severity"), text("message"))
    });
    (code, said.collect())
}
