//! A sweep in a directory of its own, by the program itself.

#![allow(dead_code)] // each test program uses its part

use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::program::{imgcheck, imgcheck_process};

/// A directory with a plan and a store.
pub struct Case {
    scratch: tempfile::TempDir,
}

impl Case {
    pub fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("store")).unwrap();
        Case { scratch }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn store(&self) -> String {
        format!("file://{}", self.path("store").display())
    }

    /// One part of a sweep on the store of this case, in its directory.
    pub fn sweep(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = imgcheck();
        command
            .current_dir(self.scratch.path())
            .arg("sweep")
            .args(arguments)
            .args(["--store", &self.store(), "--no-progress", "--retries", "0"]);
        command
    }

    /// Makes a plan; returns what was printed about it, and the exit code.
    pub fn plan(&self, arguments: &[&str]) -> (Value, i32) {
        let words = [&["plan", "-o", "plan", "-f", "json"], arguments].concat();
        let output = self.sweep(&words).output().unwrap();
        let totals = serde_json::from_slice(&output.stdout);
        let totals = totals.unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        (totals, output.status.code().unwrap())
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.sweep(&[&["run", "plan"], arguments].concat())
            .output()
            .unwrap()
    }

    /// Judges the plan; returns the records and the exit code.
    pub fn judge(&self, arguments: &[&str]) -> (Vec<Value>, i32) {
        let words = [&["judge", "plan", "-f", "jsonl"], arguments].concat();
        let output = self.sweep(&words).output().unwrap();
        (lines(&output.stdout), output.status.code().unwrap())
    }

    /// The names of the objects in the store that start like this.
    pub fn objects(&self, start: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("store")).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
        names.sort();
        names
    }
}

/// A worker in the background.
pub fn worker(case: &Case, arguments: &[&str]) -> std::process::Child {
    let mut command = imgcheck_process();
    command
        .current_dir(case.scratch.path())
        .args(["sweep", "run", "plan", "--store", &case.store()])
        .args(["--no-progress", "--retries", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = text(bytes);
    let lines = text.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}
