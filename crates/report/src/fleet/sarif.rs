//! SARIF 2.1.0: one result a finding. Results are written as they arrive; the rules and the failures follow at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::record::{FleetFinding, FleetRecord, FleetStatus};
use super::writer::{FleetTotals, JudgedBy, Sink, Writer};
use crate::{Verdict, one_line, safe_json, sarif};
use imgcheck_base::digest;

/// How many references that failed or are incomplete are named; the others are counted.
const NAMED: usize = 1_000;

/// Writes SARIF.
pub(super) struct Sarif {
    sink: Sink,
    /// The rules that have results, with their index in the list of rules.
    rules: BTreeMap<String, usize>,
    notifications: Vec<serde_json::Value>,
    /// Notifications that are not named.
    more: u64,
    incomplete: u64,
    judged_by: JudgedBy,
}

impl Sarif {
    pub(super) fn new(mut sink: Sink, judged_by: &JudgedBy) -> io::Result<Self> {
        write!(
            sink,
            r#"{{"$schema":"{}","version":"2.1.0","runs":[{{"columnKind":"unicodeCodePoints","results":["#,
            sarif::SCHEMA
        )?;
        Ok(Sarif {
            sink,
            rules: BTreeMap::new(),
            notifications: Vec::new(),
            more: 0,
            incomplete: 0,
            judged_by: judged_by.clone(),
        })
    }

    fn result(&mut self, record: &FleetRecord, finding: &FleetFinding) -> io::Result<()> {
        let reference = one_line(&record.reference);
        let message = format!("{}\n\nin: {reference}", one_line(&finding.message));
        let before = if self.rules.is_empty() { "\n" } else { ",\n" };
        let next = self.rules.len();
        let index = *self.rules.entry(finding.rule.clone()).or_insert(next);
        let result = json!({
            "ruleId": finding.rule,
            "ruleIndex": index,
            "level": finding.severity.as_str(),
            "message": sarif::message_text(&message),
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": {"uri": sarif::repository_uri(&record.reference)},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{
                    "name": reference,
                    "fullyQualifiedName": match &record.digest {
                        Some(digest) => format!("{reference}@{}", one_line(digest)),
                        None => reference.clone(),
                    },
                    "kind": "image",
                }],
            }],
            "partialFingerprints": {"imgcheck/fleet/v1": fingerprint(record, finding)},
            "properties": {"subject": reference, "platform": record.platform, "pods": record.pods},
        });
        write!(self.sink, "{before}{}", text(&result)?)
    }

    /// imgcheck and the rules that have results.
    fn driver(&self) -> impl Serialize {
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_unstable_by_key(|(_, index)| **index);
        let known = &self.judged_by.rules;
        sarif::tool(rules.into_iter().filter_map(|(id, _)| known.get(id)))
    }

    fn notify(&mut self, level: &str, message: &str) {
        match self.notifications.len() < NAMED {
            true => self
                .notifications
                .push(json!({"level": level, "message": sarif::message_text(message)})),
            false => self.more += 1,
        }
    }
}

impl Writer for Sarif {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        let reference = one_line(&record.reference);
        let code = record.code.as_deref().unwrap_or_default();
        let message = record.message.as_deref().unwrap_or_default();
        match record.status {
            FleetStatus::Failed => {
                self.notify("error", &format!("{reference} failed: {code}: {message}"));
            }
            FleetStatus::Skipped => {
                self.notify(
                    "note",
                    &format!("{reference} was skipped: {code}: {message}"),
                );
            }
            FleetStatus::Judged => {}
        }
        if record.verdict == Some(Verdict::Incomplete) {
            self.incomplete += 1;
            let gaps: Vec<&str> = record.gaps.iter().map(|gap| gap.as_str()).collect();
            self.notify(
                "error",
                &format!("{reference}: not judged: {}", gaps.join(", ")),
            );
        }
        for finding in &record.findings {
            self.result(record, finding)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, totals: &FleetTotals) -> io::Result<()> {
        let mut notifications = std::mem::take(&mut self.notifications);
        let unread = totals.unread.iter().take(NAMED);
        notifications
            .extend(unread.map(
                |it| json!({"level": "error", "message": sarif::message_text(&one_line(it))}),
            ));
        if self.more > 0 {
            let text = format!(
                "{} more references failed, were skipped, or are incomplete: they are not named here",
                self.more
            );
            notifications.push(json!({"level": "error", "message": {"text": text}}));
        }
        let invocation = json!({
            "executionSuccessful": totals.complete && totals.failed == 0 && self.incomplete == 0,
            "toolExecutionNotifications": notifications,
            "properties": {
                "knowledge": self.judged_by.knowledge,
                "configuration": self.judged_by.configuration,
                "listed": totals.listed,
                "judged": totals.judged,
                "failed": totals.failed,
                "skipped": totals.skipped,
                "complete": totals.complete,
            },
        });
        let (invocation, driver) = (text(&invocation)?, text(&self.driver())?);
        writeln!(
            self.sink,
            "\n],\"invocations\":[{invocation}],\"tool\":{{\"driver\":{driver}}}}}]}}"
        )?;
        self.sink.flush()
    }
}

fn text(value: &impl Serialize) -> io::Result<String> {
    Ok(safe_json(&serde_json::to_string(value)?))
}

/// The fingerprint: equal for the same rule, component and reference, and stable over rebuilds.
fn fingerprint(record: &FleetRecord, finding: &FleetFinding) -> String {
    let component = finding.component.as_deref().unwrap_or_default();
    let pieces = [
        record.reference.as_str(),
        &record.platform,
        &finding.rule,
        component,
    ];
    let digest = digest::sha256(pieces.join("\n").as_bytes());
    digest
        .trim_start_matches("sha256:")
        .chars()
        .take(32)
        .collect()
}
