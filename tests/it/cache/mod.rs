//! The cache of layer facts: what is kept and found again, what damage, crowds and killed runs do to it, and how it is shared.

mod command;
mod concurrent;
mod local;
mod model;
#[cfg(feature = "object-storage")]
mod object_storage;
mod shared;

use crate::program;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use testkit::tools::real_images;

use imgcheck_base::digest::sha256;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_elf::Depth;
use imgcheck_layer::cache::FactsCache;
use imgcheck_source::cache::{Cache, CacheEntryKind, CacheOptions, Key};
use imgcheck_source::source::{self, Request};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use testkit::tools::say;
use testkit::{Compression, Image, file, oci_layout, write_directory};

/// An OCI layout of compressed layers, and the directories of caches.
struct Case {
    scratch: TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Case {
            scratch: tempdir().unwrap(),
        };
        let program = fs::read("/bin/sh").unwrap();
        let image = Image::new(
            "example/image:1",
            &[
                &[
                    file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
                    file("usr/bin/program", program),
                ],
                &[file("opt/data", vec![7; 100_000])],
            ],
        );
        write_directory(
            &case.image(),
            &oci_layout(&[image], Compression::Gzip, false),
        );
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.path("image")
    }

    /// The program, with the cache directory of this name.
    fn command(&self, cache: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_imgcheck"));
        for (name, _) in std::env::vars() {
            if name.starts_with("IMGCHECK_") || name.starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        command
            .args(["check", "--no-progress", "-f", "json"])
            .arg(self.image())
            .env("IMGCHECK_CACHE_DIR", self.path(cache));
        command
    }

    fn run(&self, cache: &str, arguments: &[&str]) -> Run {
        Run::of(self.command(cache).args(arguments))
    }

    /// The files of a cache that hold facts.
    fn facts(&self, cache: &str) -> Vec<PathBuf> {
        self.entries(cache, "facts-")
    }

    /// The files of a cache that hold entries of a kind.
    fn entries(&self, cache: &str, kind: &str) -> Vec<PathBuf> {
        let mut files = self.files(cache);
        files.retain(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(kind)
        });
        files
    }

    /// The files of a cache.
    fn files(&self, cache: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(cache)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// What one run said.
#[derive(Debug, PartialEq)]
struct Run {
    /// For each layer, whether its facts were there already.
    cached: Vec<bool>,
    /// All else of the report.
    report: Value,
    remarks: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let remarks = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{remarks}");
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let image = &mut report["images"][0];
        image["elapsed_ms"] = Value::Null;
        let layers = image["layers"].as_array_mut().unwrap();
        let cached = layers
            .iter_mut()
            .map(|layer| layer["cached"].take() == Value::Bool(true))
            .collect();
        Run {
            cached,
            report,
            remarks,
        }
    }

    fn is_cached(&self) -> bool {
        self.cached == [true, true]
    }

    fn is_read(&self) -> bool {
        self.cached == [false, false]
    }
}

fn cache(directory: &Path, limit: u64) -> Cache {
    let places = CacheOptions {
        directory: Some(directory.to_owned()),
        limit,
        ..CacheOptions::default()
    };
    Cache::open(&places).unwrap()
}

/// A document of this many bytes and its key.
fn document(seed: usize, length: usize) -> (Key, Vec<u8>) {
    // Every document is different, and none can be compressed away.
    let bytes: Vec<u8> = (0..length / 64 + 1)
        .flat_map(|at| sha256(format!("{seed} {at}").as_bytes()).into_bytes())
        .take(length)
        .collect();
    let digest = sha256(&bytes);
    (Key::Document { digest }, bytes)
}
