//! The static program, as a release has it: in its container image, and alone in a root directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::tempdir;

use super::report;
use crate::program::repository;
use testkit::engine::Daemon;
use testkit::tools::{required, skip, tool};

/// The target that `.ci/run` builds for.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// The static program, or `None` if nobody has built one: IMGCHECK_STATIC, else where cargo puts a build of `.ci/run`.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("IMGCHECK_STATIC").map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        repository("target/static")
            .join(TARGET)
            .join("debug/imgcheck")
    });
    if path.exists() {
        return Some(path);
    }
    let message = format!(
        "{} is not there; make it with: cargo build --target {TARGET} --target-dir target/static",
        path.display()
    );
    skip(message, required());
    None
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    output
}

/// Tells right from wrong, as `command` starts the program.
fn smoke(command: &[&str], environment: &[(&str, &str)]) {
    let mut smoke = Command::new(repository("ci/smoke.sh"));
    run(smoke.args(command).envs(environment.iter().copied()));
}

#[test]
fn the_image_of_imgcheck_is_made_without_network_and_runs() {
    let (Some(program), Some(daemon)) = (program(), Daemon::start(&[])) else {
        return;
    };
    let host = daemon.host();
    let mut make = Command::new(repository("ci/image.sh"));
    run(make
        .arg(program)
        .arg("imgcheck:own")
        .env("DOCKER_HOST", &host)
        .env("DOCKER_BUILDKIT", "0"));
    let format = "{{.Config.User}} {{.Config.Entrypoint}}";
    let started = daemon.run(&["image", "inspect", "--format", format, "imgcheck:own"]);
    assert_eq!(started, "65532:65532 [/imgcheck]\n");
    let held = report("docker-daemon:imgcheck:own", &[("DOCKER_HOST", &host)]);
    let findings = held["images"][0]["findings"].as_array().unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let start = "docker run --interactive --rm --network none imgcheck:own";
    let start: Vec<&str> = start.split(' ').collect();
    smoke(&start, &[("DOCKER_HOST", &host)]);
}

#[test]
fn the_program_of_a_release_runs_where_nothing_else_is() {
    let Some(program) = program() else {
        return;
    };
    if !tool("chroot") || !tool("gzip") {
        return;
    }
    let place = tempdir().unwrap();
    let mut pack = Command::new(repository("ci/package.sh"));
    let packed = run(pack.arg(program).arg(TARGET).arg(place.path()));
    let archive = String::from_utf8(packed.stdout).unwrap();
    let unpack = ["--strip-components=1", "-xzf", archive.trim()];
    run(Command::new("tar").args(unpack).current_dir(place.path()));
    // Programs may count on a directory for what they keep for a while.
    std::fs::create_dir(place.path().join("tmp")).unwrap();
    let root: &Path = place.path();
    smoke(&["chroot", root.to_str().unwrap(), "/imgcheck"], &[]);
}
