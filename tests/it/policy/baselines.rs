//! Baselines.

use super::*;

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
fn a_baseline_does_not_hide_another_wrong_tag() {
    let directory = configured("");
    let as_tag = |tag: &str, options: &[&str]| {
        let name = format!("team/train:{tag}");
        let options = [&["--as", &name], options].concat();
        let (code, report) = check(directory.path(), &[MISLABELLED], &options);
        (code, rules(&only_image(&report)["findings"]).len())
    };
    let known = ["--baseline", "known.json"];
    as_tag("torch2.9", &["--write-baseline", "known.json"]);
    assert_eq!(as_tag("torch2.9", &known), (0, 0));
    assert_eq!(as_tag("v7-torch2.9", &known), (0, 0));
    assert_eq!(as_tag("torch2.6", &known), (1, 1));
}

#[test]
fn a_baseline_does_not_hide_a_new_deviation_from_the_allowed_stacks() {
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
fn an_invalid_baseline_is_exit_code_2_and_an_incomplete_check_writes_none() {
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
fn a_failed_image_does_not_stop_the_others() {
    let directory = configured("rules: [team.yaml]\nignore: [{rule: load-*, reason: vendor}]\n");
    fs::write(directory.path().join("team.yaml"), FAILING).unwrap();
    let other = ubuntu(directory.path());
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
fn the_directories_of_a_baseline_and_of_a_report_are_created() {
    let directory = configured("");
    let output = inside(directory.path())
        .args(["--write-baseline", "new/known.json"])
        .args(["-o", "json=reports/today/report.json"])
        .arg(repository(MISLABELLED))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for file in ["new/known.json", "reports/today/report.json"] {
        assert!(directory.path().join(file).is_file(), "{file}");
    }
    // A file is in the way.
    let output = inside(directory.path())
        .args(["-o", "json=new/known.json/report.json"])
        .arg(repository(MISLABELLED))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("the directory cannot be created"), "{error}");
}

#[test]
fn the_run_after_a_new_baseline_passes_whatever_fails() {
    let directory = configured(
        "fail-on: warning
ignore:
  - {rule: load-*, reason: vendor}
  - {rule: claim-*, reason: fixed in March, expires: 2020-01-01}
",
    );
    let run = |arguments: &[&str]| {
        let mut command = inside(directory.path());
        let output = command
            .arg(repository(MISLABELLED))
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, text, said) = run(&["--write-baseline", "known.json"]);
    assert_eq!(code, Some(0), "{text}");
    for rule in [
        "error[claim-torch-version]",
        "warning[policy-ignore-unused]",
        "warning[policy-ignore-expired]",
    ] {
        assert!(text.contains(rule), "{rule}: {text}");
    }
    assert!(
        text.starts_with("NOT COUNTED  pytorch-cuda:v2.9\n"),
        "{text}"
    );
    assert!(!text.contains("FAIL"), "{text}");
    assert!(said.contains("wrote 3 findings to known.json"), "{said}");
    let (code, text, _) = run(&["--baseline", "known.json"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("PASS  "), "{text}");
    assert_eq!(run(&[]).0, Some(1));
}
