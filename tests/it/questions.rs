//! Questions that a user asks (`--gpu`, `--driver`, `--expect`, a policy) are answered, and only what the user types decides which
//! policy applies.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use testkit::{file, write_archive};

use crate::program::{imgcheck, only_image, repository};

const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const MISLABELED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

/// Exit code and standard output of a check.
fn run(image: &Path, arguments: &[&str]) -> (i32, String) {
    let output = imgcheck().arg(image).args(arguments).output().unwrap();
    let code = output.status.code().unwrap();
    assert!(code < 2, "{}", String::from_utf8_lossy(&output.stderr));
    (code, String::from_utf8(output.stdout).unwrap())
}

/// The rules whose tests are skipped in the JUnit report.
fn skipped(arguments: &[&str]) -> Vec<String> {
    let (_, text) = run(&repository(HONEST), &[&["-f", "junit"], arguments].concat());
    let document = quick_junit::Report::deserialize_from_str(&text).unwrap();
    let cases = document.test_suites[0].test_cases.iter();
    let is_skipped = |case: &&quick_junit::TestCase| {
        matches!(case.status, quick_junit::TestCaseStatus::Skipped { .. })
    };
    cases
        .filter(is_skipped)
        .map(|case| case.name.to_string())
        .collect()
}

#[test]
fn junit_skips_the_rules_whose_question_was_not_asked() {
    let all = [
        "cudnn-gpu-dropped",
        "driver-compat-mismatch",
        "driver-requirement-unmet",
        "driver-too-old",
        "driver-unknown",
        "gpu-amd-image",
        "gpu-coverage-uneven",
        "gpu-not-covered",
        "gpu-not-in-tables",
        "gpu-ptx-forced",
        "gpu-ptx-only",
        "gpu-ptxas-too-old",
        "gpu-unknown",
        "gpu-weights-refused",
        "gpu-wrong-machine",
        "policy-expectation",
        "policy-ignore-expired",
        "policy-ignore-unused",
        "policy-inconsistent-fleet",
        "policy-size",
        "policy-stack-not-allowed",
    ];
    let but = |asked: &[&str]| {
        let rest = all.iter().filter(|rule| !asked.contains(rule));
        rest.map(|rule| (*rule).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(skipped(&[]), but(&[]));
    let expected = but(&["policy-expectation"]);
    assert_eq!(skipped(&["--expect", "torch==2.8.*"]), expected);
    let driver = [
        "driver-requirement-unmet",
        "driver-too-old",
        "driver-unknown",
    ];
    assert_eq!(skipped(&["--driver", "580.65.06"]), but(&driver));
    let asked = skipped(&["--gpu", "sm_90"]);
    assert!(driver.iter().all(|rule| asked.iter().any(|it| it == rule)));
    assert!(
        !asked.iter().any(|rule| rule == "gpu-not-covered"),
        "{asked:?}"
    );
}

/// A rule of the user about a target that needs a fact which the image does not have.
const ABOUT_TARGETS: &str = "id: team-new-cudnn\ntitle: cuDNN is too old for the GPUs of the team\nseverity: error\nsince: '1'\n\
    when: size(targets) > 0\nfail: newer(\"9.0\", stack.tensorrt.version)\nmessage: too old\nwhy: w\n";

#[test]
fn unknown_is_not_no_where_the_user_asked() {
    let directory = tempdir().unwrap();
    let rule = directory.path().join("team-new-cudnn.yaml");
    fs::write(&rule, ABOUT_TARGETS).unwrap();
    let rules = ["--rules", rule.to_str().unwrap(), "-f", "json"];
    let found = |arguments: &[&str]| {
        let (code, text) = run(&repository(HONEST), &[&rules, arguments].concat());
        let report: Value = serde_json::from_str(&text).unwrap();
        let findings = only_image(&report)["findings"].clone();
        let findings = findings.as_array().unwrap().clone().into_iter();
        let own = findings.filter(|finding| finding["rule"] == "team-new-cudnn");
        (code, own.collect::<Vec<_>>())
    };
    assert_eq!(found(&[]), (0, Vec::new()), "nothing was asked");
    let (code, own) = found(&["--gpu", "sm_90"]);
    assert_eq!((code, own.len()), (1, 1));
    assert_eq!(own[0]["severity"], "error");
    let message = own[0]["message"].as_str().unwrap();
    assert!(message.contains("is unknown"), "{message}");
}

/// The severity depends on elements that are unknown; where it does not, it counts.
#[test]
fn an_unanswered_question_has_the_worst_severity_that_is_possible() {
    let directory = tempdir().unwrap();
    let rule = directory.path().join("team-items.yaml");
    for (severity, expected) in [
        ("it == \"1\" ? \"warning\" : \"note\"", "warning"),
        ("it == \"1\" ? \"error\" : \"note\"", "error"),
        ("size(targets) > 0 ? \"note\" : \"error\"", "note"),
    ] {
        let text = format!(
            "id: team-items\ntitle: t\nseverity: '{severity}'\nsince: '1'\nwhen: size(targets) > 0\n\
             each: '[stack.tensorrt.version]'\nfail: it != \"\"\nmessage: m\nwhy: w\n"
        );
        fs::write(&rule, text).unwrap();
        let rules = ["--rules", rule.to_str().unwrap(), "-f", "json"];
        let arguments = [&rules[..], &["--gpu", "sm_90"]].concat();
        let (_, text) = run(&repository(HONEST), &arguments);
        let report: Value = serde_json::from_str(&text).unwrap();
        let findings = only_image(&report)["findings"].as_array().unwrap().clone();
        let own = findings.iter().find(|it| it["rule"] == "team-items");
        assert_eq!(own.unwrap()["severity"], expected, "{severity}");
    }
}

/// The sample, with a different name in `manifest.json`.
fn renamed(name: &str, directory: &Path) -> std::path::PathBuf {
    let mut archive = tar::Archive::new(fs::File::open(repository(MISLABELED)).unwrap());
    let mut items = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        if path == "manifest.json" || path == "index.json" {
            let text = String::from_utf8(content).unwrap();
            content = text.replace("pytorch-cuda:v2.9", name).into_bytes();
        }
        if !path.ends_with('/') {
            items.push(file(&path, content));
        }
    }
    let target = directory.join("image.tar");
    write_archive(&target, &items);
    target
}

#[test]
fn an_image_cannot_name_itself_into_a_baseline() {
    let fingerprint = |arguments: &[&str], image: &Path| {
        let (_, text) = run(image, &[&["-f", "json"], arguments].concat());
        let report: Value = serde_json::from_str(&text).unwrap();
        let findings = only_image(&report)["findings"].as_array().unwrap().clone();
        let mut claims = findings
            .iter()
            .filter(|it| it["rule"] == "claim-torch-version");
        claims.next().unwrap()["fingerprint"].clone()
    };
    let scratch = tempdir().unwrap();
    let here = renamed("pytorch-cuda:v2.9", scratch.path());
    let own = fingerprint(&[], &here);
    let typed = fingerprint(&["--as", "pytorch-cuda:v2.9"], &here);
    let other = renamed("team/pytorch:v2.9", scratch.path());
    assert_eq!(
        fingerprint(&[], &other),
        own,
        "the recorded name is no part of it"
    );
    let as_other = fingerprint(&["--as", "team/pytorch:v2.9"], &other);
    assert_ne!(as_other, typed, "the typed name is");
    let elsewhere = scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join("image.tar");
    fs::rename(&other, &moved).unwrap();
    assert_eq!(
        fingerprint(&[], &moved),
        own,
        "nor is the directory of the archive"
    );
    let as_named = elsewhere.join("other.tar");
    fs::rename(&moved, &as_named).unwrap();
    assert_ne!(fingerprint(&[], &as_named), own, "its file name is");
}

/// A repository whose configuration was found and not named.
fn found(text: &str) -> TempDir {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join(".git")).unwrap();
    fs::write(directory.path().join(".imgcheck.yaml"), text).unwrap();
    directory
}

/// A configuration in the repository of the image may make a check stricter, but what makes it pass must be named.
#[test]
fn a_found_configuration_cannot_be_strict_and_acknowledge_gaps() {
    let check = |text: &str, arguments: &[&str]| {
        let directory = found(text);
        let output = imgcheck()
            .env_remove("IMGCHECK_NO_CONFIG")
            .env("XDG_CONFIG_HOME", directory.path().join("none"))
            .current_dir(directory.path())
            .arg(repository(HONEST))
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), said)
    };
    let both = "strict: true\nignore: [{gap: lazy-layer, reason: our registry}]\n";
    let (code, said) = check(both, &[]);
    assert_eq!(code, 2, "{said}");
    for part in [
        ".imgcheck.yaml:2:16",
        "lazy-layer",
        "--config .imgcheck.yaml",
    ] {
        assert!(said.contains(part), "no {part} in: {said}");
    }
    assert_eq!(check(both, &["--config", ".imgcheck.yaml"]).0, 0);
    assert_eq!(check("strict: true\n", &[]).0, 0);
    let only_acknowledged = "ignore: [{gap: lazy-layer, reason: our registry}]\n";
    assert_eq!(check(only_acknowledged, &[]).0, 0);
}
