//! Rules of the user on the command line: listed, scaffolded, tested, and refused by other versions.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::program::{imgcheck, repository};

/// Exit code, standard output and standard error in a directory, whose configuration counts.
fn run(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = imgcheck()
        .current_dir(directory)
        .env_remove("IMGCHECK_NO_CONFIG")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn a_new_rule_passes_its_tests_and_is_listed() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    let new = ["rules", "new", "team-torch", "--directory", "ci/rules"];
    let (code, text, error) = run(root, &new);
    assert_eq!(code, 0, "{error}");
    assert!(text.contains("wrote ci/rules/team-torch.yaml"), "{text}");
    let (code, text, error) = run(root, &["rules", "test", "ci/rules"]);
    assert_eq!((code, text.as_str()), (0, "3 tests, 0 failed\n"), "{error}");
    for arguments in [
        &["rules", "list", "--rules", "ci/rules"][..],
        &["rules", "--rules", "ci/rules", "list"],
    ] {
        let (_, text, error) = run(root, arguments);
        assert!(text.contains("team-torch"), "{text}{error}");
    }
    fs::write(root.join(".imgcheck.yaml"), "rules: [ci/rules]\n").unwrap();
    assert!(run(root, &["rules", "list"]).1.contains("team-torch"));
    assert!(
        run(root, &["rules", "show", "team-torch"])
            .1
            .contains("# team-torch")
    );
    assert!(
        run(root, &["explain", "team-torch"])
            .1
            .contains("error[team-torch]")
    );
    assert!(
        !run(root, &["rules", "list", "--no-config"])
            .1
            .contains("team-torch")
    );
    let (code, _, error) = run(root, &new);
    assert_eq!(code, 2);
    assert!(error.contains("ci/rules/team-torch.yaml exists"), "{error}");
    assert_eq!(run(root, &["rules", "new", "../x"]).0, 2);
    let (code, _, error) = run(root, &["rules", "new", "claim-torch-version"]);
    assert!(code == 2 && error.contains("is a built-in rule"), "{error}");
}

#[test]
fn a_failing_test_names_the_missing_fact() {
    let directory = tempdir().unwrap();
    let rule = |given: &str| {
        format!(
            "id: team-a\ntitle: t\nseverity: note\nsince: \"1\"\nlet: {{found: stack}}\nfail: size(found) == 0\nmessage: m\nwhy: w\ntests:\n  - name: one\n    given: {given}\n    expect: {{findings: 1}}\n"
        )
    };
    let result = |given: &str| {
        fs::write(directory.path().join("a.yaml"), rule(given)).unwrap();
        let (_, text, error) = run(directory.path(), &["rules", "test", "a.yaml"]);
        text + &error
    };
    assert_eq!(result("{image: {}}"), "1 tests, 0 failed\n");
    let text = result("{image: {tag: \"1\"}}");
    assert!(text.contains("not applicable: `stack` missing"), "{text}");
    let text = result("{stack: [{name: torch, version: \"2\"}]}");
    assert!(text.contains("expected 1 findings, got 0"), "{text}");
    assert!(!text.contains("not applicable"), "{text}");
}

#[test]
fn other_versions_refuse_a_policy_and_a_rule() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    let image = repository("testdata/sample/pytorch-cuda-v2.9.tar");
    let image = image.to_str().unwrap();
    let own = env!("CARGO_PKG_VERSION");
    let policy = "a-key-of-tomorrow: 1\nrequired-version: \">=999.2, <1000\"\n";
    fs::write(root.join(".imgcheck.yaml"), policy).unwrap();
    let (code, _, error) = run(root, &[image]);
    let words =
        format!(".imgcheck.yaml requires imgcheck >=999.2, <1000, and this is imgcheck {own}");
    assert_eq!(code, 2);
    assert!(
        error.contains(&words) && error.contains(".imgcheck.yaml:2:19"),
        "{error}"
    );
    fs::write(root.join(".imgcheck.yaml"), "required-version: \">=0.1\"\n").unwrap();
    assert_eq!(run(root, &[image]).0, 1);
    run(root, &["rules", "new", "team-torch"]);
    let rule = fs::read_to_string(root.join("team-torch.yaml")).unwrap();
    fs::write(
        root.join("team-torch.yaml"),
        format!("required-version: \"<0.0.1\"\n{rule}"),
    )
    .unwrap();
    let (code, _, error) = run(root, &[image, "--rules", "team-torch.yaml"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("team-torch.yaml requires imgcheck <0.0.1"),
        "{error}"
    );
}
