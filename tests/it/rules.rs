//! The built-in rules' own tests, what a faulty rule file looks like, rules of the user, and missing facts.

use std::path::Path;

use imgcheck::internals::claims::Claim;
use imgcheck::internals::finding::Severity;
use imgcheck::internals::rules::{Facts, ImageFacts, Rule, RuleSet, pages, testing};
use imgcheck::internals::stack::{Component, Stack};
use serde_json::Value;

#[test]
fn the_tests_of_all_rules_pass() {
    let set = RuleSet::builtin().unwrap();
    let report = testing::run(set.rules());
    assert_eq!(report.failures().count(), 0, "{report}");
    assert!(report.results.len() >= 3 * set.rules().count());
}

#[test]
fn every_expression_of_the_builtin_rules_is_valid() {
    let set = RuleSet::builtin().unwrap();
    for rule in set.rules() {
        set.validate(rule).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            !rule.why.trim().is_empty() && rule.help.is_some(),
            "{}",
            rule.id
        );
        assert!(!rule.references.is_empty(), "{} has no reference", rule.id);
    }
}

#[test]
fn no_expression_of_a_builtin_rule_is_longer_than_300_characters() {
    for rule in RuleSet::builtin().unwrap().rules() {
        for expression in rule.expressions() {
            let words: Vec<&str> = expression.text().split_whitespace().collect();
            let length = words.join(" ").chars().count();
            assert!(
                length <= 300,
                "{}: {length} characters: {}",
                rule.id,
                expression.text()
            );
        }
    }
}

#[test]
fn an_old_key_or_function_is_an_error_with_the_new_one() {
    for (old, new) in [
        ("once: stack.torch.path\n", "deduplicate_by"),
        ("explains: claims\n", "cause_of"),
        ("yields: [load-*]\n", "suppresses"),
    ] {
        let key = format!("why: They change.\n{old}");
        let problem = rejected(&changed("why: They change.\n", &key));
        assert!(problem.contains(new), "{problem}");
    }
    let problem = rejected(&changed(
        "severity: warning",
        "severity: milder(\"error\", \"main\")",
    ));
    assert!(problem.contains("severityForRole"), "{problem}");
}

/// Bindings are evaluated in order, and each sees those before it.
#[test]
fn bindings_and_cases_are_evaluated() {
    let text = changed("when: '\"torch\" in stack'\n", "let:\n  torch: stack.torch\n  version: torch.version\n")
        .replace("fail: stack.torch.version.contains(\".dev\")", "fail: version.contains(\".dev\")")
        .replace(
            "message: 'PyTorch {stack.torch.version} is a nightly build'",
            "message:\n  - when: 'version == \"1\"'\n    text: old\n  - text: 'PyTorch {version} is a nightly build'",
        );
    let mut set = RuleSet::default();
    set.add_text("team/rule.yaml", &text).unwrap();
    let findings = set.evaluate(&image("2.9.0.dev1", vec![])).unwrap();
    assert_eq!(findings[0].message, "PyTorch 2.9.0.dev1 is a nightly build");
    let problem = rejected(&text.replace("  version: torch.version", "  version: torch.verison"));
    assert!(problem.contains("did you mean `version`?"), "{problem}");
    let problem =
        rejected(&text.replace("  - text: 'PyTorch", "  - when: 'true'\n    text: 'PyTorch"));
    assert!(
        problem.contains("the last case must have no `when`"),
        "{problem}"
    );
}

/// The worked example of CONTRIBUTING: a field with its documentation is all that a new fact needs.
#[test]
fn a_field_of_a_type_is_a_fact() {
    use imgcheck::internals::rules::shape::{Shape, json_schema_of};
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Facts {
        /// The oldest kernel that the image runs on.
        kernel: Option<String>,
    }
    let shape = Shape::of_type::<Facts>();
    assert_eq!(shape.field("kernel"), Some(&Shape::Text));
    assert!(shape.sample("")["kernel"].is_string());
    let schema = json_schema_of::<Facts>();
    let meaning = &schema["properties"]["kernel"]["description"];
    assert_eq!(meaning, "The oldest kernel that the image runs on.");
}

#[test]
fn a_rule_is_in_the_file_of_its_name() {
    for rule in RuleSet::builtin().unwrap().rules() {
        let name = rule.source.name.clone();
        assert!(
            name.ends_with(&format!("/{}.yaml", rule.id)),
            "{} is in {name}",
            rule.id
        );
    }
}

#[test]
fn the_pages_of_the_book_are_fresh() {
    let set = RuleSet::builtin().unwrap();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/rules");
    for (name, page) in pages::all(&set) {
        let committed = std::fs::read_to_string(directory.join(&name)).unwrap_or_default();
        assert!(
            committed == page,
            "docs/src/rules/{name} is stale: run `{}`",
            pages::COMMAND
        );
    }
}

#[test]
fn pages_are_written_and_old_ones_removed() {
    let set = RuleSet::builtin().unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("gone.md"), "").unwrap();
    pages::write(&set, directory.path()).unwrap();
    let names = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, set.rules().count() + 2);
    assert!(!directory.path().join("gone.md").exists());
}

// ---- knowledge

const TABLES: &[&str] = &[
    "cuda",
    "cudnn",
    "drivers",
    "frameworks",
    "gpus",
    "nccl",
    "ngc",
    "providers",
    "pytorch",
    "pytorch_docker_tags",
];

/// Lists whose elements are parts of a row that has the source.
const PARTS_OF_ROWS: &[&str] = &[
    "arch_list",
    "archs",
    "builds",
    "cuda",
    "example",
    "examples",
    "gpus",
    "min_driver",
    "minimums",
    "nvidia_smi_seen",
    "pins",
    "pypi_default_by_line",
    "python",
    "sonames",
];

#[test]
fn every_row_of_the_tables_has_a_source() {
    let set = RuleSet::default();
    for name in TABLES {
        let data = set
            .tables()
            .data(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        let rows = check_sources(name, &data);
        assert!(rows > 5, "{name} has {rows} rows");
    }
}

/// Checks all rows below a place, and gives their number.
fn check_sources(place: &str, data: &Value) -> usize {
    let below = |fields: &serde_json::Map<String, Value>| {
        let counts = fields
            .iter()
            .map(|(name, value)| check_sources(&format!("{place}.{name}"), value));
        counts.sum::<usize>()
    };
    let (depth, list) = (
        place.matches('.').count(),
        place.rsplit('.').next().unwrap_or_default(),
    );
    let part = depth > 1 && PARTS_OF_ROWS.contains(&list);
    match data {
        Value::Object(fields) => below(fields),
        Value::Array(items) => {
            let rows = items.iter().filter_map(Value::as_object);
            let counts = rows.map(|row| {
                let has_source = row
                    .keys()
                    .any(|key| key == "source" || key.ends_with("_source"));
                assert!(has_source || part, "{place}: a row has no source: {row:?}");
                1 + below(row)
            });
            counts.sum()
        }
        _ => 0,
    }
}

#[test]
fn confidence_is_one_of_four_words() {
    let set = RuleSet::default();
    for name in TABLES {
        check_confidence(name, &set.tables().data(name).unwrap());
    }
}

fn check_confidence(place: &str, data: &Value) {
    match data {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "confidence" || name.ends_with("_confidence") {
                    let word = value.as_str().unwrap_or_default();
                    assert!(
                        ["verified", "stated", "inferred", "unknown"].contains(&word),
                        "{place}: {value}"
                    );
                }
                check_confidence(&format!("{place}.{name}"), value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_confidence(place, item)),
        _ => {}
    }
}

// ---- rules of the user

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
        .evaluate(&image("2.9.0.dev20250601+cu128", vec![]))
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

// ---- faults of rule files

#[test]
fn yaml_that_is_none_is_shown() {
    insta::assert_snapshot!(rejected(&changed("title: Nightly", "title: 'Nightly")));
}

#[test]
fn an_unknown_key_is_shown_with_the_one_that_was_meant() {
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
fn what_only_evaluation_shows_is_found_on_a_sample() {
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
fn an_id_that_is_taken_is_shown() {
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

// ---- facts

fn claim(subject: &str, version: &str) -> Claim {
    Claim {
        subject: subject.to_owned(),
        version: version.to_owned(),
        origin: "tag".to_owned(),
        text: version.to_owned(),
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
    Facts::of_image(named("pytorch-cuda", "v2.9"), claims, &stack)
}

fn named(repository: &str, tag: &str) -> ImageFacts {
    ImageFacts {
        reference: format!("{repository}:{tag}"),
        repository: repository.to_owned(),
        tag: Some(tag.to_owned()),
        ..ImageFacts::default()
    }
}

#[test]
fn an_image_under_a_wrong_tag_is_found() {
    let set = RuleSet::builtin().unwrap();
    let findings = set
        .evaluate(&image("2.8.0+cu128", vec![claim("torch", "2.9")]))
        .unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, "claim-torch-version");
    assert_eq!(findings[0].severity, Severity::Error);
    assert!(findings[0].docs.ends_with("/claim-torch-version.md"));
}

#[test]
fn without_facts_every_rule_is_silent() {
    let set = RuleSet::builtin().unwrap();
    assert_eq!(set.evaluate(&Facts::default()).unwrap(), []);
    let empty = Facts::of_image(ImageFacts::default(), vec![], &Stack::default());
    assert_eq!(set.evaluate(&empty).unwrap(), []);
    let subjects = [
        "torch", "cudnn", "python", "os", "ngc", "vllm", "device", "flavour", "nccl", "rocm",
    ];
    let claims = subjects.iter().map(|subject| claim(subject, "2")).collect();
    let reference = Facts::of_reference(named("team/image", "2"), claims);
    assert_eq!(set.evaluate(&reference).unwrap(), []);
}

#[test]
fn a_fingerprint_survives_a_rebuild_and_a_new_tag() {
    let set = RuleSet::builtin().unwrap();
    let fingerprint = |torch: &str, claims| {
        set.evaluate(&image(torch, claims)).unwrap()[0]
            .fingerprint
            .clone()
    };
    let first = fingerprint("2.8.0", vec![claim("torch", "2.9")]);
    assert_eq!(first, fingerprint("2.8.1", vec![claim("torch", "2.10")]));
    let two = set
        .evaluate(&image(
            "2.8.0",
            vec![claim("torch", "2.9"), claim("torch", "2.10")],
        ))
        .unwrap();
    assert_ne!(two[0].fingerprint, two[1].fingerprint);
}

#[test]
fn findings_come_worst_first() {
    let set = RuleSet::builtin().unwrap();
    let facts = Facts {
        claims: vec![claim("torch", "2.9"), claim("os", "ubuntu22.04")],
        ..image("2.8.0", vec![])
    };
    let mut image = facts.image.clone();
    image.tag = Some("latest".to_owned());
    let findings = set.evaluate(&Facts { image, ..facts }).unwrap();
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Note]);
}
