//! How an answer is worded: warnings within what an API server passes on, and a message that says why.

use std::collections::BTreeMap;

use crate::resolve::Unresolved;
use crate::verdict::{ContainerVerdict, Fault, Judgement};
use imgcheck_base::error::ErrorCode;
use imgcheck_base::excerpt::{shortened, without_controls, without_cut_word};
use imgcheck_base::gap::Gap;
use imgcheck_model::finding::Severity;
use imgcheck_report::{UNSCHEDULABLE, Verdict};

/// The longest warning, in characters (kubernetes/api, admission/v1: more than 120 may be hard to read, more than 256 are cut).
const WARNING: usize = 120;
/// The longest word, in characters: longer ones are cut, as the API server would.
const WORD: usize = 256 - CONTINUED.len();
/// All warnings together, in characters.
const ALL_WARNINGS: usize = 4096;
/// Maximum length of the message of a denial, in characters.
const MESSAGE: usize = 2000;
/// Maximum number of node classes named for a container, and maximum lengths of a name and a reason, in characters.
const CLASSES: usize = 5;
const NAME: usize = 60;
const REASON: usize = 100;
/// The rule whose finding is the sentence about node classes.
const SOME_CLASSES: &str = "deploy-some-node-classes";
const PREFIX: &str = "imgcheck: ";
const CONTINUED: &str = "imgcheck:   ";

/// What is said about containers that do not pass, one sentence for each finding or gap.
#[derive(Default)]
pub struct Sentences {
    /// Why they do not pass: findings that fail, images that cannot be read, and gaps that count.
    pub reasons: Vec<String>,
    /// What else is wrong with them.
    pub warnings: Vec<String>,
}

/// The sentences about a judgment.
pub fn about(judgement: &Judgement, strict: bool) -> Sentences {
    about_containers(&judgement.containers.iter().collect::<Vec<_>>(), strict)
}

/// Why a container does not pass that no node is known to run.
const UNKNOWN_NODES: &str = "not judged: the GPU or the driver of the nodes that it can land on is not known; do they have the labels of GPU Feature Discovery?";

/// The sentences about containers, the worst container first.
pub fn about_containers(containers: &[&ContainerVerdict], strict: bool) -> Sentences {
    let mut containers = containers.to_vec();
    containers.retain(|it| it.verdict(strict) > Verdict::Pass);
    containers.sort_by_key(|it| std::cmp::Reverse(it.verdict(strict)));
    let warns = |it: &Fault| !it.fails && it.severity >= Severity::Warning;
    Sentences {
        reasons: containers
            .iter()
            .flat_map(|it| reasons(it, strict))
            .collect(),
        warnings: containers
            .iter()
            .flat_map(|it| findings(it, warns))
            .collect(),
    }
}

/// The findings that nothing passes with, one sentence for each.
pub fn failing(judgement: &Judgement) -> Vec<String> {
    let containers = judgement.containers.iter();
    let all = containers.flat_map(|it| findings(it, |it| it.fails));
    all.collect()
}

fn reasons(container: &ContainerVerdict, strict: bool) -> Vec<String> {
    let named = |text: &str| format!("{}: {text}", container.name);
    let mut reasons = findings(container, |it| it.fails);
    reasons.extend(container.problem.iter().map(|it| named(it)));
    let gaps = counting_gaps(container, strict);
    reasons.extend(gaps.map(|it| named(&format!("not judged ({}): {}", it.code, it.message))));
    if strict && container.verdict == Verdict::Pass && container.may_run_nowhere() {
        reasons.push(named(UNKNOWN_NODES));
    }
    reasons
}

fn findings(container: &ContainerVerdict, is_shown: impl Fn(&Fault) -> bool) -> Vec<String> {
    let findings = container.findings.iter().filter(|it| is_shown(it));
    findings.map(|it| it.sentence(&container.name)).collect()
}

/// The gaps that prevent a pass.
fn counting_gaps(container: &ContainerVerdict, strict: bool) -> impl Iterator<Item = &Gap> {
    let count = match container.verdict {
        Verdict::Pass => strict,
        Verdict::Incomplete => true,
        Verdict::Fail => false,
    };
    container.gaps.iter().filter(move |_| count)
}

/// What helps if images were judged and do not pass.
pub fn next_step_judged(judgement: &Judgement, strict: bool) -> String {
    let containers = judgement.containers.iter();
    let mut gaps = containers.flat_map(|it| counting_gaps(it, strict));
    match gaps.next() {
        Some(gap) => format!(
            "`imgcheck preflight --strict` shows the whole report; to accept what cannot be judged, add `gap: {}` with a reason under `ignore` in the configuration of the gate",
            gap.code
        ),
        None => "see `imgcheck preflight` for the whole report".to_owned(),
    }
}

/// What is said about containers that pass: their warnings, and on which of the node classes that they can land on they do not run.
pub fn partly(judgement: &Judgement) -> Vec<String> {
    let containers = judgement.containers.iter();
    let is_shown = |it: &Fault| {
        let rule = it.rule.as_str();
        UNSCHEDULABLE.contains(&rule) || it.severity >= Severity::Warning && rule != SOME_CLASSES
    };
    let warnings = containers.clone().flat_map(|it| findings(it, is_shown));
    let sentence = |it: &ContainerVerdict| {
        let (runs, all) = it.classes.filter(|_| !it.fails_on.is_empty())?;
        let shown = it.fails_on.iter().take(CLASSES);
        let shown = shown.map(|(name, why)| {
            format!(
                "{} ({})",
                shortened(name, NAME),
                without_cut_word(why, REASON)
            )
        });
        let mut shown: Vec<String> = shown.collect();
        if let more @ 1.. = it.fails_on.len().saturating_sub(CLASSES) {
            shown.push(format!("{more} more"));
        }
        let shown = shown.join(", ");
        Some(format!(
            "{}: runs on {runs} of {all} node classes, not on {shown}",
            it.name
        ))
    };
    warnings
        .chain(containers.clone().filter_map(sentence))
        .collect()
}

/// Warnings: a long sentence continues in the next warning; the last one says how much was left out.
pub fn warnings(sentences: &[String]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let mut total = 0;
    for (index, sentence) in sentences.iter().enumerate() {
        let lines = wrap(&without_controls(sentence));
        let length: usize = lines.iter().map(|line| line.chars().count()).sum();
        if total + length > ALL_WARNINGS - WARNING {
            warnings.push(format!("{PREFIX}{} more", sentences.len() - index));
            break;
        }
        total += length;
        warnings.extend(lines);
    }
    warnings
}

/// The message of a denial.
pub fn message(sentences: &[String], help: &str) -> String {
    let text: Vec<String> = sentences.iter().map(|it| without_controls(it)).collect();
    let text = without_cut_word(&text.join("; "), MESSAGE);
    format!("{PREFIX}{text}; {help}")
}

/// What helps if images have no digest, or were not read yet.
pub fn next_step(unresolved: &BTreeMap<String, Unresolved>) -> &'static str {
    let mut codes = unresolved.values().map(|it| it.code);
    match codes.find(|code| *code != ErrorCode::Timeout) {
        Some(ErrorCode::Forbidden) => {
            "trying again does not help: change the image, its credentials, or the configuration of the gate (`registries` and `internal-hosts` under `gate`)"
        }
        Some(ErrorCode::Usage) => "correct the image of the container",
        Some(ErrorCode::Unauthorized) => {
            "name a Secret that may pull it under `imagePullSecrets` of the Pod or of its ServiceAccount; the gate needs the right to read that Secret"
        }
        Some(ErrorCode::NotFound) => "correct the name of the image, or push it first",
        Some(ErrorCode::RateLimited) => {
            "its registry limits requests; log in with a pull secret, or use a mirror"
        }
        _ => "try again in a minute",
    }
}

fn wrap(sentence: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = PREFIX.to_owned();
    let mut is_empty = true;
    for word in sentence.split(' ').flat_map(|word| pieces(word, WORD)) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WARNING {
            lines.push(std::mem::replace(&mut line, CONTINUED.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// A word in pieces of at most so many characters.
fn pieces(word: &str, most: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    match letters.is_empty() {
        true => vec![String::new()],
        false => letters.chunks(most).map(|it| it.iter().collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_on_which_a_container_does_not_run_are_named() {
        let verdict = |fails: usize| {
            let class = |at: usize| (format!("a100-{at}"), "the driver is too old".to_owned());
            ContainerVerdict {
                name: "trainer".to_owned(),
                image: String::new(),
                verdict: Verdict::Pass,
                is_read: true,
                findings: Vec::new(),
                gaps: Vec::new(),
                problem: None,
                classes: Some((2, 2 + fails)),
                fails_on: (0..fails).map(class).collect(),
            }
        };
        let said = |fails: usize| {
            let containers = vec![verdict(fails)];
            partly(&Judgement::new(containers, Vec::new(), false, false))
        };
        assert_eq!(said(0), Vec::<String>::new());
        assert_eq!(
            said(1),
            ["trainer: runs on 2 of 3 node classes, not on a100-0 (the driver is too old)"]
        );
        assert!(said(7)[0].ends_with("a100-4 (the driver is too old), 2 more"));
    }

    #[test]
    fn findings_are_said_of_what_is_unread_and_of_what_passes() {
        let fault = |rule: &str, fails: bool, severity: Severity| Fault {
            rule: rule.to_owned(),
            severity,
            fails,
            message: "wrong".to_owned(),
        };
        let container = ContainerVerdict {
            name: "c".to_owned(),
            image: String::new(),
            verdict: Verdict::Fail,
            is_read: false,
            findings: vec![
                fault("claim-impossible", true, Severity::Error),
                fault("setting-slow", false, Severity::Warning),
                fault("deploy-default-shm", false, Severity::Note),
                fault(SOME_CLASSES, false, Severity::Warning),
            ],
            gaps: Vec::new(),
            problem: None,
            classes: None,
            fails_on: Vec::new(),
        };
        let judgement = Judgement::new(vec![container], Vec::new(), false, false);
        assert_eq!(failing(&judgement), ["c: wrong (claim-impossible)"]);
        let said = partly(&judgement);
        assert_eq!(
            said.last().map(String::as_str),
            Some("c: wrong (setting-slow)")
        );
    }

    #[test]
    fn warnings_stay_within_what_an_api_server_passes_on() {
        let sentence = "the image runs on none of the 3 node classes that the container can land on; a100: the driver 470.82 is older than 525.60.13 ".repeat(3);
        let long = "x".repeat(5000);
        let all = warnings(&[vec![sentence; 40], vec![long]].concat());
        assert!(all.iter().all(|it| it.chars().count() <= WARNING));
        let image = format!("registry.example/ml/torch@sha256:{}", "0".repeat(64));
        let all_of = warnings(&[format!("the image {image} does not run")]);
        assert!(all_of.iter().any(|it| it.contains(&image)), "{all_of:?}");
        let total: usize = all.iter().map(|it| it.chars().count()).sum();
        assert!(total <= ALL_WARNINGS && total > ALL_WARNINGS / 2);
        assert!(
            all.last().is_some_and(|it| it.ends_with(" more")),
            "{all:?}"
        );
        assert_eq!(warnings(&["a b".to_owned()]), ["imgcheck: a b"]);
        assert_eq!(warnings(&["a\nb".to_owned()]), ["imgcheck: a b"]);
    }
}
