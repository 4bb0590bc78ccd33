#![allow(clippy::unwrap_used)]
mod image_patterns;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use imgcheck_base::error::Result;
use imgcheck_base::version;
use imgcheck_model::finding::{Confidence, Finding, Location, Severity};

const CONFIG: &str = r#"
fail-on: warning
rules: [ci/rules]
severities: {claim-floating-tag: warning, cuda-*: off, cuda-duplicate: note}
targets:
  - {name: training, gpus: [a100, h100], driver: 535.183.06}
expect: ["torch==2.8.*", "cudnn>=9.7"]
stacks:
  - {name: current, torch: "2.8.*", cuda: 12.10, cudnn: ">=9.7"}
  - {torch: none}
consistent: [cudnn, nccl]
ignore:
  - rule: load-*
    image: "registry.example/team/*"
    path: "/opt/legacy/*"
    reason: "vendor image"
    expires: 2027-03-01
  - {rule: cuda-duplicate, reason: harmless}
baseline: known.json
"#;

fn read(text: &str) -> Result<Config> {
    let tables = imgcheck_model::knowledge::targets().unwrap();
    Config::read(".imgcheck.yaml", text, Path::new("team"), &tables)
}

fn finding(rule: &str, path: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity: Severity::Error,
        confidence: Confidence::High,
        message: String::new(),
        claim: None,
        help: None,
        path: Some(path.to_owned()),
        layer: None,
        location: None,
        evidence: Vec::new(),
        fingerprint: format!("{rule}{path}"),
        docs: String::new(),
    }
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

const IMAGE: &str = "registry.example/team/train:1";

#[test]
fn every_key_is_read() {
    let config = read(CONFIG).unwrap();
    let policy = &config.policy;
    assert_eq!(policy.fail_on, Some(Severity::Warning));
    assert_eq!(config.rules, [Path::new("team/ci/rules")]);
    assert_eq!(
        config.baseline.as_deref(),
        Some(Path::new("team/known.json"))
    );
    assert_eq!(policy.severities.len(), 3);
    assert_eq!(policy.targets[0].gpus, ["a100", "h100"]);
    assert_eq!(policy.targets[0].driver.as_deref(), Some("535.183.06"));
    assert_eq!(policy.expectations[1].origin, ".imgcheck.yaml:7");
    assert_eq!(policy.expectations[1].specifier, ">=9.7");
    assert_eq!(policy.stacks[0].name, "current");
    let cuda = &policy.stacks[0].parts[1];
    assert_eq!(
        (cuda.name.as_str(), cuda.specifier.as_str()),
        ("cuda", "==12.10")
    );
    assert_eq!(policy.stacks[1].name, "torch none");
    assert_eq!(policy.stacks[1].parts[0].specifier, "");
    assert_eq!(policy.consistent, ["cudnn", "nccl"]);
    let place = &policy.ignores[0].location;
    assert_eq!((place.line, place.column, place.end_column), (13, 11, 17));
    assert_eq!(place.text, "  - rule: load-*");
    assert_eq!(policy.ignores[0].expires, Some(day("2027-03-01")));
}

#[test]
fn an_empty_file_asks_for_nothing() {
    for text in ["", "# nothing yet\n", "---\n", "{}\n", "expect:\nignore:\n"] {
        let policy = read(text)
            .unwrap_or_else(|error| panic!("{text:?}: {error}"))
            .policy;
        assert_eq!(policy.fail_on, Some(Severity::Error));
        assert!(policy.expectations.is_empty() && policy.ignores.is_empty());
    }
}

#[test]
fn severities_change_and_rules_can_be_off() {
    let policy = read(CONFIG).unwrap().policy;
    let ids = [
        "claim-floating-tag",
        "cuda-majors-mixed",
        "cuda-duplicate",
        "claim-os",
    ];
    let found = ids.map(|id| finding(id, "/x")).to_vec();
    let policy = Policy {
        ignores: Vec::new(),
        ..policy
    };
    let judged = policy.apply(found, IMAGE, day("2026-01-01"));
    let left: Vec<_> = judged
        .findings
        .iter()
        .map(|it| (it.rule.as_str(), it.severity))
        .collect();
    // The very rule counts before the pattern, wherever it is written.
    let expected = [
        ("claim-floating-tag", Severity::Warning),
        ("cuda-duplicate", Severity::Note),
        ("claim-os", Severity::Error),
    ];
    assert_eq!(left, expected);
    assert!(judged.ignored.is_empty());
}

#[test]
fn an_ignore_holds_for_its_rule_image_path_and_time() {
    let policy = read(CONFIG).unwrap().policy;
    let ignored = |rule: &str, path: &str, image: &str, today: &str| {
        let judged = policy.apply(vec![finding(rule, path)], image, day(today));
        judged.ignored.first().map(|it| it.ignore.reason.clone())
    };
    let legacy = "/opt/legacy/lib/a.so";
    let reason = Some("vendor image".to_owned());
    assert_eq!(
        ignored("load-missing-library", legacy, IMAGE, "2027-03-01"),
        reason
    );
    assert_eq!(
        ignored("load-missing-library", legacy, IMAGE, "2027-03-02"),
        None
    );
    assert_eq!(
        ignored("load-missing-library", "/opt/new/a.so", IMAGE, "2027-03-01"),
        None
    );
    assert_eq!(
        ignored("load-missing-library", legacy, "team/train:1", "2027-03-01"),
        None
    );
    assert_eq!(
        ignored("torch-cudnn-runtime", legacy, IMAGE, "2027-03-01"),
        None
    );
}

#[test]
fn a_finding_without_a_path_has_that_of_its_place() {
    let ignore = read("ignore: [{rule: lint-*, path: docker/*, reason: old}]").unwrap();
    let mut located = finding("lint-stub-path", "");
    located.path = None;
    located.location = Some(Location {
        file: "docker/Dockerfile".to_owned(),
        line: 1,
        column: 1,
        end_column: 2,
        text: String::new(),
    });
    let judged = ignore
        .policy
        .apply(vec![located], "docker/Dockerfile", day("2026-01-01"));
    assert_eq!((judged.findings.len(), judged.ignored.len()), (0, 1));
}

fn images<'n>(typed: &'n [&'n str]) -> Subjects<'n> {
    Subjects::Images {
        typed,
        recorded: &[],
    }
}

#[test]
fn an_ignore_that_matches_only_a_recorded_name_is_reported_with_it() {
    let text = "ignore:\n  - {rule: load-*, image: \"team/*\", reason: a}\n  - {rule: lint-*, image: \"team/*\", reason: b}\n  \
                - {rule: load-*, reason: c}\n";
    let policy = read(text).unwrap().policy;
    let recorded = |typed: &[&str]| {
        let subjects = Subjects::Images {
            typed,
            recorded: &["other:1", "team/a:1"],
        };
        let facts = policy.ignore_facts(subjects, &BTreeSet::new(), day("2028-01-01"));
        let ignores = facts.ignores.unwrap().into_iter();
        ignores.map(|it| it.recorded).collect::<Vec<String>>()
    };
    assert_eq!(recorded(&["image.tar"]), ["team/a:1", "", ""]);
    assert_eq!(recorded(&["team/a:1"]), ["", "", ""]);
    assert_eq!(recorded(&["image.tar", "team/b:1"]), ["", "", ""]);
}

#[test]
fn ignores_are_reported_as_used_concerned_and_expired() {
    let policy = read(CONFIG).unwrap().policy;
    let today = day("2028-01-01");
    let used = policy
        .apply(vec![finding("cuda-duplicate", "/x")], IMAGE, today)
        .used;
    let facts = policy
        .ignore_facts(images(&["other:1"]), &used, today)
        .ignores
        .unwrap();
    let flags: Vec<_> = facts
        .iter()
        .map(|it| (it.expired, it.concerned, it.used))
        .collect();
    assert_eq!(flags, [(true, false, false), (false, true, true)]);
}

#[test]
fn ignores_of_rules_about_files_concern_calls_about_files() {
    let policy = read("ignore:\n  - {rule: lint-*, reason: a}\n  - {rule: lint-stub-path, path: docker/*, reason: b}\n  - {rule: load-*, reason: c}\n").unwrap().policy;
    let concerned = |subjects: Subjects| {
        let facts = policy.ignore_facts(subjects, &BTreeSet::new(), day("2028-01-01"));
        let ignores = facts.ignores.unwrap();
        ignores.iter().map(|it| it.concerned).collect::<Vec<bool>>()
    };
    assert_eq!(concerned(images(&[IMAGE])), [false, false, true]);
    assert_eq!(
        concerned(Subjects::Files(&["Dockerfile"])),
        [true, false, false]
    );
    assert_eq!(
        concerned(Subjects::Files(&["a", "docker/a"])),
        [true, true, false]
    );
}

#[test]
fn a_finding_that_has_become_worse_is_not_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.json");
    let load = |text: String| {
        fs::write(&path, text).unwrap();
        Baseline::load(&path).unwrap()
    };
    let with = |severity| Finding {
        severity,
        ..finding("x", "/x")
    };
    let all = [Severity::Note, Severity::Warning, Severity::Error];
    let known =
        |baseline: &Baseline| all.map(|severity| baseline.reason(&with(severity)).is_some());
    let warning = with(Severity::Warning);
    let note = with(Severity::Note);
    let written = Baseline::text([("a", &warning), ("b", &note)].into_iter()).unwrap();
    assert!(written.contains("\"severity\": \"warning\""), "{written}");
    assert_eq!(known(&load(written)), [true, true, false]);
    let report = r#"{"schema": "imgcheck/report/v1", "images": [{"findings": [{"fingerprint": "x/x", "severity": "note"}]}]}"#;
    assert_eq!(known(&load(report.to_owned())), [true, false, false]);
    let old = r#"{"schema": "imgcheck/baseline/v1", "findings": [{"fingerprint": "x/x"}]}"#;
    assert_eq!(known(&load(old.to_owned())), [true; 3]);
}

#[cfg(unix)]
#[test]
fn a_baseline_may_come_from_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            fs::write(
                pipe,
                r#"{"schema": "imgcheck/baseline/v1", "findings": [{"fingerprint": "x/x"}]}"#,
            )
        }
    });
    assert!(
        Baseline::load(&pipe)
            .unwrap()
            .reason(&finding("x", "/x"))
            .is_some()
    );
    writer.join().unwrap().unwrap();
    let error = Baseline::load(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("directory") && !error.contains("not found"),
        "{error}"
    );
}

#[test]
fn the_baseline_suppresses_known_findings() {
    let known = finding("load-missing-library", "/a");
    let text = Baseline::text([("image", &known)].into_iter()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.json");
    fs::write(&path, text).unwrap();
    let policy = Policy {
        baseline: Baseline::load(&path).unwrap(),
        ..Policy::default()
    };
    let found = vec![known.clone(), finding("load-missing-library", "/b")];
    let judged = policy.apply(found, IMAGE, day("2026-01-01"));
    assert_eq!(judged.findings[0].path.as_deref(), Some("/b"));
    assert_eq!(judged.ignored[0].ignore.reason, baseline::REASON);
}

#[test]
fn a_report_is_a_baseline_without_what_the_configuration_ignored() {
    let report = r#"{"schema": "imgcheck/report/v1", "images": [{
        "findings": [{"fingerprint": "a"}],
        "ignored": [{"fingerprint": "b", "ignore": {"reason": "vendor image"}},
                    {"fingerprint": "c", "ignore": {"reason": "in the baseline"}}]}]}"#;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    fs::write(&path, report).unwrap();
    let baseline = Baseline::load(&path).unwrap();
    let knows = |fingerprint: &str| {
        let mut finding = finding("x", "/x");
        finding.fingerprint = fingerprint.to_owned();
        baseline.reason(&finding).is_some()
    };
    assert_eq!(["a", "b", "c"].map(knows), [true, false, true]);
}

#[test]
fn an_invalid_baseline_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.json");
    let refused = || Baseline::load(&path).unwrap_err().to_string();
    assert!(refused().contains("file not found"));
    for text in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"schema": "imgcheck/facts/v1"}"#,
        r#"{"schema": "imgcheck/report/v1", "images": [{"findings": [{}]}]}"#,
    ] {
        fs::write(&path, text).unwrap();
        let error = refused();
        assert!(
            error.contains("known.json") && error.contains("--write-baseline"),
            "{error}"
        );
    }
}

#[test]
fn requirements_are_checked_when_they_are_read() {
    let wrong = |text: &str| Requirement::parse(text).unwrap_err();
    assert_eq!(wrong("pytorch==2.8").help, "did you mean `torch`?");
    assert_eq!(Requirement::parse("Cu_DN==9").unwrap().name, "cu-dn");
    assert_eq!(wrong("torch").problem, "`torch` has no version");
    assert!(
        wrong("torch=>2.8")
            .problem
            .contains("invalid version specifier")
    );
    assert!(wrong("cuda>=12.8.1").problem.contains("major and minor"));
    for text in ["os>=22.04", "os~=22.04", "os==22.*", "os==ubuntu22.04,<24"] {
        let wrong = wrong(text);
        assert!(wrong.problem.contains("have no order"), "{text}: {wrong:?}");
        assert!(wrong.help.contains("os==ubuntu22.04"));
    }
    assert!(Requirement::of_stack("os", ">=22.04").is_err());
    assert!(
        Requirement::parse("os==ubuntu22.04").is_ok() && Requirement::parse("os!=debian11").is_ok()
    );
    let python = Requirement::parse("python == 3.11").unwrap();
    assert_eq!(
        (python.name.as_str(), python.specifier.as_str()),
        ("python", "== 3.11")
    );
}

proptest! {
    /// Any file is read, or rejected with its name.
    #[test]
    fn no_file_panics(from in 0usize..600, length in 0usize..40, instead in ".{0,12}") {
        let whole: Vec<char> = CONFIG.chars().collect();
        let from = from.min(whole.len());
        let to = (from + length).min(whole.len());
        let text: String = whole[..from].iter().copied().chain(instead.chars()).chain(whole[to..].iter().copied()).collect();
        for text in [text, instead] {
            if let Err(error) = read(&text) {
                prop_assert!(error.to_string().contains(".imgcheck.yaml"), "{}", error);
                prop_assert_eq!(error.exit_code(), 2);
            }
        }
    }

    #[test]
    fn no_expectation_panics(text in "[a-z=<>!~.*, 0-9-]{0,24}|.{0,16}") {
        if let Ok(expectation) = Expectation::parse(&text, "--expect") {
            // What is accepted can be evaluated.
            prop_assert!(version::fits("1.2", &expectation.specifier).is_ok());
        }
    }
}
