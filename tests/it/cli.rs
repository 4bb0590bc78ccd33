//! The command line as a user meets it, on the sample images: exit codes, formats, options.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{check, failure, faults, imgcheck, only_image, repository, version};

pub const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
pub const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

#[test]
fn a_wrong_label_fails_and_names_rule_file_layer_and_step() {
    let output = imgcheck().arg(repository(MISLABELLED)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for word in [
        "pytorch-cuda:v2.9",
        "2.8.0+cu128",
        "claim-torch-version",
        "pip install --no-cache-dir torch==2.8.0",
    ] {
        assert!(text.contains(word), "no {word:?} in:\n{text}");
    }

    let (code, report) = check(&repository(MISLABELLED), &[]);
    assert_eq!(
        (code, faults(&report)),
        (1, vec!["claim-torch-version".to_owned()])
    );
    let finding = &only_image(&report)["findings"][0];
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["layer"], 2);
    assert!(
        finding["path"]
            .as_str()
            .unwrap()
            .contains("site-packages/torch")
    );
}

#[test]
fn an_honest_label_passes_without_error_or_warning() {
    let (code, report) = check(&repository(HONEST), &[]);
    assert_eq!((code, faults(&report)), (0, vec![]));
    assert_eq!(only_image(&report)["verdict"], "pass");
}

#[test]
fn the_report_does_not_depend_on_the_number_of_processors() {
    let findings = |jobs: &str| {
        let (_, report) = check(&repository(MISLABELLED), &["--jobs", jobs]);
        only_image(&report)["findings"].clone()
    };
    assert_eq!(findings("1"), findings("16"));
    assert_eq!(findings("1").as_array().map(Vec::len), Some(1));
    let output = imgcheck().args(["--jobs", "0", HONEST]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("--jobs <N>"), "{text}");
}

#[test]
fn the_sample_holds_what_its_provenance_says() {
    let (_, report) = check(&repository(HONEST), &[]);
    for (name, expected) in [
        ("torch", "2.8.0+cu128"),
        ("cuda-runtime", "12.8"),
        ("cudnn", "9.10.2"),
        ("nccl", "2.27.3"),
        ("cublaslt", "12.8.4"),
        ("python", "3.11.13"),
    ] {
        assert_eq!(version(&report, name).as_deref(), Some(expected), "{name}");
    }
    let sass = [
        "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120",
    ];
    assert_eq!(
        only_image(&report)["gpu"]["torch"]["sass"],
        serde_json::json!(sass)
    );
}

#[test]
fn a_reference_given_by_the_user_replaces_the_one_in_the_archive() {
    let honest = "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime";
    assert_eq!(check(&repository(MISLABELLED), &["--as", honest]).0, 0);
    let (code, report) = check(&repository(HONEST), &["--as", "pytorch-cuda:v2.9"]);
    assert_eq!(code, 1);
    assert_eq!(only_image(&report)["reference"], "pytorch-cuda:v2.9");
}

#[test]
fn the_report_has_the_keys_of_its_contract() {
    let (_, report) = check(&repository(MISLABELLED), &[]);
    assert_eq!(report["schema"], "imgcheck/report/v1");
    assert_eq!(report["tool"]["name"], "imgcheck");
    assert_eq!(report["tool"]["version"], env!("CARGO_PKG_VERSION"));
    let image = only_image(&report);
    assert_keys(
        image,
        "reference source platform digest config_digest verdict layers claims stack gpu driver loader findings ignored elapsed_ms",
    );
    assert_eq!(image["source"], "docker-archive");
    assert_eq!(image["platform"], "linux/amd64");
    assert_eq!(image["verdict"], "fail");
    assert_eq!(image["layers"].as_array().unwrap().len(), 3);
    assert_keys(
        &image["layers"][2],
        "index diff_id digest size created_by cached",
    );
    assert_keys(&image["claims"][0], "subject version origin text");
    let torch = image["stack"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["name"] == "torch")
        .unwrap();
    assert_keys(torch, "name version path layer loaded evidence");
    assert_keys(&torch["evidence"][0], "kind value path detail");
    assert_keys(&image["gpu"], "libraries torch");
    assert_keys(&image["gpu"]["libraries"][0], "path sass ptx");
    assert_keys(
        &image["findings"][0],
        "rule severity confidence message help path layer evidence fingerprint docs",
    );
}

fn assert_keys(value: &Value, keys: &str) {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("not an object: {value}"));
    for key in keys.split(' ') {
        assert!(
            object.contains_key(key),
            "no {key:?} among {:?}",
            object.keys().collect::<Vec<_>>()
        );
    }
}

#[test]
fn transports_of_both_families_name_the_same_archive() {
    let path = repository(MISLABELLED);
    for reference in [
        format!("docker-archive:{}", path.display()),
        path.display().to_string(),
    ] {
        let (code, report) = check(Path::new(&reference), &[]);
        assert_eq!(
            (code, only_image(&report)["source"].as_str()),
            (1, Some("docker-archive"))
        );
    }
}

#[test]
fn facts_show_the_stack_with_evidence_and_judge_nothing() {
    let output = imgcheck()
        .arg("facts")
        .arg(repository(MISLABELLED))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for word in ["2.8.0+cu128", "9.10.2", "2.27.3", "sm_120"] {
        assert!(text.contains(word), "no {word:?} in:\n{text}");
    }
}

#[test]
fn claims_need_no_image_and_know_what_was_published() {
    let output = imgcheck()
        .args([
            "claims",
            "pytorch/pytorch:2.8.0-cuda11.8",
            "--format",
            "json",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], "imgcheck/claims/v1");
    let reference = &report["references"][0];
    let claims: Vec<(&str, &str)> = reference["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| {
            (
                claim["subject"].as_str().unwrap(),
                claim["version"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(claims, [("torch", "2.8.0"), ("cuda", "11.8")]);
    assert_eq!(reference["findings"][0]["rule"], "claim-impossible");
    assert!(
        reference["findings"].to_string().contains("12.8"),
        "the published ones are not named"
    );
}

#[test]
fn rules_can_be_listed_shown_and_tested() {
    let list = imgcheck().args(["rules", "list"]).output().unwrap();
    assert!(list.status.success());
    assert!(String::from_utf8_lossy(&list.stdout).contains("claim-torch-version"));
    imgcheck()
        .args(["rules", "show", "claim-torch-version"])
        .assert()
        .success();
    imgcheck().args(["rules", "test"]).assert().success();
    failure(2, &["rules", "show", "no-such-rule"]);
}

#[test]
fn a_report_can_go_to_a_file() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("report.json");
    let output = imgcheck()
        .arg(repository(HONEST))
        .args(["--format", "json", "-o", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let report: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(only_image(&report)["verdict"], "pass");
}

#[test]
fn fail_on_moves_the_line() {
    let sample = repository(MISLABELLED);
    assert_eq!(check(&sample, &["--fail-on", "note"]).0, 1);
    assert_eq!(check(&repository(HONEST), &["--fail-on", "warning"]).0, 0);
}

#[test]
fn a_variable_sets_a_flag_and_the_flag_wins() {
    let output = imgcheck()
        .arg(repository(HONEST))
        .env("IMGCHECK_FORMAT", "json")
        .output()
        .unwrap();
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let output = imgcheck()
        .arg(repository(HONEST))
        .args(["--format", "text"])
        .env("IMGCHECK_FORMAT", "json")
        .output()
        .unwrap();
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_err());
}

/// What checking the honest sample with a rule of these severity and condition says.
fn rule_error(severity: &str, condition: &str) -> String {
    let directory = tempdir().unwrap();
    let file = directory.path().join("broken.yaml");
    let rule = format!(
        "id: my-rule\ntitle: Mine\nseverity: {severity}\nsince: 0.1.0\nfail: '{condition}'\nmessage: m\nwhy: w\ntests: []\n"
    );
    fs::write(&file, rule).unwrap();
    let image = repository(HONEST);
    failure(
        2,
        &[
            "check",
            image.to_str().unwrap(),
            "--rules",
            file.to_str().unwrap(),
        ],
    )
}

#[test]
fn a_bad_rule_file_is_shown_with_file_line_column_and_the_line() {
    let error = rule_error("terrible", "true");
    assert!(error.contains("broken.yaml:3:"), "{error}");
    assert!(error.contains("severity: terrible"), "{error}");
    let error = rule_error("error", "stakc.torch.version == \"2\"");
    assert!(error.contains("broken.yaml:5:"), "{error}");
    assert!(error.contains("stakc"), "{error}");
}

#[test]
fn one_unreadable_image_of_several_is_exit_code_3() {
    let output = imgcheck()
        .arg("check")
        .arg(repository(MISLABELLED))
        .arg("absent.tar")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("claim-torch-version"));
}

#[test]
fn a_report_never_overwrites_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image.tar");
    fs::copy(repository(MISLABELLED), &image).unwrap();
    let before = fs::read(&image).unwrap();
    let path = image.to_str().unwrap();
    for named in [path.to_owned(), format!("docker-archive:{path}")] {
        let error = failure(2, &["check", &named, "-o", path]);
        assert!(error.contains("the image itself"), "{error}");
        assert_eq!(fs::read(&image).unwrap(), before);
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let script = imgcheck().args(["completions", "bash"]).output().unwrap();
    let script = String::from_utf8(script.stdout).unwrap();
    let syntax = std::process::Command::new("bash")
        .args(["-n", "-c", &script])
        .output()
        .unwrap();
    assert!(syntax.status.success(), "{syntax:?}");

    let directory = tempdir().unwrap();
    let man = imgcheck().arg("man").arg(directory.path()).output();
    assert_eq!(man.unwrap().status.code(), Some(0));
    let help = imgcheck().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(
        names.contains(&"check") && names.contains(&"diff"),
        "{help}"
    );
    for name in names {
        assert!(
            script.contains(&format!("imgcheck__subcmd__{name}")),
            "no completion of {name}"
        );
        let page = directory.path().join(format!("imgcheck-{name}.1"));
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }

    let missing = directory.path().join("none");
    failure(3, &["man", missing.to_str().unwrap()]);
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let output = imgcheck()
        .args(["check", HONEST])
        .env("IMGCHECK_FORMAT", "")
        .env("IMGCHECK_FAIL_ON", "")
        .env("IMGCHECK_DEEP", "")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{error}");
}

#[test]
fn a_file_of_facts_keeps_the_name_that_the_image_is_compared_with() {
    let directory = tempfile::tempdir().unwrap();
    let facts = directory.path().join("image.facts");
    let run = |arguments: &[&str]| {
        let output = imgcheck().args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let output = format!("facts={}", facts.display());
    let sample = repository("testdata/sample/pytorch-cuda-v2.9.tar");
    let sample = sample.to_str().unwrap();
    assert_eq!(run(&["facts", sample, "-o", &output]).0, Some(0));
    let (code, text) = run(&[facts.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[claim-torch-version]"), "{text}");
    let (code, text) = run(&[facts.to_str().unwrap(), "--as", "pytorch-cuda:v2.8"]);
    assert_eq!(code, Some(0), "{text}");
}
