//! What a container starts: the cases of `testdata/launch`, as imgcheck, bash, dash and a real chroot start them.

pub mod archive;
mod bench;
mod case;
mod chroot;
mod format;
mod generated;
mod hostile;
mod model;
mod refused;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use testkit::tools::say;

use crate::program::repository;
use bench::Bench;
use case::{Case, File, Kind, cases};
use chroot::Chroot;
use model::{OBJECT, RULES};

/// Checks the cases that `is_one` chooses; a failure does not hide the others.
fn all(is_one: impl Fn(&Case) -> bool, mut check: impl FnMut(&Case) -> Vec<String>) {
    let (cases, _) = cases();
    let cases: Vec<Case> = cases.into_iter().filter(is_one).collect();
    assert!(!cases.is_empty());
    let mut checked = |case: &Case| {
        let result = catch_unwind(AssertUnwindSafe(|| check(case)));
        result.unwrap_or_else(|_| vec![format!("{}: panics", case.title)])
    };
    let wrong: Vec<String> = cases.iter().flat_map(&mut checked).collect();
    let (count, all) = (wrong.len(), cases.len());
    assert!(
        wrong.is_empty(),
        "{all} cases, {count} problems\n{}",
        wrong.join("\n\n")
    );
}

fn is_modeled(case: &Case) -> bool {
    !case.expects("strict") && !case.expects("shells")
}

#[test]
fn the_model_says_what_is_expected() {
    all(is_modeled, |case| {
        let mut found = model::found(case);
        for key in ["loaded", "chroot"].map(str::to_owned) {
            let expected = case.expect.as_ref().and_then(|it| it.get(&key));
            found[key] = expected.cloned().unwrap_or_default();
        }
        case.differences(&found)
    });
}

#[test]
fn a_strict_check_says_what_is_expected() {
    all(
        |case| case.expects("strict"),
        |case| case.differences(&archive::found(case)),
    );
}

#[test]
fn shells_do_as_the_model_says() {
    all(
        |case| case.expects("shells"),
        |case| {
            let bench = Bench::new(case);
            let (mut understood, mut wrong) = (Vec::new(), Vec::new());
            for shell in ["bash", "dash"] {
                match bench.compare(shell) {
                    Ok(true) => understood.push(shell),
                    Ok(false) => {}
                    Err(difference) => wrong.push(format!("{}: {difference}", case.title)),
                }
            }
            if wrong.is_empty() {
                wrong = case.differences(&json!({"shells": understood}));
            }
            wrong
        },
    );
}

/// No way to load something else quietly passes: the model reports what is really loaded, or a gap or a rule.
#[test]
fn a_chroot_does_as_expected() {
    let mut chroot = None;
    let mut compared = 0;
    let page = fs::read_to_string(repository("testdata/launch/quiet-ways.md")).unwrap_or_default();
    all(
        |case| case.expects("loaded"),
        |case| {
            let expect = case.expect.as_ref().unwrap();
            let text = |key: &str| expect.get(key).and_then(Value::as_str);
            let loaded = text("loaded").unwrap_or_default();
            let reported = expect.get("reported").and_then(Value::as_array);
            let reported: Vec<&str> = reported
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let runs = expect.get("chroot") != Some(&json!(false));
            let mut wrong = Vec::new();
            if !reported.contains(&loaded) && !reported.iter().any(|it| is_gap_or_rule(it)) {
                wrong.push(format!("{}: passes what is not loaded", case.title));
            }
            let row = row(&case.name, loaded, reported.first().unwrap_or(&""), runs);
            if !page.contains(&row) {
                wrong.push(format!("testdata/launch/quiet-ways.md has no row\n{row}"));
            }
            let chroot = chroot.get_or_insert_with(|| real(case));
            if let Some(chroot) = chroot.as_ref().filter(|_| runs) {
                let real = chroot.run(case);
                compared += 1;
                if !real.contains(loaded) {
                    wrong.push(format!(
                        "{}: loaded is {real:?}, expected {loaded}",
                        case.title
                    ));
                }
            }
            wrong
        },
    );
    say(format_args!("{compared} cases compared with real programs"));
}

/// The programs of this machine that are those of the image.
fn real(case: &Case) -> Option<Chroot> {
    let is_program = |it: &File| it.kind == Some(Kind::Program);
    let programs = case.base.iter().filter(|(_, it)| is_program(it));
    let programs: Vec<&str> = programs.map(|(path, _)| path.as_str()).collect();
    let chroot = Chroot::new(&programs);
    if chroot.is_none() {
        say("not compared with real programs: that needs root, x86-64 and /usr/bin/python3 3.11");
    }
    chroot
}

/// A version or library that imgcheck reports beside a gap is not a pass.
fn is_gap_or_rule(reported: &str) -> bool {
    !reported.starts_with(['2', '1', '/']) && reported != "none"
}

/// The row of a case in the book.
fn row(name: &str, loaded: &str, reported: &str, runs: bool) -> String {
    let happens = match loaded {
        "2.8.0" => "the PyTorch that is installed",
        "2.6.0" => "the other PyTorch",
        "none" => "no PyTorch",
        OBJECT => "the library is loaded",
        other => other,
    };
    let compared = if runs { "" } else { " (not run in the tests)" };
    let says = match reported {
        it if it == loaded => "the same".to_owned(),
        rule if RULES.contains(&rule) => format!("error `{rule}`"),
        gap => format!("gap `{gap}`"),
    };
    format!("| {name} | {happens}{compared} | {says} |")
}
