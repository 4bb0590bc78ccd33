//! The container image of imgcheck itself.

use std::process::Command;

use super::report;
use crate::program::repository;
use testkit::engine::Daemon;

#[test]
fn the_image_of_imgcheck_is_made_without_network_and_checks_itself() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let host = daemon.host();
    let made = Command::new(repository("ci/image.sh"))
        .args([env!("CARGO_BIN_EXE_imgcheck"), "imgcheck:own"])
        .env("DOCKER_HOST", &host)
        .env("DOCKER_BUILDKIT", "0")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{error}");
    let format = "{{.Config.User}} {{.Config.Entrypoint}}";
    let started = daemon.run(&["image", "inspect", "--format", format, "imgcheck:own"]);
    assert_eq!(started, "65532:65532 [/imgcheck]\n");
    let held = report("docker-daemon:imgcheck:own", &[("DOCKER_HOST", &host)]);
    // That of a release is static; this one needs the C library, which the image does not have, and Docker does not start it either.
    let findings = held["images"][0]["findings"].as_array().unwrap();
    let rules: Vec<&str> = findings
        .iter()
        .map(|it| it["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["load-missing-library"]);
    let run = Command::new("docker")
        .args([
            "run",
            "--rm",
            "--network",
            "none",
            "imgcheck:own",
            "--version",
        ])
        .env("DOCKER_HOST", &host)
        .output()
        .unwrap();
    assert!(!run.status.success());
}
