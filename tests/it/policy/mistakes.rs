//! Invalid configurations.

use super::*;

#[test]
fn a_mistake_is_shown_at_its_position() {
    for (text, problem, place) in [
        ("rules: [nope]\n", "no file or directory", ":1:9"),
        ("baseline: nope.json\n", "no baseline file", ":1:11"),
        (
            "stacks: [{name: cur, torch: }]\n",
            "a value is missing",
            ":1:27",
        ),
        ("expect: [null]\n", "a value is missing", ":1:10"),
        ("severities: {claim-os: }\n", "a value is missing", ":1:22"),
        ("limits: {entries: }\n", "a value is missing", ":1:17"),
        ("expect: []\n---\nexpect: []\n", "one document only", ":3:1"),
        (
            "ignore:\n  - rule: [a]\n    reason: x\n",
            "this must be text",
            ":2:11",
        ),
    ] {
        let said = refused(text);
        for part in [problem, &format!(".imgcheck.yaml{place}"), "help: "] {
            assert!(said.contains(part), "{text}: {part} is not in: {said}");
        }
    }
}

#[test]
fn a_missing_file_is_reported_with_its_option() {
    for option in ["--config", "--rules"] {
        let mut command = imgcheck();
        command.env_remove("IMGCHECK_NO_CONFIG");
        let output = command
            .args([
                "check",
                option,
                "nowhere/nope",
                &repository(HONEST).to_string_lossy(),
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("{option} nowhere/nope: no such file");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn an_invalid_file_is_shown_with_position_and_help() {
    for (text, words) in [
        (
            "fail-on: error\nexpct: []\n",
            vec![
                ".imgcheck.yaml:2:1",
                "unknown key `expct`",
                "did you mean `expect`?",
            ],
        ),
        (
            "fail-on: fatal\n",
            vec![
                ":1:10",
                "invalid fail-on `fatal`",
                "error, warning, note, never",
            ],
        ),
        (
            "severities:\n  claim-os: errror\n",
            vec![
                ":2:13",
                "invalid severity `errror`",
                "did you mean `error`?",
            ],
        ),
        (
            "severities:\n  claim-oz: error\n",
            vec![
                ":2:3",
                "unknown rule `claim-oz`",
                "did you mean `claim-os`?",
            ],
        ),
        (
            "ignore:\n  - {rule: lod-*, reason: old}\n",
            vec![":2:12", "unknown rule `lod-*`"],
        ),
        (
            "ignore:\n  - rule: claim-os\n",
            vec![":2:11", "has no reason", "add a `reason:`"],
        ),
        (
            "ignore:\n  - {rule: claim-os, reason: ' '}\n",
            vec!["has no reason"],
        ),
        (
            "ignore:\n  - {rule: claim-os, reason: x, expires: 2027-02-30}\n",
            vec![":2:42", "invalid date `2027-02-30`", "2027-03-01"],
        ),
        (
            "ignore:\n  - {rule: claim-os, reason: x, expires: soon}\n",
            vec!["invalid date `soon`"],
        ),
        (
            "ignore:\n  - {rule: claim-os, raeson: x}\n",
            vec!["unknown key `raeson`", "did you mean `reason`?"],
        ),
        (
            "ignore:\n  - {reason: x}\n",
            vec!["an ignore without `rule` or `gap`"],
        ),
        (
            "expect: [pytorch==2.8]\n",
            vec![
                ":1:10",
                "unknown component `pytorch`",
                "did you mean `torch`?",
            ],
        ),
        ("expect: [torch=2.8]\n", vec!["write `torch==2.8`"]),
        ("expect: [os]\n", vec!["such as os==ubuntu22.04"]),
        ("expect: [numpy]\n", vec!["such as numpy==VERSION"]),
        ("expect: {torch: 2.8}\n", vec![".imgcheck.yaml:1:9"]),
        ("expect: torch==2.8\n", vec![".imgcheck.yaml:1:9"]),
        (
            "stacks: [{name: new, trch: 2.8.*}]\n",
            vec!["did you mean `torch`?"],
        ),
        (
            "stacks: [{name: new, torch: latest}]\n",
            vec!["invalid version specifier `==latest`"],
        ),
        (
            "stacks: [{name: new, torch: 2.8 or 2.9}]\n",
            vec!["invalid version specifier `==2.8 or 2.9`"],
        ),
        (
            "expect: [\"torch!=2.9oops\", \"cudnn!=8 or 9\"]\n",
            vec![":1:10", "`2.9oops` is not a version"],
        ),
        ("stacks: [{name: new}]\n", vec!["allows every image"]),
        (
            "stacks: [{name: new, os: \">=22.04\"}]\n",
            vec![":1:", "have no order", "os==ubuntu22.04"],
        ),
        ("consistent: [cudn]\n", vec!["did you mean `cudnn`?"]),
        ("targets: [{name: empty}]\n", vec!["no GPUs and no driver"]),
        (
            "targets: [{name: old, driver: new}]\n",
            vec![":1:31", "535.183.06"],
        ),
        ("fail-on: error\nfail-on: note\n", vec![".imgcheck.yaml:2:"]),
        ("rules: [absent]\n", vec!["absent"]),
        ("expect: [\n", vec![".imgcheck.yaml:"]),
        ("[]\n", vec![".imgcheck.yaml:1:1"]),
        ("just words\n", vec![".imgcheck.yaml:1:1"]),
    ] {
        let said = refused(text);
        for word in words {
            assert!(
                said.contains(word),
                "{word:?} is not in what {text:?} gives:\n{said}"
            );
        }
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_mistake_in_the_file_is_shown_with_its_line() {
    let text = "# the fleet\nexpect: [\"torch==2.8.*\"]\nignore:\n  - rule: load-shadowed-library\n    image: \"team/*\"\n    expires: 2027-3-1\n    reason: vendor\n";
    insta::assert_snapshot!(refused(text));
}
