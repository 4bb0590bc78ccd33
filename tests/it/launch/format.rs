//! The format of the cases: what is wrong with a file or a case is an error that names it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::case::{Case, cases, read};

#[test]
fn every_case_is_well_formed() {
    let (cases, faults) = cases();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let mut titles = BTreeSet::new();
    for case in cases {
        assert!(
            titles.insert(case.title.clone()),
            "{} is there twice",
            case.title
        );
    }
}

/// The cases of a file on an image without files.
fn parse(text: &str) -> (Vec<Case>, Vec<String>) {
    let file: Value = imgcheck_base::yaml::parse("f.yaml", text).unwrap();
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    let mut add = |case: Result<Case, String>| match case {
        Ok(case) => cases.push(case),
        Err(fault) => faults.push(fault),
    };
    if let Err(fault) = read("f.yaml", file, &json!({"empty": {}}), &mut add) {
        faults.push(fault);
    }
    (cases, faults)
}

#[test]
fn a_mistake_is_an_error_that_names_the_case() {
    for (text, fault) in [
        ("cases: []", "expected the name of an image"),
        ("image: other\ncases: []", "expected the name of an image"),
        ("image: empty\ncases: []", "f.yaml: `cases` is a list"),
        ("image: empty\ncases: [text]", "f.yaml: invalid type"),
        (
            "image: empty\ncases: [{name: a}]",
            "a: a case has a name and expects",
        ),
        (
            "image: empty\ncases: [{name: a, expect: {}}]",
            "a: a case has a name and expects",
        ),
        (
            "image: empty\ncases: [{expect: {gaps: []}}]",
            "a case has a name and expects",
        ),
        (
            "image: empty\ncases: [{name: a, fils: {}, expect: {gaps: []}}]",
            "a: unknown field `fils`",
        ),
        (
            "image: empty\nfils: {}\ncases: [{name: a, expect: {gaps: []}}]",
            "f.yaml: unknown field `fils`",
        ),
        (
            "image: empty\ncases: [{name: a, config: {Comd: []}, expect: {gaps: []}}]",
            "a: unknown field `Comd`",
        ),
        (
            "image: empty\ncases: [{name: a, overlay: {arg: []}, expect: {gaps: []}}]",
            "a: unknown field `arg`",
        ),
        (
            "image: empty\ncases: [{name: a, files: {b: {txt: c}}, expect: {gaps: []}}]",
            "a: unknown field `txt`",
        ),
        (
            "image: empty\ncases: [{name: a, files: {b: {kind: elf}}, expect: {gaps: []}}]",
            "a: unknown variant `elf`",
        ),
        (
            "image: empty\ncases: [{name: a, files: {b: {mode: '9'}}, expect: {gaps: []}}]",
            "a: b: mode is not octal",
        ),
        (
            "image: empty\ncases: [{name: a, files: {b: {mode: '600'}}, expect: {gaps: []}}]",
            "a: b: expected one of",
        ),
    ] {
        let (_, faults) = parse(text);
        let is_named = |it: &String| it.contains(fault);
        assert!(faults.iter().any(is_named), "{text}\n{faults:?}");
    }
}

#[test]
fn a_mistake_does_not_hide_other_cases() {
    let (cases, faults) = parse("image: empty\ncases: [{name: a}, {name: b, expect: {gaps: []}}]");
    assert_eq!((cases.len(), faults.len()), (1, 1));
}

#[test]
fn a_case_inherits_all_but_the_expectation() {
    let (cases, faults) = parse(
        "image: empty\nfiles: {a: text, b: {kind: program}}\nconfig: {Env: {A: '1', B: '2'}}\ncases:\n\
         - {name: outer, config: {Env: {A: null}}, files: {b: other}, expect: {gaps: [x]}, cases: [{name: inner, expect: {user: app}}]}",
    );
    assert_eq!(faults, [""; 0]);
    let [outer, inner] = &cases[..] else { panic!() };
    assert_eq!(inner.title, "f.yaml: outer: inner");
    assert!(outer.expects("gaps") && inner.expects("user") && !inner.expects("gaps"));
    assert_eq!(inner.config.variables().collect::<Vec<_>>(), ["B=2"]);
    assert_eq!(inner.files["b"].text.as_deref(), Some("other"));
    assert_eq!(inner.files["a"].text.as_deref(), Some("text"));
}

/// Each kind of expectation can fail.
#[test]
fn what_was_not_found_is_a_difference() {
    let found = json!({
        "gaps": ["line 2 is odd"], "environment": {"A": "1"}, "reported": ["2.8.0", "none"], "arguments": ["a"], "strict": 0,
    });
    for (expect, differs) in [
        (json!({"gaps": ["line 2 is odd"]}), false),
        (json!({"gaps": ["*odd"]}), false),
        (json!({"gaps": ["odd"]}), true),
        (json!({"gaps": ["*even*"]}), true),
        (json!({"gaps": []}), true),
        (json!({"gaps": ["*odd", "*odd"]}), true),
        (json!({"gaps": null}), true),
        (json!({"gaps": [2]}), true),
        (json!({"environment": {"A": "1", "B": ""}}), false),
        (json!({"environment": {"A": ""}}), true),
        (json!({"environment": {"A": "2"}}), true),
        (json!({"environment": {"B": "1"}}), true),
        (json!({"environment": {}}), true),
        (json!({"reported": ["none", "2.8.0"]}), false),
        (json!({"reported": ["none"]}), true),
        (json!({"arguments": ["a"]}), false),
        (json!({"arguments": ["a", "b"]}), true),
        (json!({"strict": 3}), true),
        (json!({"gap": []}), true),
    ] {
        let (mut cases, _) = parse("image: empty\ncases: [{name: a, expect: {gaps: []}}]");
        let mut case = cases.remove(0);
        case.expect = expect.as_object().cloned();
        assert_eq!(!case.differences(&found).is_empty(), differs, "{expect}");
    }
}
