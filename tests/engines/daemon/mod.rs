//! Images that engines really hold. The tests start engines of their own, without network; they are skipped where the programs
//! are missing, or fail there if `IMGCHECK_REQUIRE_TOOLS=1`.

mod all_images;
mod connection;
mod containerd;
mod own;
mod podman;
mod proxy;
mod sources;

use crate::program;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

/// Exit code, report and standard error of a check with these arguments, environment variables and standard input.
fn run_with(
    target: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    input: Option<&Path>,
) -> (i32, Value, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_imgcheck"));
    command
        .args(["check", target, "--format", "json", "--no-progress"])
        .args(arguments)
        .env_remove("DOCKER_HOST")
        .env_remove("DOCKER_CONTEXT")
        .env("IMGCHECK_NO_CACHE", "true")
        .envs(environment.iter().copied())
        .stdin(input.map_or_else(Stdio::null, |path| File::open(path).unwrap().into()));
    let output = command.output().unwrap();
    (
        output.status.code().unwrap(),
        serde_json::from_slice(&output.stdout).unwrap_or_default(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// The same without arguments.
fn run(target: &str, environment: &[(&str, &str)], input: Option<&Path>) -> (i32, Value, String) {
    run_with(target, &[], environment, input)
}

/// The report of an image that can be read.
fn report(target: &str, environment: &[(&str, &str)]) -> Value {
    report_with(target, &[], environment)
}

/// The same, with arguments.
fn report_with(target: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let (code, report, error) = run_with(target, arguments, environment, None);
    assert!(code < 2, "{target} {arguments:?} {environment:?}: {error}");
    report
}

/// The standard error of an image that cannot be read.
fn failure(target: &str, environment: &[(&str, &str)]) -> String {
    failure_with(target, &[], environment)
}

/// The same, with arguments.
fn failure_with(target: &str, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let (code, _, error) = run_with(target, arguments, environment, None);
    assert_eq!(code, 3, "{target} {arguments:?} {environment:?}: {error}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

/// What must be the same wherever the image is stored.
fn essence(report: &Value) -> Value {
    let image = program::only_image(report);
    let layers = image["layers"].as_array().unwrap();
    let layers: Vec<Value> = layers
        .iter()
        .map(|layer| json!([layer["diff_id"], layer["created_by"]]))
        .collect();
    let mut findings = image["findings"].clone();
    for finding in findings.as_array_mut().unwrap() {
        // It depends on the name that was typed.
        finding["fingerprint"] = Value::Null;
    }
    json!([
        layers,
        image["config_digest"],
        image["platform"],
        image["claims"],
        image["stack"],
        image["gpu"],
        image["driver"],
        image["loader"],
        findings
    ])
}
