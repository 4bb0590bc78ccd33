//! `imgcheck sweep`: whole registries, several workers, one store.

mod judging;
mod plan;
mod refused;
mod workers;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::fleet::Fleet;
use testkit::registry::Content;
use testkit::{Image, file};

use crate::program::imgcheck;
use crate::samples;

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
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_imgcheck"));
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

/// An image of two layers: one that all images of its base share, and its own.
pub fn small_image(base: &str, own: &str) -> Content {
    let lower = [file("etc/base", base.as_bytes())];
    let upper = [file("etc/own", own.as_bytes())];
    Content::of("1", &[Image::new("x", &[&lower, &upper])], false)
}

/// Puts an image into a repository, under a tag.
pub fn push(fleet: &mut Fleet, repository: &str, tag: &str, image: &Content) {
    let of = fleet.repositories.entry(repository.to_owned()).or_default();
    of.blobs.extend(image.blobs.clone());
    let digest = image.tags.values().next().unwrap();
    of.tags.insert(tag.to_owned(), digest.clone());
}

/// Three repositories with five tags each: four images, of which two share a base, and the same image again.
pub fn fleet() -> Fleet {
    let mut fleet = Fleet::default();
    for team in ["audio", "text", "vision"] {
        let name = format!("{team}/train");
        for (at, base) in ["debian", "debian", "ubuntu", "alpine"].iter().enumerate() {
            let image = small_image(base, &format!("{team} {at}"));
            push(&mut fleet, &name, &format!("v{at}"), &image);
        }
        push(
            &mut fleet,
            &name,
            "latest",
            &small_image("alpine", &format!("{team} 3")),
        );
    }
    fleet
}

/// The healthy sample under its own tag and under one that lies.
pub fn samples() -> Fleet {
    let mut fleet = Fleet::default();
    let content = samples::content();
    push(&mut fleet, "pytorch/pytorch", samples::TAG, &content);
    push(
        &mut fleet,
        "pytorch/pytorch",
        "2.9.0-cuda12.8-cudnn9-runtime",
        &content,
    );
    fleet
}

/// How often each blob was asked for.
pub fn blob_requests(
    server: &testkit::registry::Server,
) -> std::collections::BTreeMap<String, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for seen in server.seen() {
        if let Some((_, digest)) = seen.path.split_once("/blobs/") {
            *counts.entry(digest.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The digests of the layers of an image in a fleet.
pub fn layers_of(fleet: &Fleet, repository: &str, tag: &str) -> Vec<String> {
    let manifest = fleet.repositories[repository].manifest(tag);
    let layers = manifest["layers"].as_array().unwrap();
    let digests = layers.iter().map(|it| it["digest"].as_str().unwrap());
    digests.map(str::to_owned).collect()
}

/// A file with text in the directory of a case.
pub fn write(case: &Case, name: &str, text: &str) -> PathBuf {
    let path = case.path(name);
    std::fs::write(&path, text).unwrap();
    path
}
