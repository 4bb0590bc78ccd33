//! The built-in rules and their pages.

use super::*;
use crate::program::repository;
use imgcheck_base::bounds::Bounds;

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

/// What a help tells people to run can be pasted.
#[test]
fn commands_in_help_have_no_dots_for_what_people_must_know() {
    let commands = Regex::new(r"`(?:RUN )?(?:apt-get|conda|docker|pip|uv) [^`]*…[^`]*`").unwrap();
    let rules = repository("rules");
    let mut seen = 0;
    for folder in std::fs::read_dir(rules).unwrap() {
        let folder = folder.unwrap().path();
        let is_rules = folder.is_dir() && !folder.ends_with("knowledge");
        for rule in std::fs::read_dir(folder).unwrap().filter(|_| is_rules) {
            let text = std::fs::read_to_string(rule.unwrap().path()).unwrap();
            let help = text.split("\nhelp:").nth(1).unwrap_or_default();
            let help = help.split("\nwhy:").next().unwrap_or_default();
            assert!(!commands.is_match(help), "{help}");
            seen += usize::from(!help.is_empty());
        }
    }
    assert!(seen > 100, "{seen}");
}

/// A rule must be short enough to be read aloud: a longer join is a fact, computed and tested in Rust.
const MAX_BINDINGS: usize = 12;

/// Rules that have more, with their number. This list may only shrink.
const LONGER: &[(&str, usize)] = &[
    ("cudnn-mixed-origins", 17),
    ("cudnn-sublibrary-mismatch", 16),
    ("driver-compat-mismatch", 22),
    ("driver-compat-on-path", 18),
    ("driver-require-wrong", 23),
    ("gpu-not-covered", 19),
    ("load-missing-library", 17),
    ("nccl-conflict", 16),
    ("torch-partner-version", 16),
];

#[test]
fn a_builtin_rule_has_few_bindings() {
    let set = RuleSet::builtin().unwrap();
    let count = |rule: &Rule| rule.bindings.len() + rule.element_bindings.len();
    let longer: Vec<(&str, usize)> = set
        .rules()
        .map(|rule| (rule.id.as_str(), count(rule)))
        .filter(|(_, count)| *count > MAX_BINDINGS)
        .collect();
    let mut known = LONGER.to_vec();
    known.sort_by_key(|(id, _)| set.rules().position(|rule| rule.id == *id));
    assert_eq!(longer, known, "a join of facts belongs in Rust");
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
    let findings = set
        .evaluate(&image("2.9.0.dev1", vec![]), &Bounds::default())
        .unwrap();
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
    use imgcheck_rules::rules::shape::{Shape, json_schema_of};
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
fn a_rule_file_has_the_name_of_its_rule() {
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
    let pages = pages::all(&set);
    for entry in std::fs::read_dir(&directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            pages.iter().any(|(page, _)| *page == name),
            "docs/src/rules/{name} is the page of no rule: delete it"
        );
    }
    for (name, page) in pages {
        let committed = std::fs::read_to_string(directory.join(&name)).unwrap_or_default();
        assert!(
            committed == page,
            "docs/src/rules/{name} is stale: run `{}`",
            pages::COMMAND
        );
    }
}

#[test]
fn pages_are_written_beside_files_of_others() {
    let set = RuleSet::builtin().unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("notes.md"), "").unwrap();
    pages::write(&set, directory.path()).unwrap();
    let names = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, set.rules().count() + 3);
}

/// Both report a library that is not found; which one depends only on what `ldconfig` would do.
#[test]
fn a_cause_of_a_missing_library_is_one_of_a_stale_cache() {
    for rule in RuleSet::builtin().unwrap().rules() {
        let names = |id: &str| rule.suppresses.iter().any(|it| it == id);
        assert_eq!(
            names("load-missing-library"),
            names("load-cache-stale"),
            "{}",
            rule.id
        );
    }
}
