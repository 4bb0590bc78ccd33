//! GitLab's code quality report: an array of Code Climate issues
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use serde::Serialize;

use super::details::{Unique, details, gap_text};
use super::{Report, Subject, Verdict, escape, one_line};
use imgcheck_base::digest;
use imgcheck_base::lexical;
use imgcheck_model::finding::{Finding, Severity};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

/// The findings that count. An image that could not be read is a blocker.
pub fn report(report: &Report) -> serde_json::Result<String> {
    let mut issues = Vec::new();
    let mut seen = Unique::default();
    for unread in report.errors {
        issues.push(Issue {
            description: one_line(&format!(
                "{} could not be read: {}",
                unread.image,
                escape::unwrapped(&unread.error)
            )),
            check_name: "unreadable".to_owned(),
            fingerprint: digest::sha256(unread.image.as_bytes()),
            severity: "blocker",
            location: place(&unread.image, 1),
        });
    }
    for subject in report.subjects() {
        for finding in subject.findings() {
            issues.push(Issue {
                description: description(subject, finding),
                check_name: finding.rule.clone(),
                // GitLab shows one issue for each fingerprint.
                fingerprint: seen.name(finding.fingerprint.clone(), "-"),
                severity: match finding.severity {
                    Severity::Error => "critical",
                    Severity::Warning => "major",
                    Severity::Note => "info",
                },
                location: match (&finding.location, &finding.path) {
                    (Some(at), _) => place(&at.file, at.line),
                    (None, Some(path)) => place(&lexical::normalized(path), 1),
                    (None, None) => place(&lexical::normalized(subject.name()), 1),
                },
            });
        }
        for gap in subject.gaps() {
            let about = format!("{} {}", subject.name(), gap_text(gap));
            issues.push(Issue {
                description: one_line(&format!("{}: not judged: {}", subject.name(), gap.message)),
                check_name: gap.code.to_string(),
                fingerprint: seen.name(digest::sha256(about.as_bytes()), "-"),
                severity: match subject.verdict() {
                    Verdict::Incomplete => "blocker",
                    Verdict::Pass | Verdict::Fail => "minor",
                },
                location: place(
                    &lexical::normalized(gap.path.as_deref().unwrap_or(subject.name())),
                    1,
                ),
            });
        }
    }
    escape::json(&issues)
}

/// A location; GitLab requires a relative path.
fn place(path: &str, line: usize) -> Location {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    Location {
        path: one_line(path),
        lines: Lines { begin: line.max(1) },
    }
}

fn description(subject: Subject, finding: &Finding) -> String {
    let help = details(subject.facts(), finding)
        .into_iter()
        .find(|(name, _)| *name == "help");
    let help = help.map_or_else(String::new, |(_, help)| {
        format!(". Help: {}", escape::unwrapped(&help))
    });
    one_line(&format!("{}: {}{help}", subject.name(), finding.message))
}
