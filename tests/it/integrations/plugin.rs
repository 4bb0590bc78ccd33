//! `docker imgcheck` and `kubectl imgcheck`, started by the real `docker`, and as kubectl does it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{HONEST, MISLABELLED, said, sample, shell};
use testkit::tools::tool;

/// A link to this build of the program.
fn link(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(env!("CARGO_BIN_EXE_imgcheck"), path).unwrap();
}

#[test]
fn docker_lists_and_starts_it() {
    if !tool("docker") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    link(&home.path().join(".docker/cli-plugins/docker-imgcheck"));
    let docker = |arguments: &[&str]| {
        let mut command = shell("docker", home.path());
        command.env("HOME", home.path()).env_remove("DOCKER_CONFIG");
        command.args(arguments).output().unwrap()
    };

    let help = said(&docker(&["--help"]));
    assert!(help.contains("imgcheck*"), "{help}");
    let help = said(&docker(&["imgcheck", "check", "--help"]));
    assert!(help.contains("Usage: docker imgcheck check"), "{help}");

    for (image, code) in [(HONEST, 0), (MISLABELLED, 1)] {
        let output = docker(&["imgcheck", &sample(image), "-f", "json"]);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["images"].as_array().unwrap().len(), 1);
    }
    let output = docker(&["--log-level", "debug", "imgcheck", &sample(HONEST)]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("DOCKER_HOST"), "{}", said(&output));
}

#[test]
fn kubectl_starts_it_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("kubectl-imgcheck");
    link(&program);
    let run = |arguments: &[&str]| Command::new(&program).args(arguments).output().unwrap();
    let help = said(&run(&["preflight", "--help"]));
    assert!(help.contains("Usage: kubectl imgcheck preflight"), "{help}");
    let output = run(&[&sample(MISLABELLED), "--no-cache"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}
