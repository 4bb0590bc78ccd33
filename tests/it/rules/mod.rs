//! The built-in rules' own tests, what a faulty rule file looks like, rules of the user, and missing facts.

mod builtin;
mod evaluation;
mod own;
mod tables;

use std::path::Path;

use imgcheck_base::bounds::Bounds;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::Severity;
use imgcheck_model::stack::{Component, Stack};
use imgcheck_rules::rules::{Facts, ImageFacts, Rule, RuleSet, StackFacts, pages, testing};
use regex::Regex;
use serde_json::Value;

const GOOD: &str = r#"
id: team-no-torch-nightly
title: Nightly builds of PyTorch are not allowed
severity: warning
since: "1"
when: '"torch" in stack'
fail: stack.torch.version.contains(".dev")
at: stack.torch.path
message: 'PyTorch {stack.torch.version} is a nightly build'
why: They change.
tests:
  - name: a nightly build fails
    given: {stack: [{name: torch, version: 2.9.0.dev20250601+cu128}]}
    expect: {findings: 1, message: "*nightly*"}
"#;

fn rejected(text: &str) -> String {
    let mut set = RuleSet::default();
    set.add_text("team/rule.yaml", text)
        .unwrap_err()
        .to_string()
}

fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

#[test]
fn a_rule_from_a_file_or_directory_works_like_a_built_in_one() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("team")).unwrap();
    std::fs::write(directory.path().join("team/rule.yaml"), GOOD).unwrap();
    let mut set = RuleSet::builtin().unwrap();
    set.add_path(directory.path()).unwrap();
    let findings = set
        .evaluate(
            &image("2.9.0.dev20250601+cu128", vec![]),
            &Bounds::default(),
        )
        .unwrap();
    let finding = &findings[0];
    assert_eq!(
        (finding.rule.as_str(), finding.severity),
        ("team-no-torch-nightly", Severity::Warning)
    );
    assert_eq!(
        finding.message,
        "PyTorch 2.9.0.dev20250601+cu128 is a nightly build"
    );
    assert_eq!(
        (finding.path.as_deref(), finding.layer),
        (Some("/opt/torch"), Some(3))
    );
    let report = testing::run(set.rules().filter(|rule| rule.id.starts_with("team-")));
    assert_eq!(report.to_string(), "1 tests, 0 failed");
}

#[test]
fn a_missing_path_and_an_empty_directory_are_errors() {
    let mut set = RuleSet::default();
    let missing = set.add_path(Path::new("/no/such/rules")).unwrap_err();
    assert!(
        missing.to_string().starts_with("/no/such/rules: "),
        "{missing}"
    );
    assert_eq!(missing.exit_code(), 2);
    let directory = tempfile::tempdir().unwrap();
    let empty = set.add_path(directory.path()).unwrap_err();
    assert!(empty.to_string().contains("no rule file"), "{empty}");
}

#[test]
fn a_failing_test_says_what_was_expected() {
    let text = GOOD.replace("*nightly*", "*weekly*");
    let rule = Rule::read("rule.yaml", &text).unwrap();
    let report = testing::run(std::iter::once(&rule));
    insta::assert_snapshot!(report.to_string());
}

#[test]
fn invalid_yaml_is_shown() {
    insta::assert_snapshot!(rejected(&changed("title: Nightly", "title: 'Nightly")));
}

#[test]
fn an_unknown_key_is_shown_with_a_suggestion() {
    insta::assert_snapshot!(rejected(&changed("severity:", "severty:")));
}

#[test]
fn a_missing_key_is_named() {
    insta::assert_snapshot!(rejected(&changed(
        "title: Nightly builds of PyTorch are not allowed\n",
        ""
    )));
}

#[test]
fn a_syntax_error_in_an_expression_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "'\"torch\" in stack'",
        "'\"torch\" in && stack'"
    )));
}

#[test]
fn an_unknown_name_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "'\"torch\" in stack'",
        "'\"torch\" in stak'"
    )));
}

#[test]
fn an_unknown_part_of_the_stack_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "'\"torch\" in stack'",
        "'\"troch\" in stack'"
    )));
}

#[test]
fn an_unknown_field_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "at: stack.torch.path",
        "at: stack.torch.pth"
    )));
}

#[test]
fn an_unknown_function_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "stack.torch.version.contains(\".dev\")",
        "meet(stack.torch.version, \"2\")"
    )));
}

#[test]
fn a_value_of_the_wrong_type_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "stack.torch.version.contains(\".dev\")",
        "stack.torch.version"
    )));
    insta::assert_snapshot!(rejected(&changed(
        "stack.torch.version.contains(\".dev\")",
        "meets(claims, \"2.9\")"
    )));
}

#[test]
fn an_order_of_versions_as_text_is_rejected() {
    for (ordered, operator) in [
        ("stack.torch.version < \"2.6\"", "<"),
        ("release(stack.torch.version) >= \"2.6\"", ">="),
        ("claims.exists(c, c.version <= stack.torch.version)", "<="),
        ("known.pytorch.releases.exists(r, r.version > \"2.6\")", ">"),
    ] {
        let shown = rejected(&changed("stack.torch.version.contains(\".dev\")", ordered));
        assert!(
            shown.contains(&format!("`{operator}` compares texts")),
            "{shown}"
        );
        assert!(shown.contains("use `newer(a, b)`"), "{shown}");
    }
    let numbers = changed(
        "stack.torch.version.contains(\".dev\")",
        "major(stack.torch.version) < 2 || size(claims) > 9",
    );
    RuleSet::default()
        .add_text("team/rule.yaml", &numbers)
        .unwrap();
}

#[test]
fn a_fault_inside_a_template_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "{stack.torch.version} is",
        "{stack.torch.versoin} is"
    )));
    insta::assert_snapshot!(rejected(&changed(
        "{stack.torch.version} is",
        "{stack.torch.version is"
    )));
}

#[test]
fn a_fault_inside_a_block_is_shown_in_its_line() {
    let block =
        "fail: |\n  stack.torch.version.contains(\".dev\")\n  || stack.cudnn.verison == \"9\"\n";
    insta::assert_snapshot!(rejected(&changed(
        "fail: stack.torch.version.contains(\".dev\")\n",
        block
    )));
}

#[test]
fn an_unknown_knowledge_field_is_shown() {
    insta::assert_snapshot!(rejected(&changed(
        "stack.torch.version.contains(\".dev\")",
        "known.pytorch.releases.exists(r, r.versoin == \"2\")"
    )));
}

#[test]
fn a_wrong_level_is_shown() {
    insta::assert_snapshot!(rejected(&changed("severity: warning", "severity: fatal")));
}

#[test]
fn faults_of_evaluation_are_found_on_a_sample() {
    let fail = "stack.torch.version.contains(\".dev\")";
    insta::assert_snapshot!(rejected(&changed(fail, "stack.torch.version > 2")));
    insta::assert_snapshot!(rejected(&changed(
        fail,
        "satisfies(stack.torch.version, \"at least 2\")"
    )));
    insta::assert_snapshot!(rejected(&changed(
        fail,
        "stack.torch.version.matches(\"[\")"
    )));
}

#[test]
fn a_duplicate_id_is_shown() {
    let mut set = RuleSet::builtin().unwrap();
    let text = GOOD.replace("team-no-torch-nightly", "claim-torch-version");
    insta::assert_snapshot!(set.add_text("team/rule.yaml", &text).unwrap_err());
}

#[test]
fn work_is_bounded() {
    let nested = "claims.exists(a, claims.exists(b, claims.exists(c, claims.exists(d, claims.exists(e, true)))))";
    insta::assert_snapshot!(rejected(&changed(
        "stack.torch.version.contains(\".dev\")",
        nested
    )));
    let long = format!("{} == 1", vec!["1"; 5000].join("+"));
    assert!(
        rejected(&changed("stack.torch.version.contains(\".dev\")", &long))
            .contains("longer than 8 KiB")
    );
}

fn claim(subject: &str, version: &str) -> Claim {
    Claim {
        subject: subject.to_owned(),
        version: version.to_owned(),
        origin: "tag".to_owned(),
        text: version.to_owned(),
        document: None,
    }
}

fn image(torch: &str, claims: Vec<Claim>) -> Facts {
    let component = Component {
        name: "torch".to_owned(),
        version: torch.to_owned(),
        path: "/opt/torch".to_owned(),
        layer: Some(3),
        loaded: true,
        ..Component::default()
    };
    let stack = Stack {
        components: vec![component],
        ..Stack::default()
    };
    Facts::of_image(named("pytorch-cuda", "v2.9"), claims, &stack.into())
}

fn named(repository: &str, tag: &str) -> ImageFacts {
    ImageFacts {
        reference: format!("{repository}:{tag}"),
        repository: repository.to_owned(),
        tag: Some(tag.to_owned()),
        ..ImageFacts::default()
    }
}
