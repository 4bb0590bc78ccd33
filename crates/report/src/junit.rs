//! JUnit XML: a test suite for each image or file, a test case for each rule that applies to it.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::details::{detail_lines, gap_text};
use super::{Report, Subject, Verdict, one_line, printable};
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_rules::rules::Rule;

/// The group of rules for Dockerfiles and similar files; all other rules are for images.
const FILE_GROUP: &str = "lint";

/// The report as JUnit XML. A test fails if its rule has a finding at or above `fail_on`; less severe findings go to its
/// output. A test is skipped if all findings of its rule are suppressed, or if it needs
/// GPUs or a driver and none was given. An image that could not be read is an error.
pub fn report(
    report: &Report,
    fail_on: Option<Severity>,
) -> Result<String, quick_junit::SerializeError> {
    let mut document = Document::new("imgcheck");
    for unread in report.errors {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status
            .set_message("could not be read")
            .set_type("unreadable")
            .set_description(printable(&unread.error));
        let mut test = TestCase::new("readable", status);
        test.set_classname("imgcheck");
        let mut suite = TestSuite::new(one_line(&unread.image));
        suite.add_test_case(test);
        document.add_test_suite(suite);
    }
    for subject in report.subjects() {
        let mut suite = TestSuite::new(one_line(subject.name()));
        if let Subject::Image(image) = subject {
            suite.set_time(Duration::from_millis(image.elapsed_ms));
        }
        let rules = report.rules.rules();
        let rules = rules.filter(|rule| applies(rule, subject, report.images.is_empty()));
        for (label, text) in report.judged_by() {
            let name = label.to_lowercase().replace(' ', "-");
            suite.add_property((name.as_str(), one_line(text).as_str()));
        }
        suite.add_test_cases(rules.map(|rule| test(rule, subject, fail_on)));
        suite.add_test_cases(judged(subject));
        document.add_test_suite(suite);
    }
    document.to_string()
}

/// A test for the gaps of an image, if it has any: an error if they prevent a pass, otherwise skipped.
fn judged(subject: Subject) -> Option<TestCase> {
    let gaps: Vec<String> = subject.gaps().iter().map(gap_text).collect();
    let first = gaps.first()?;
    let mut status = match subject.verdict() {
        Verdict::Incomplete => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Pass | Verdict::Fail => TestCaseStatus::skipped(),
    };
    status.set_message(one_line(&format!("not judged: {first}")));
    status.set_description(printable(&gaps.join("\n")));
    let mut test = TestCase::new("judged", status);
    test.set_classname("imgcheck");
    Some(test)
}

fn group(rule: &Rule) -> &str {
    rule.id.split('-').next().unwrap_or_default()
}

/// Whether a rule applies to a subject. A file beside images is the configuration, which only has the rules that found
/// something in it.
fn applies(rule: &Rule, subject: Subject, is_lint: bool) -> bool {
    let ignored = subject.ignored().iter().map(|ignored| &ignored.finding);
    let mut found = subject.findings().iter().chain(ignored);
    let is_concerned = match subject {
        Subject::Image(_) => group(rule) != FILE_GROUP,
        Subject::File(_) => group(rule) == FILE_GROUP && is_lint,
    };
    is_concerned || found.any(|finding| finding.rule == rule.id)
}

fn test(rule: &Rule, subject: Subject, fail_on: Option<Severity>) -> TestCase {
    let found: Vec<&Finding> = subject
        .findings()
        .iter()
        .filter(|finding| finding.rule == rule.id)
        .collect();
    let mut ignored = subject.ignored().iter();
    let ignored = ignored.find(|ignored| ignored.finding.rule == rule.id);
    let failing = |finding: &Finding| fail_on.is_some_and(|least| finding.severity >= least);
    let text = printable(&text(subject, &found));
    // The worst finding comes first.
    let worst = found.iter().find(|finding| failing(finding));
    let status = match (worst, ignored) {
        (Some(worst), _) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_message(one_line(&worst.message))
                .set_type(worst.severity.as_str())
                .set_description(text.clone());
            status
        }
        (None, Some(ignored)) if found.is_empty() => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(one_line(&format!("ignored: {}", ignored.ignore.reason)));
            status
        }
        (None, _) if found.is_empty() && !is_asked(rule, subject) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message("not asked: needs --gpu, --driver, --expect or a policy");
            status
        }
        (None, _) => TestCaseStatus::success(),
    };
    let mut test = TestCase::new(rule.id.as_str(), status);
    test.set_classname(format!("imgcheck.{}", group(rule)));
    if worst.is_none() && !found.is_empty() {
        test.set_system_out(text);
    }
    test
}

/// Whether a rule could apply: rules about targets or the policy need a target or a policy.
fn is_asked(rule: &Rule, subject: Subject) -> bool {
    match subject {
        Subject::Image(image) => image.questions.include(rule) != Some(false),
        Subject::File(_) => true,
    }
}

/// All findings of a rule, separated by empty lines.
fn text(subject: Subject, findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!(
            "{}: {}\n",
            finding.severity.as_str(),
            one_line(&finding.message)
        ));
        for detail in detail_lines(subject, finding) {
            text.push_str(&format!("  {detail}\n"));
        }
        if !finding.docs.is_empty() {
            text.push_str(&format!("  docs: {}\n", one_line(&finding.docs)));
        }
        text.push('\n');
    }
    text
}
