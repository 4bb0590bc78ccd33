//! SARIF 2.1.0, for GitHub code scanning, editors and viewers.
//!
//! A path in an image is relative to a base that stands for the image's root and has no place on this machine; the layer
//! is a logical location. An image that could not be read or judged makes the invocation unsuccessful, so that it cannot pass.

mod locations;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use super::details::{Unique, detail_lines, gap_text, ignore_text};
use super::{Report, Subject, Verdict, escape, one_line, printable};
use imgcheck_base::excerpt::shortened;
use imgcheck_model::finding::{Confidence, Finding, IgnoreReason, Severity};
use imgcheck_rules::rules::{Rule, pages};
use model::*;
use serde::Serialize;

pub(super) use locations::repository_uri;

/// The schema of the format.
pub(super) const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// imgcheck and some rules, as the `driver` of a run.
pub(super) fn tool<'r>(rules: impl Iterator<Item = &'r Rule>) -> impl Serialize {
    driver(rules)
}

/// A text of a message, without placeholders and links.
pub(super) fn message_text(text: &str) -> impl Serialize {
    plain(text)
}

/// The report as a SARIF log with one run.
pub fn report(report: &Report) -> serde_json::Result<String> {
    let rules = rules_of(report);
    let mut results = Vec::new();
    let mut seen = Unique::default();
    let mut bases = BTreeMap::new();
    for (index, subject) in report.subjects().enumerate() {
        if let Subject::Image(_) = subject {
            let text = format!("Root directory of {}", one_line(subject.name()));
            let description = Text { text };
            bases.insert(locations::base_id(index), BaseId { description });
        }
        let active = subject.findings().iter().map(|finding| (finding, None));
        let ignored = subject.ignored().iter();
        let ignored = ignored.map(|ignored| (&ignored.finding, Some(&ignored.ignore)));
        for (finding, ignore) in active.chain(ignored) {
            results.push(SarifResult {
                rule_id: finding.rule.clone(),
                rule_index: rules.iter().position(|rule| rule.id == finding.rule),
                level: finding.severity.as_str(),
                message: message(subject, finding),
                locations: [locations::location(index, subject, finding)],
                partial_fingerprints: locations::fingerprints(&mut seen, subject, finding),
                suppressions: ignore.map(suppression).into_iter().collect(),
                properties: ResultProperties {
                    subject: subject.name().to_owned(),
                    confidence: confidence(finding.confidence),
                },
            });
        }
    }
    escape::json(&Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: driver(rules.into_iter()),
            },
            invocations: [invocation(report)],
            original_uri_base_ids: bases,
            // Columns of findings count characters.
            column_kind: "unicodeCodePoints",
            results,
        }],
    })
}

/// The rules that have results. The others would make a log of a few findings some hundred kilobytes long.
fn rules_of<'r>(report: &Report<'r>) -> Vec<&'r Rule> {
    let mut named = BTreeSet::new();
    for subject in report.subjects() {
        named.extend(subject.findings().iter().map(|it| it.rule.as_str()));
        named.extend(subject.ignored().iter().map(|it| it.finding.rule.as_str()));
    }
    let rules = report.rules.rules();
    rules
        .filter(|rule| named.contains(rule.id.as_str()))
        .collect()
}

fn suppression(ignore: &IgnoreReason) -> Suppression {
    Suppression {
        kind: "external",
        justification: one_line(&ignore_text(ignore)),
    }
}

fn driver<'r>(rules: impl Iterator<Item = &'r Rule>) -> Driver {
    Driver {
        name: "imgcheck",
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: "https://github.com/imgcheck/imgcheck",
        rules: rules.map(descriptor).collect(),
    }
}

fn descriptor(rule: &Rule) -> Descriptor {
    let paragraph = rule.why.split("\n\n").next().unwrap_or_default();
    let level = pages::severity(rule);
    let group = rule.id.split('-').next().unwrap_or_default();
    Descriptor {
        id: rule.id.clone(),
        name: rule.id.split('-').map(capitalised).collect(),
        short_description: Text {
            text: rule.title.clone(),
        },
        full_description: Text {
            text: shortened(&paragraph.replace('\n', " "), 1000),
        },
        help: Help {
            text: rule.why.trim_end().to_owned(),
            markdown: pages::reason(rule),
        },
        help_uri: rule.url(),
        default_configuration: Configuration {
            level: level.as_str(),
        },
        properties: RuleProperties {
            precision: confidence(pages::confidence(rule)),
            problem_severity: match level {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "recommendation",
            },
            tags: vec![group.to_owned()],
        },
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

fn invocation(report: &Report) -> Invocation {
    let unread = report.errors.iter().map(|unread| Notification {
        level: "error",
        message: plain(&format!(
            "{} could not be read: {}",
            one_line(&unread.image),
            unread.error
        )),
    });
    let incomplete = |subject: &Subject| subject.verdict() == Verdict::Incomplete;
    let gaps = report.subjects().flat_map(|subject| {
        let level = if incomplete(&subject) {
            "error"
        } else {
            "warning"
        };
        let gaps = subject.gaps().iter();
        gaps.map(move |gap| Notification {
            level,
            message: plain(&format!(
                "{}: not judged: {}",
                one_line(subject.name()),
                gap_text(gap)
            )),
        })
    });
    Invocation {
        execution_successful: report.errors.is_empty()
            && !report.subjects().any(|it| incomplete(&it)),
        tool_execution_notifications: unread.chain(gaps).collect(),
        properties: InvocationProperties {
            knowledge: report.knowledge.date.clone(),
            configuration: report.configuration.map(str::to_owned),
        },
    }
}

/// The message first, because lists show only the first sentence, then the subject and the details.
fn message(subject: Subject, finding: &Finding) -> Text {
    let (message, name) = (one_line(&finding.message), one_line(subject.name()));
    let mut text = format!("{message}\n\nin: {name}");
    for detail in detail_lines(subject, finding) {
        text.push_str(&format!("\n{detail}"));
    }
    plain(&text)
}

/// A text without placeholders and links (sections 3.11.5 and 3.11.6). Other braces are kept, because many viewers show
/// doubled ones.
fn plain(text: &str) -> Text {
    let mut text = without_placeholders(&printable(text));
    if text.contains("](") {
        text = text
            .replace('\\', "\\\\")
            .replace('[', "\\[")
            .replace(']', "\\]");
    }
    Text { text }
}

/// Doubles the braces of `{0}`, which would be a placeholder for an argument of the message.
fn without_placeholders(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        let digits = from[1..].bytes().take_while(u8::is_ascii_digit).count();
        let placeholder = from.get(..digits + 2);
        let placeholder = placeholder.filter(|it| digits > 0 && it.ends_with('}'));
        let piece = placeholder.unwrap_or("{");
        written.push_str(before);
        match placeholder {
            Some(_) => written.push_str(&format!("{{{piece}}}")),
            None => written.push_str(piece),
        }
        rest = &from[piece.len()..];
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_contain_no_placeholders_or_links() {
        let text = |text| plain(text).text;
        assert_eq!(text("{0} {} {x} {12}é{3"), "{{0}} {} {x} {{12}}é{3");
        assert_eq!(text("\u{7}"), "\\u{{7}}");
        assert_eq!(text("[a](javascript:b)"), "\\[a\\](javascript:b)");
        assert_eq!(text("a[0]"), "a[0]");
    }
}
