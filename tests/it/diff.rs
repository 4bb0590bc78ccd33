//! `imgcheck diff` as a user meets it.

use std::process::Output;

use serde_json::Value;

use crate::program::{failure, imgcheck, repository};

const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

fn diff(from: &str, to: &str, options: &[&str]) -> Output {
    let mut command = imgcheck();
    command.arg("diff").args(options);
    command.arg(repository(from)).arg(repository(to));
    command.output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_fixed_fault_is_reported_and_passes() {
    let output = diff(MISLABELLED, HONEST, &["-f", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let difference = document(&output);
    assert_eq!(difference["schema"], "imgcheck/diff/v1");
    assert_eq!(difference["from"]["verdict"], "fail");
    assert_eq!(difference["to"]["verdict"], "pass");
    assert_eq!(
        difference["findings"]["fixed"][0]["rule"],
        "claim-torch-version"
    );
    assert_eq!(difference["findings"]["new"], serde_json::json!([]));
    let torch = &difference["claims"][0];
    assert_eq!(
        (&torch["name"], &torch["from"], &torch["to"]),
        (&"torch".into(), &"2.9 (tag)".into(), &"2.8.0 (tag)".into())
    );
    // The files are the same, only the label is another.
    assert_eq!(difference["layers"]["same"], 3);
    for list in ["stack", "copies", "gpu", "driver", "loader"] {
        assert_eq!(difference[list], serde_json::json!([]), "{list}");
    }
}

#[test]
fn a_new_fault_fails_unless_nothing_shall() {
    let output = diff(HONEST, MISLABELLED, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("error[claim-torch-version]"), "{text}");
    assert!(text.contains("1 new finding, 0 fixed"), "{text}");
    let output = diff(HONEST, MISLABELLED, &["--fail-on", "never"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\nB  NOT COUNTED  "), "{text}");
}

#[test]
fn quiet_shows_only_what_fails() {
    for (from, to, is_silent) in [(MISLABELLED, HONEST, true), (HONEST, MISLABELLED, false)] {
        let output = diff(from, to, &["-q"]);
        assert_eq!(output.stdout.is_empty(), is_silent, "{output:?}");
    }
}

#[test]
fn an_image_does_not_differ_from_itself() {
    let output = diff(MISLABELLED, MISLABELLED, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No differences in"));
}

#[test]
fn an_unreadable_image_never_passes() {
    let honest = repository(HONEST).display().to_string();
    for images in [
        [honest.as_str(), "./no-such-image.tar"],
        ["./no-such-image.tar", &honest],
    ] {
        let error = failure(3, &["diff", images[0], images[1]]);
        assert!(error.contains("no-such-image.tar"), "{error}");
    }
}

#[test]
fn a_comment_shows_what_is_new_and_what_changed() {
    let output = diff(HONEST, MISLABELLED, &["-f", "markdown"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "## imgcheck diff: ❌ 1 new finding, 0 fixed, 0 unchanged",
        "| B | ❌ `pytorch-cuda:v2.9` | linux/amd64 |",
        "- ❌ `claim-torch-version`: the tag claims PyTorch",
        "<details><summary>Claims: 4 changes</summary>",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}

#[test]
fn both_images_are_judged_by_all_that_a_check_is_judged_by() {
    let new = |options: &[&str]| {
        let output = diff(HONEST, HONEST, options);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let difference = document(&output);
        let findings = &difference["findings"];
        assert_eq!(findings["new"], serde_json::json!([]));
        (
            difference["to"]["verdict"].clone(),
            findings["same"].clone(),
        )
    };
    for options in [
        ["--gpu", "p100"],
        ["--driver", "470.256.02"],
        ["--expect", "torch==2.9.*"],
    ] {
        let (verdict, same) = new(&["-f", "json", options[0], options[1]]);
        assert_eq!(
            (verdict, same != serde_json::json!([])),
            ("fail".into(), true),
            "{options:?}"
        );
    }
    assert_eq!(new(&["-f", "json"]).0, "pass");
}

#[test]
fn targets_of_the_environment_count_and_a_baseline_is_read_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let known = directory.path().join("known.json");
    let run = |options: &[&str]| {
        let mut command = imgcheck();
        command
            .env("IMGCHECK_GPU", "p100")
            .env("IMGCHECK_EXPECT", "os==debian12");
        command
            .arg("diff")
            .args([repository(HONEST), repository(MISLABELLED)]);
        command.args(["-f", "json"]).args(options);
        command.output().unwrap()
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document(&output)["from"]["verdict"], "fail");
    let known = known.to_str().unwrap();
    assert_eq!(run(&["--write-baseline", known]).status.code(), Some(0));
    let output = run(&["--baseline", known]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(document(&output)["to"]["verdict"], "pass");
    let text = std::fs::read_to_string(known).unwrap();
    assert!(
        text.contains("gpu-not-covered") && text.contains("claim-torch-version"),
        "{text}"
    );
    let output = diff(HONEST, HONEST, &["--gpu", "h1000"]);
    assert_eq!(output.status.code(), Some(2));
}
