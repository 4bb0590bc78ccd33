//! What could not be judged is said in every format, and never passes silently.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use testkit::layout;

use crate::format_support::offered;
use crate::program::{imgcheck, only_image};

const VERSION_PY: &[u8] =
    b"__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46'\n";

/// An image with PyTorch for GPUs in this directory, and nothing that imports it.
fn image(directory: &str) -> TempDir {
    let scratch = tempdir().unwrap();
    let version = format!("{directory}/torch/version.py");
    let library = format!("{directory}/torch/lib/libtorch_cuda.so");
    let files: [(&str, &[u8]); 2] = [(&version, VERSION_PY), (&library, b"")];
    let layer = layout::layer(&files);
    let layers = [(layer.clone(), testkit::gzip(&layer))];
    layout::write(&scratch.path().join("image"), "team/app:1", &layers);
    scratch
}

fn run(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = imgcheck();
    command.current_dir(directory).args(["check", "image"]);
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

fn json(directory: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let (code, text) = run(directory, &[arguments, &["-f", "json"]].concat());
    (code, serde_json::from_str(&text).unwrap())
}

#[test]
fn a_framework_that_no_process_reaches_is_not_a_pass() {
    let scratch = image("opt/hidden");
    let (code, report) = json(scratch.path(), &["--no-config"]);
    let image = only_image(&report);
    assert_eq!((code, &image["verdict"]), (Some(3), &"incomplete".into()));
    assert_eq!(image["judged"]["complete"], false);
    let gap = &image["judged"]["gaps"][0];
    assert_eq!(gap["code"], "framework-not-reached");
    assert_eq!(gap["path"], "/opt/hidden/torch");
    assert_eq!(gap["layer"], 0);
    assert_eq!(
        image["loader"]["frameworks"][0]["path"],
        "/opt/hidden/torch"
    );
}

#[test]
fn a_store_of_a_package_manager_is_not_installed() {
    let scratch = image("opt/conda/pkgs/pytorch-2.8.0-0/lib/python3.11/site-packages");
    let (code, report) = json(scratch.path(), &["--no-config"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(only_image(&report)["judged"]["complete"], true);
}

#[test]
fn every_format_says_what_was_not_judged() {
    let scratch = image("opt/hidden");
    for format in offered() {
        let (code, text) = run(scratch.path(), &["--no-config", "-f", &format]);
        assert_eq!(code, Some(3), "{format}");
        assert!(text.contains("framework-not-reached"), "{format}: {text}");
        assert!(text.contains("/opt/hidden/torch"), "{format}: {text}");
    }
}

#[test]
fn a_gap_is_acknowledged_with_a_reason_until_a_day() {
    let scratch = image("opt/hidden");
    let configure = |text: &str| fs::write(scratch.path().join("config.yaml"), text).unwrap();
    let check = || json(scratch.path(), &["--config", "config.yaml"]);
    let entry = "ignore:\n  - gap: framework-not-reached\n    path: /opt/hidden/*\n    reason: loaded by hand\n";

    configure(entry);
    let (code, report) = check();
    let judged = &only_image(&report)["judged"];
    assert_eq!((code, &judged["complete"]), (Some(0), &true.into()));
    let reason = &judged["acknowledged"][0]["ignore"]["reason"];
    assert_eq!(reason, "loaded by hand");

    configure(&format!("{entry}    expires: 2020-01-01\n"));
    let (code, report) = check();
    assert_eq!(code, Some(3));
    let message = report["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("so its gaps count again"), "{message}");

    configure(&entry.replace("hidden", "other"));
    let (code, report) = check();
    assert_eq!(code, Some(3));
    let message = report["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("matches no gap"), "{message}");
}

#[test]
fn an_ignore_names_a_rule_or_a_known_gap() {
    let scratch = image("opt/hidden");
    for (entry, problem) in [
        ("{gap: framework, reason: x}", "unknown gap `framework`"),
        (
            "{gap: lazy-layer, rule: load-*, reason: x}",
            "an ignore has `rule` or `gap`, not both",
        ),
        ("{reason: x}", "an ignore without `rule` or `gap`"),
    ] {
        let text = format!("ignore: [{entry}]\n");
        fs::write(scratch.path().join("config.yaml"), text).unwrap();
        let mut command = imgcheck();
        command.current_dir(scratch.path());
        let output = command
            .args(["check", "image", "--config", "config.yaml"])
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(problem), "{error}");
    }
}
