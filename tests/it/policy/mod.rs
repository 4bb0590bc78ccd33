//! What a team asks for: configuration file, expectations, allowed stacks, fleets, severities, ignores and baselines, through the
//! program.

mod baselines;
mod expectations;
mod file;
mod ignores;
mod links;
mod mistakes;

use crate::program;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::layout;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::program::{imgcheck, only_image, repository, undated};

/// Torch 2.8.0+cu128, CUDA 12.8, cuDNN 9.10.2, NCCL 2.27.3 on Debian 12; nothing is wrong with it.
const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// The same, called `pytorch-cuda:v2.9`.
const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

/// A repository with a configuration file.
fn configured(text: &str) -> TempDir {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join(".git")).unwrap();
    fs::write(directory.path().join(".imgcheck.yaml"), text).unwrap();
    directory
}

/// The layout `other` of an image of Ubuntu, `team/other:1`, in a directory.
fn ubuntu(directory: &Path) -> PathBuf {
    let other = directory.join("other");
    let release: &[u8] = b"ID=ubuntu\nVERSION_ID=\"22.04\"\n";
    let plain = layout::layer(&[("etc/os-release", release)]);
    let layer = (plain.clone(), testkit::gzip(&plain));
    layout::write(&other, "team/other:1", &[layer]);
    other
}

/// The program in a directory, whose configuration it finds by itself.
fn inside(directory: &Path) -> Command {
    let mut command = imgcheck();
    command
        .env_remove("IMGCHECK_NO_CONFIG")
        .env("XDG_CONFIG_HOME", directory.join("no-configuration-here"))
        .current_dir(directory);
    command
}

/// Exit code and report of a check of images of the repository, in a directory.
fn check(directory: &Path, images: &[&str], arguments: &[&str]) -> (i32, Value) {
    let output = inside(directory)
        .arg("check")
        .args(images.iter().map(|image| repository(image)))
        .args(["-f", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code().unwrap(), report)
}

/// What a configuration that is refused says.
fn refused(text: &str) -> String {
    let directory = configured(text);
    let output = inside(directory.path())
        .arg(repository(HONEST))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    said
}

fn rules(list: &Value) -> Vec<&str> {
    let findings = list.as_array().unwrap().iter();
    findings
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect()
}

fn messages(report: &Value) -> Vec<&str> {
    let findings = only_image(report)["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["message"].as_str().unwrap())
        .collect()
}
