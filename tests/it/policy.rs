//! What a team asks for: configuration file, expectations, allowed stacks, fleets, severities, ignores and baselines, through the
//! program.

use crate::program;
use std::fs;
use std::path::Path;
use testkit::layout;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::program::{imgcheck, only_image, repository};

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

// ---- expectations

#[test]
fn a_met_expectation_passes() {
    let directory = configured(
        "expect: [\"torch==2.8.*\", \"cuda==12.8\", \"python==3.11\", \"os==debian12\"]",
    );
    let (code, report) = check(directory.path(), &[HONEST], &["--expect", "cudnn>=9.7,<10"]);
    assert_eq!((code, messages(&report)), (0, vec![]));
}

#[test]
fn an_unmet_expectation_fails_and_names_its_origin() {
    let directory = configured("fail-on: never\nexpect:\n  - torch==2.7.*\n");
    let (code, report) = check(directory.path(), &[HONEST], &["--expect", "tensorflow>=2"]);
    assert_eq!(code, 0);
    let expected = [
        "expected torch==2.7.*, but the image contains torch 2.8.0+cu128 (expected by .imgcheck.yaml:3)",
        "expected tensorflow>=2, but the image contains no tensorflow (expected by --expect)",
    ];
    assert_eq!(messages(&report), expected);
    assert_eq!(
        rules(&only_image(&report)["findings"]),
        ["policy-expectation"; 2]
    );
    // The flag overrides the file.
    let (code, _) = check(directory.path(), &[HONEST], &["--fail-on", "error"]);
    assert_eq!(code, 1);
}

#[test]
fn expectations_of_the_environment_are_separated_by_semicolons() {
    let output = imgcheck()
        .arg(repository(HONEST))
        .env("IMGCHECK_EXPECT", "torch>=2.8,<2.9;cudnn==8")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("expected cudnn==8, but the image contains cudnn 9.10.2"));
    assert!(!said.contains("expected torch"));
}

#[test]
fn an_invalid_expectation_is_exit_code_2() {
    for (text, words) in [
        ("pytorch==2.8", "did you mean `torch`?"),
        ("torch", "has no version"),
        ("torch=>2.8", "invalid version specifier"),
        ("cuda==12.8.1", "major and minor"),
        ("os>=22.04", "os==ubuntu22.04"),
        ("os>=ubuntu22.04", "have no order"),
        ("os==ubuntu 22.04", "invalid version specifier"),
        ("torch==2.9 cudnn==8", "syntax of pip"),
        ("torch==2.8garbage", "`2.8garbage` is not a version"),
        ("cuda==12.8x", "`12.8x` is not a version"),
        ("torch!=2.9oops", "`2.9oops` is not a version"),
        ("cudnn!=8 or 9", "`8 or 9` is not a version"),
    ] {
        let said = program::failure(2, &["--expect", text, HONEST]);
        assert!(said.contains(words) && said.contains(text), "{said}");
    }
}

// ---- allowed stacks and fleets

#[test]
fn an_image_must_be_one_of_the_allowed_stacks() {
    let stacks = "stacks:\n  - {name: old, torch: 2.5.*, cuda: 12.4}\n  - {name: current, torch: 2.8.*, cuda: 12.8, cudnn: \">=9.11\"}\n";
    let directory = configured(stacks);
    let (code, report) = check(directory.path(), &[HONEST], &[]);
    assert_eq!(code, 1);
    let expected = "the image is not one of the 2 allowed combinations; the nearest is `current`, which requires cudnn >=9.11 where the image has 9.10.2";
    assert_eq!(messages(&report), [expected]);
    let directory = configured(&stacks.replace("9.11", "9.10"));
    assert_eq!(check(directory.path(), &[HONEST], &[]).0, 0);
}

#[test]
fn images_of_one_call_must_agree() {
    let directory = configured("consistent: [os, torch, nccl]");
    let other = directory.path().join("other");
    let release: &[u8] = b"ID=ubuntu\nVERSION_ID=\"22.04\"\n";
    let plain = layout::layer(&[("etc/os-release", release)]);
    layout::write(
        &other,
        "team/other:1",
        &[(plain.clone(), testkit::gzip(&plain))],
    );
    let other = other.to_str().unwrap();
    // Two of the three have Debian 12.
    let (code, report) = check(directory.path(), &[HONEST, MISLABELLED, other], &[]);
    assert_eq!(code, 1);
    let images = report["images"].as_array().unwrap();
    let found: Vec<_> = images
        .iter()
        .map(|image| rules(&image["findings"]))
        .collect();
    assert_eq!(
        found,
        [
            vec![],
            vec!["claim-torch-version"],
            vec!["policy-inconsistent-fleet"]
        ]
    );
    let message = images[2]["findings"][0]["message"].as_str().unwrap();
    let expected = "os is ubuntu22.04 in this image, but debian12 in pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime, pytorch-cuda:v2.9";
    assert_eq!(message, expected);
    // Of two both are at fault.
    let (_, report) = check(directory.path(), &[HONEST, other], &[]);
    let images = report["images"].as_array().unwrap();
    assert!(
        images
            .iter()
            .all(|image| rules(&image["findings"]) == ["policy-inconsistent-fleet"])
    );
}

// ---- severities, ignores, baselines

#[test]
fn severities_are_changed_and_rules_are_off() {
    let directory = configured("severities: {claim-torch-version: note}");
    let (code, report) = check(directory.path(), &[MISLABELLED], &[]);
    assert_eq!(
        (code, &only_image(&report)["verdict"]),
        (0, &Value::from("pass"))
    );
    assert_eq!(only_image(&report)["findings"][0]["severity"], "note");
    let directory = configured("severities: {claim-*: off}");
    let (code, report) = check(directory.path(), &[MISLABELLED], &[]);
    let image = only_image(&report);
    assert_eq!(
        (code, rules(&image["findings"]), rules(&image["ignored"])),
        (0, vec![], vec![])
    );
}

const IGNORE: &str = "ignore:\n  - {rule: claim-torch-version, image: \"pytorch-cuda:*\", reason: renamed in spring, expires: 2999-12-31}\n";

#[test]
fn an_ignored_finding_is_told_with_its_reason() {
    let directory = configured(IGNORE);
    let (code, report) = check(directory.path(), &[MISLABELLED], &[]);
    let image = only_image(&report);
    assert_eq!((code, rules(&image["findings"])), (0, vec![]));
    assert_eq!(image["ignored"][0]["rule"], "claim-torch-version");
    assert_eq!(image["ignored"][0]["ignore"]["reason"], "renamed in spring");
    assert_eq!(image["ignored"][0]["ignore"]["expires"], "2999-12-31");
    assert!(
        report.get("findings").is_none(),
        "nothing to say of the configuration"
    );
    let output = inside(directory.path())
        .arg(repository(MISLABELLED))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.ends_with("no findings · 1 finding ignored\n"),
        "{said}"
    );
}

#[test]
fn an_expired_ignore_ignores_nothing_and_is_reported() {
    let directory = configured(&IGNORE.replace("2999", "1999"));
    let (code, report) = check(
        directory.path(),
        &[MISLABELLED, HONEST],
        &["--fail-on", "warning"],
    );
    assert_eq!(code, 1);
    assert_eq!(
        rules(&report["images"][0]["findings"]),
        ["claim-torch-version"]
    );
    assert_eq!(rules(&report["findings"]), ["policy-ignore-expired"]);
    let place = &report["findings"][0]["location"];
    assert_eq!(
        (&place["file"], &place["line"], &place["column"]),
        (&".imgcheck.yaml".into(), &2.into(), &12.into())
    );
}

#[test]
fn a_pattern_does_not_ignore_what_is_wrong_with_ignores() {
    let two = |pattern: &str| {
        configured(&format!(
            "ignore:\n  - {{rule: \"{pattern}\", reason: all}}\n  - {{rule: claim-os, reason: old, expires: 2020-01-01}}\n"
        ))
    };
    for pattern in ["*", "policy-*", "policy-ignore-*"] {
        let (_, report) = check(two(pattern).path(), &[MISLABELLED], &[]);
        assert!(
            rules(&report["findings"]).contains(&"policy-ignore-expired"),
            "{pattern}: {report:#}"
        );
    }
    let (_, report) = check(two("policy-ignore-expired").path(), &[MISLABELLED], &[]);
    assert!(!rules(&report["findings"]).contains(&"policy-ignore-expired"));
}

#[test]
fn an_ignore_that_no_image_of_the_call_needs_is_reported_once() {
    let directory = configured(
        "ignore:\n  - {rule: load-*, reason: vendor}\n  - {rule: claim-*, reason: tags}\n",
    );
    // Used for one image is used.
    let (code, report) = check(
        directory.path(),
        &[MISLABELLED, HONEST],
        &["--fail-on", "warning"],
    );
    assert_eq!(
        (code, rules(&report["findings"])),
        (1, vec!["policy-ignore-unused"])
    );
    assert_eq!(report["findings"][0]["location"]["line"], 2);
    let output = inside(directory.path())
        .args([repository(MISLABELLED), repository(HONEST)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, end) = said.split_once("PASS  .imgcheck.yaml\n").unwrap();
    insta::assert_snapshot!(end);
    assert_eq!(output.status.code(), Some(0));
    // An ignore for other images is not unused; for a missing image it is unknown.
    let directory = configured("ignore: [{rule: load-*, image: \"other/*\", reason: vendor}]");
    let (code, report) = check(directory.path(), &[HONEST], &["--fail-on", "note"]);
    assert_eq!((code, report.get("findings")), (0, None));
    let directory = configured("ignore: [{rule: load-*, reason: vendor}]");
    let (code, report) = check(
        directory.path(),
        &[HONEST, "absent.tar"],
        &["--fail-on", "note"],
    );
    assert_eq!((code, report.get("findings")), (3, None));
}

#[test]
fn only_findings_outside_the_baseline_fail() {
    let directory = configured("");
    let known = directory.path().join("known.json");
    let (code, report) = check(
        directory.path(),
        &[MISLABELLED],
        &["--write-baseline", "known.json"],
    );
    assert_eq!(
        (code, rules(&only_image(&report)["findings"])),
        (0, vec!["claim-torch-version"])
    );
    let text = fs::read_to_string(&known).unwrap();
    assert!(
        text.contains("imgcheck/baseline/v1") && text.contains("pytorch-cuda:v2.9"),
        "{text}"
    );
    let (code, report) = check(
        directory.path(),
        &[MISLABELLED],
        &["--baseline", "known.json"],
    );
    let image = only_image(&report);
    assert_eq!(
        (code, rules(&image["findings"]), rules(&image["ignored"])),
        (0, vec![], vec!["claim-torch-version"])
    );
    assert_eq!(image["ignored"][0]["ignore"]["reason"], "in the baseline");
    let new = ["--baseline", "known.json", "--expect", "torch==2.9.*"];
    let (code, report) = check(directory.path(), &[MISLABELLED], &new);
    assert_eq!(
        (code, rules(&only_image(&report)["findings"])),
        (1, vec!["policy-expectation"])
    );
    // A report is a baseline too, and the configuration may name it.
    fs::write(directory.path().join("report.json"), report.to_string()).unwrap();
    fs::write(
        directory.path().join(".imgcheck.yaml"),
        "baseline: report.json\n",
    )
    .unwrap();
    let (code, _) = check(
        directory.path(),
        &[MISLABELLED],
        &["--expect", "torch==2.9.*"],
    );
    assert_eq!(code, 0);
    // If it is written again, the old one does not count.
    let (code, _) = check(
        directory.path(),
        &[MISLABELLED],
        &["--write-baseline", "known.json"],
    );
    assert_eq!((code, fs::read_to_string(&known).unwrap()), (0, text));
}

#[test]
fn a_mistake_in_the_configuration_is_shown_at_its_place() {
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
fn an_option_that_names_no_file_is_named() {
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
fn a_baseline_does_not_hide_that_another_part_leaves_the_allowed_stacks() {
    let fingerprint = |stack: &str| {
        let directory = configured(&format!("stacks: [{stack}]\n"));
        let (code, report) = check(directory.path(), &[HONEST], &[]);
        assert_eq!(code, 1, "{report}");
        let findings = only_image(&report)["findings"].as_array().unwrap().clone();
        let mut findings = findings
            .iter()
            .filter(|it| it["rule"] == "policy-stack-not-allowed");
        findings.next().unwrap()["fingerprint"].clone()
    };
    let cuda = fingerprint("{name: a, torch: 2.8.*, cuda: '12.6'}");
    assert_eq!(cuda, fingerprint("{name: b, torch: 2.8.*, cuda: '12.4'}"));
    assert_ne!(cuda, fingerprint("{name: a, torch: 2.7.*, cuda: '12.8'}"));
    assert_ne!(cuda, fingerprint("{name: a, torch: 2.7.*, cuda: '12.6'}"));
}

#[test]
fn a_baseline_that_is_none_is_exit_code_2_and_none_is_written_for_half_a_check() {
    let directory = configured("baseline: absent.json\n");
    let said = inside(directory.path())
        .arg(repository(HONEST))
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("absent.json") && said.contains("--write-baseline"),
        "{said}"
    );
    let arguments = ["--write-baseline", "new.json"];
    assert_eq!(
        check(directory.path(), &[HONEST, "absent.tar"], &arguments).0,
        3
    );
    assert!(!directory.path().join("new.json").exists());
}

/// A rule that cannot be evaluated for an Ubuntu.
const FAILING: &str = "id: team-number\ntitle: t\nseverity: error\nsince: \"1\"\nfail: 'stack.os.version.startsWith(\"ubuntu\") && int(stack.os.version) > 0'\nmessage: m\nwhy: w\n";

#[test]
fn an_image_that_cannot_be_judged_does_not_take_the_others_with_it() {
    let directory = configured("rules: [team.yaml]\nignore: [{rule: load-*, reason: vendor}]\n");
    fs::write(directory.path().join("team.yaml"), FAILING).unwrap();
    let other = directory.path().join("other");
    let release: &[u8] = b"ID=ubuntu\nVERSION_ID=\"22.04\"\n";
    let plain = layout::layer(&[("etc/os-release", release)]);
    layout::write(
        &other,
        "team/other:1",
        &[(plain.clone(), testkit::gzip(&plain))],
    );
    let other = other.to_str().unwrap();
    let (code, report) = check(directory.path(), &[other, MISLABELLED], &[]);
    assert_eq!(code, 3);
    let findings = &only_image(&report)["findings"];
    assert_eq!(rules(findings), ["claim-torch-version"]);
    assert_eq!(report["errors"][0]["image"], "team/other:1");
    let error = report["errors"][0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("team/other:1: it cannot be judged: "),
        "{error}"
    );
    assert!(error.contains("team.yaml:5:"), "{error}");
    // As where one cannot be read: whether an ignore is of use is not known.
    assert_eq!(report.get("findings"), None);
    let (code, report) = check(directory.path(), &[HONEST], &[]);
    assert_eq!((code, &report["errors"]), (0, &Value::Null));
    let diff = inside(directory.path())
        .arg("diff")
        .args([repository(HONEST).as_path(), Path::new(other)])
        .output()
        .unwrap();
    assert_eq!(diff.status.code(), Some(3));
}

#[test]
fn lint_and_check_each_report_the_ignores_of_their_own_rules() {
    let directory = configured(
        "ignore:\n  - {rule: lint-stub-path, reason: a, expires: 1999-12-31}\n  - {rule: lint-pin-conflict, reason: b}\n  \
         - {rule: lint-unpinned-stack, reason: c}\n  - {rule: lint-*, path: images/*, reason: d}\n  \
         - {rule: load-*, reason: e}\n  - {rule: claim-os, reason: f, expires: 1999-12-31}\n",
    );
    fs::write(
        directory.path().join("requirements.txt"),
        "torch\ntorchvision\n",
    )
    .unwrap();
    let told = |report: &Value| -> Vec<String> {
        let findings = report.as_array().unwrap().iter();
        let told = findings.map(|it| {
            format!(
                "{} {}",
                it["rule"].as_str().unwrap(),
                it["location"]["line"]
            )
        });
        told.collect()
    };
    let lint = |arguments: &[&str]| {
        let output = inside(directory.path())
            .args(["lint", "-f", "json"])
            .args(arguments)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), report)
    };
    let (code, report) = lint(&["requirements.txt"]);
    let files = report["files"].as_array().unwrap();
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(
        rules(&files[0]["ignored"])[0],
        "lint-unpinned-stack",
        "{report}"
    );
    assert_eq!(
        (files.len(), &files[1]["file"]),
        (2, &".imgcheck.yaml".into())
    );
    assert_eq!(
        told(&files[1]["findings"]),
        ["policy-ignore-expired 2", "policy-ignore-unused 3"]
    );
    assert_eq!(
        lint(&["requirements.txt", "--fail-on", "warning"]).0,
        Some(1)
    );
    // For a missing file it is unknown.
    let (code, report) = lint(&["requirements.txt", "absent.txt"]);
    assert_eq!(
        (code, report["files"].as_array().unwrap().len()),
        (Some(2), 1)
    );
    let (_, report) = check(directory.path(), &[HONEST], &[]);
    assert_eq!(
        told(&report["findings"]),
        ["policy-ignore-expired 7", "policy-ignore-unused 6"]
    );
}

// ---- the file

#[test]
fn the_file_is_found_named_and_left_out() {
    let directory = configured("expect: [\"torch==1.0\"]");
    let inner = directory.path().join("images/train");
    fs::create_dir_all(&inner).unwrap();
    let (_, report) = check(&inner, &[HONEST], &[]);
    assert!(messages(&report)[0].ends_with("(expected by ../../.imgcheck.yaml:1)"));
    let passes = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = inside(&inner);
        command.arg(repository(HONEST)).args(arguments);
        command.envs(environment.iter().copied());
        command.output().unwrap().status.code()
    };
    fs::write(inner.join("other.yaml"), "").unwrap();
    assert_eq!(passes(&[], &[]), Some(1));
    assert_eq!(passes(&["--no-config"], &[]), Some(0));
    assert_eq!(passes(&[], &[("IMGCHECK_NO_CONFIG", "1")]), Some(0));
    assert_eq!(passes(&["--config", "other.yaml"], &[]), Some(0));
    assert_eq!(passes(&[], &[("IMGCHECK_CONFIG", "other.yaml")]), Some(0));
    // A flag overrides the environment.
    let above = directory.path().join(".imgcheck.yaml");
    let above = above.to_str().unwrap();
    assert_eq!(
        passes(&["--config", above], &[("IMGCHECK_NO_CONFIG", "1")]),
        Some(1)
    );
    assert_eq!(
        passes(&["--no-config"], &[("IMGCHECK_CONFIG", above)]),
        Some(0)
    );
    assert_eq!(passes(&["--no-config", "--config", above], &[]), Some(2));
    assert_eq!(passes(&["--config", "absent.yaml"], &[]), Some(2));
}

#[test]
fn the_users_own_file_counts_where_the_repository_has_none() {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join(".git")).unwrap();
    fs::create_dir_all(directory.path().join("home/imgcheck")).unwrap();
    fs::write(
        directory.path().join("home/imgcheck/config.yaml"),
        "expect: [torch==1.0]",
    )
    .unwrap();
    let output = inside(directory.path())
        .env("XDG_CONFIG_HOME", directory.path().join("home"))
        .arg(repository(HONEST))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn rules_of_the_configuration_are_beside_it() {
    let directory = configured("rules: [ci]\nseverities: {team-torch: warning}\n");
    fs::create_dir_all(directory.path().join("ci")).unwrap();
    let rule = "id: team-torch\ntitle: No torch\nseverity: error\nsince: \"1\"\nfail: '\"torch\" in stack'\nmessage: there is a torch\nwhy: w\n";
    fs::write(directory.path().join("ci/team.yaml"), rule).unwrap();
    let inner = directory.path().join("deep/down");
    fs::create_dir_all(&inner).unwrap();
    let (code, report) = check(&inner, &[HONEST], &[]);
    let finding = &only_image(&report)["findings"][0];
    assert_eq!(
        (code, &finding["rule"], &finding["severity"]),
        (0, &"team-torch".into(), &"warning".into())
    );
}

#[test]
fn the_configuration_counts_for_references_too() {
    let impossible = "pytorch/pytorch:2.8.0-cuda11.8-cudnn9-runtime";
    let code = |directory: &Path| {
        let output = inside(directory)
            .args(["claims", impossible])
            .output()
            .unwrap();
        output.status.code()
    };
    assert_eq!(code(configured("").path()), Some(1));
    assert_eq!(
        code(configured("severities: {claim-impossible: note}").path()),
        Some(0)
    );
    let directory = configured("ignore: [{rule: claim-impossible, reason: planned}]");
    let output = inside(directory.path())
        .args(["claims", "-f", "json", impossible])
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reference = &said["references"][0];
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(reference["ignored"][0]["ignore"]["reason"], "planned");
    assert_eq!(rules(&reference["findings"]), [""; 0]);
}

// ---- files that are wrong

#[test]
fn a_wrong_file_is_shown_with_its_place_and_the_way_out() {
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
            vec!["the key `rule` is missing"],
        ),
        (
            "expect: [torhc==2.8]\n",
            vec![
                ":1:10",
                "unknown component `torhc`",
                "did you mean `torch`?",
            ],
        ),
        (
            "expect: [torch=2.8]\n",
            vec!["invalid version specifier `=2.8`"],
        ),
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
fn a_fault_of_the_file_is_drawn() {
    let text = "# the fleet\nexpect: [\"torch==2.8.*\"]\nignore:\n  - rule: load-shadowed-library\n    image: \"team/*\"\n    expires: 2027-3-1\n    reason: vendor\n";
    insta::assert_snapshot!(refused(text));
}

#[test]
fn the_file_is_read_before_the_image() {
    let directory = configured("severities: {no-such-rule: off}");
    let output = inside(directory.path()).arg("absent.tar").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    fs::write(directory.path().join(".imgcheck.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    let output = inside(directory.path()).arg("absent.tar").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
