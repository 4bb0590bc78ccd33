//! Severities and ignores.

use super::*;

#[test]
fn severities_are_overridden_and_rules_disabled() {
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

const IGNORE: &str = "ignore:\n  - {rule: claim-torch-version, image: \"*/pytorch-cuda-*\", reason: renamed in spring, expires: 2999-12-31}\n";

#[test]
fn an_image_cannot_name_itself_into_an_ignore() {
    let directory = configured(&IGNORE.replace("*/pytorch-cuda-*", "pytorch-cuda:*"));
    let (code, report) = check(directory.path(), &[MISLABELLED], &[]);
    let image = only_image(&report);
    assert_eq!(
        image["reference"], "pytorch-cuda:v2.9",
        "recorded in the archive"
    );
    assert_eq!(
        (code, rules(&image["findings"])),
        (1, vec!["claim-torch-version"])
    );
    // It says so, and how it does apply.
    assert_eq!(rules(&report["findings"]), ["policy-ignore-unused"]);
    let said = &report["findings"][0];
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("`pytorch-cuda:v2.9`"), "{message}");
    let help = said["help"].as_str().unwrap();
    assert!(help.contains("`--as pytorch-cuda:v2.9`"), "{help}");
    let typed = ["--as", "pytorch-cuda:v2.9"];
    assert_eq!(check(directory.path(), &[MISLABELLED], &typed).0, 0);

    let expired = IGNORE.replace("*/pytorch-cuda-*", "pytorch-cuda:*");
    let directory = configured(&expired.replace("2999", "1999"));
    let (_, report) = check(directory.path(), &[MISLABELLED], &[]);
    assert_eq!(rules(&report["findings"]), ["policy-ignore-expired"]);
}

#[test]
fn an_ignored_finding_is_reported_with_its_reason() {
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
        said.contains("no findings · 1 finding ignored\n\nKnowledge tables: ")
            && said.ends_with(" · Configuration: .imgcheck.yaml\n"),
        "{said}"
    );
}

#[test]
fn an_expired_ignore_has_no_effect_and_is_reported() {
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
fn a_pattern_does_not_suppress_findings_about_ignores() {
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
fn an_unused_ignore_is_reported_once() {
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
    let (_, end) = said.split_once("WARNING  .imgcheck.yaml\n").unwrap();
    insta::assert_snapshot!(undated(end));
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

#[test]
fn an_ignore_names_a_file_with_or_without_its_directory() {
    for path in ["requirements.txt", "./requirements.txt"] {
        let directory = configured(&format!(
            "ignore: [{{rule: lint-unpinned-stack, path: {path}, reason: a}}]\n"
        ));
        fs::write(directory.path().join("requirements.txt"), "torch\n").unwrap();
        for file in [".", "requirements.txt", "./requirements.txt"] {
            let output = inside(directory.path())
                .args(["lint", "-f", "json", file])
                .output()
                .unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let read = &report["files"][0];
            assert_eq!(
                (rules(&read["ignored"]), rules(&read["findings"])),
                (vec!["lint-unpinned-stack"], vec![]),
                "{path} {file} {report}"
            );
        }
    }
}
