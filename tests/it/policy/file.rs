//! Where the configuration file is, and what it applies to.

use super::*;

#[test]
fn every_report_names_the_configuration_file() {
    let directory = configured("fail-on: never\n");
    let (_, report) = check(directory.path(), &[HONEST], &[]);
    assert_eq!(report["config"], ".imgcheck.yaml");
    assert_eq!(report["knowledge"]["date"].as_str().unwrap().len(), 10);
    let (_, report) = check(directory.path(), &[HONEST], &["--no-config"]);
    assert!(report["config"].is_null() && report.as_object().unwrap().contains_key("config"));
    let written = |command: &[&str], input: &str, format: &str| {
        let output = inside(directory.path())
            .args(command)
            .args([input, "-f", format])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    fs::write(directory.path().join("Dockerfile"), "FROM debian:12\n").unwrap();
    for (command, input) in [
        ("check", repository(HONEST).to_str().unwrap()),
        ("lint", "Dockerfile"),
    ] {
        for format in ["text", "json", "sarif", "junit", "github", "markdown"] {
            let text = written(&[command], input, format);
            assert!(
                text.contains(".imgcheck.yaml"),
                "{command} {format}: {text}"
            );
        }
    }
    let page = written(&["check"], repository(HONEST).to_str().unwrap(), "html");
    assert!(page.contains(".imgcheck.yaml"));
}

#[test]
fn the_file_is_found_named_or_left_out() {
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
fn the_users_file_applies_without_one_in_the_repository() {
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
fn rule_paths_are_relative_to_the_configuration() {
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
fn a_claim_whose_finding_does_not_count_is_not_ok() {
    let row = |text: &str| {
        let directory = configured(text);
        let output = inside(directory.path())
            .args(["check", "--as", "team/x:2.8-cpu"])
            .arg(repository(MISLABELLED))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let row = text.lines().find(|line| line.contains("cpu (tag)"));
        row.map(|row| row.split_whitespace().last().unwrap().to_owned())
    };
    assert_eq!(row("").as_deref(), Some("doubtful"));
    for muted in [
        "severities: {claim-cpu-build: off}",
        "ignore: [{rule: claim-cpu-build, reason: planned}]",
    ] {
        assert_eq!(row(muted).as_deref(), Some("ignored"), "{muted}");
    }
}

#[test]
fn the_configuration_applies_to_references() {
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

#[test]
fn the_file_is_read_before_the_image() {
    let directory = configured("severities: {no-such-rule: off}");
    let output = inside(directory.path()).arg("absent.tar").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    fs::write(directory.path().join(".imgcheck.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    let output = inside(directory.path()).arg("absent.tar").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_strict_check_uses_no_discovered_policy() {
    let directory = configured("fail-on: never\n");
    let strict = |more: &[&str]| {
        inside(directory.path())
            .args([
                "check",
                "--strict",
                repository(MISLABELLED).to_str().unwrap(),
            ])
            .args(more)
            .output()
            .unwrap()
    };
    let refused = strict(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for part in [".imgcheck.yaml", "--config", "--no-config"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(strict(&["--no-config"]).status.code(), Some(1));
    assert_eq!(
        strict(&["--config", ".imgcheck.yaml"]).status.code(),
        Some(0)
    );
}
