//! Images in which one thing was broken on purpose.

use std::path::Path;

use imgcheck::Checker;
use imgcheck_model::finding::{Finding, Severity};

use super::observed::{Observed, images, name, observed, report};
use testkit::tools::say;

/// What is broken, the rule that must say so, and words of its message that the real program printed. No words where the program
/// prints nothing: it dies of a signal, or goes on with wrong results.
const EXPECTED: &str = include_str!("faults.csv");

/// Everything that the real process printed, hidden errors included.
fn printed(observed: &Observed) -> String {
    let outputs = [Some(&observed.import.output), observed.hidden.as_ref()];
    let outputs = outputs.into_iter().flatten();
    outputs
        .flat_map(|output| {
            [output.stdout.as_str(), &output.stderr]
                .into_iter()
                .chain(output.loader_errors.iter().map(String::as_str))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn check(image: &Path, checker: &Checker) -> Result<(), String> {
    let expected: Vec<[&str; 3]> = EXPECTED
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.splitn(4, ';');
            let known = fields.next() == Some(name(image));
            let rest = [fields.next()?, fields.next()?, fields.next()?];
            known.then_some(rest)
        })
        .collect();
    let findings = report(checker, image).findings;
    let alarms: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
        .collect();
    let told = || {
        alarms
            .iter()
            .map(|finding| {
                format!(
                    "\n    {} {}: {}",
                    word(finding.severity),
                    finding.rule,
                    finding.message
                )
            })
            .collect::<String>()
    };
    if expected.is_empty() {
        return Err(format!(
            "nothing is said of it in faults.csv; there are:{}",
            told()
        ));
    }
    let printed = printed(&observed(image));
    for [severity, rule, words] in &expected {
        if *rule == "-" {
            continue;
        }
        let Some(finding) = findings
            .iter()
            .find(|it| it.rule == *rule && word(it.severity) == *severity)
        else {
            return Err(format!("no {severity} of {rule}; there are:{}", told()));
        };
        if !words.is_empty() {
            if !printed.contains(words) {
                return Err(format!("the real program did not print {words:?}"));
            }
            if !finding.message.contains(words) {
                return Err(format!(
                    "{rule} does not quote {words:?}: {}",
                    finding.message
                ));
            }
        }
    }
    let unexpected = alarms
        .iter()
        .find(|finding| !expected.iter().any(|[_, rule, _]| finding.rule == *rule));
    match unexpected {
        Some(finding) => Err(format!(
            "an alarm about something else, {}: {}",
            finding.rule, finding.message
        )),
        None => Ok(()),
    }
}

#[test]
fn faults_are_named_in_the_words_of_the_real_program() {
    let checker = Checker::builder().build().unwrap();
    let images = images("loader/faults");
    let wrong: Vec<String> = images
        .iter()
        .filter_map(|image| {
            Some(format!(
                "{}: {}",
                name(image),
                check(image, &checker).err()?
            ))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} wrong\n{}",
        wrong.len(),
        images.len(),
        wrong.join("\n")
    );
    say(format_args!("{} faults named", images.len()));
}
