//! What is told of a finding beside its message, in the words that several formats share. Each format escapes it.

use std::fmt::Write;

use super::{Inspection, Subject, one_line, printable};
use crate::finding::{Finding, Severity};
use crate::stack::{Evidence, EvidenceKind};

/// Pieces of evidence that a finding shows, the strongest ones.
pub(super) const EVIDENCE_SHOWN: usize = 4;

/// Where a finding is, what it rests on and what to do, as names and texts in the order of reading.
pub(super) fn details(subject: Subject, finding: &Finding) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(claim) = &finding.claim {
        details.push((
            "claim",
            format!("{} {} ({})", claim.subject, claim.version, claim.origin),
        ));
    }
    if let Some(at) = &finding.location {
        details.push(("at", format!("{}:{}:{}", at.file, at.line, at.column)));
    }
    if let Some(path) = &finding.path {
        details.push(("file", path.clone()));
    }
    if let (Some(layer), Subject::Image(image)) = (finding.layer, subject) {
        details.push(("layer", layer_text(&image.facts, layer)));
    }
    for evidence in finding.evidence.iter().take(EVIDENCE_SHOWN) {
        details.push(("evidence", evidence_text(evidence, finding.path.as_deref())));
    }
    if let Some(help) = &finding.help {
        details.push(("help", help.trim_end().to_owned()));
    }
    details
}

/// The same as lines `name: text`, safe to print. Only help has more than one: its lines are those of the rule.
pub(super) fn detail_lines(subject: Subject, finding: &Finding) -> Vec<String> {
    let details = details(subject, finding).into_iter();
    let lines = details.map(|(name, text)| match name {
        "help" => format!("{name}: {}", printable(&text)),
        _ => format!("{name}: {}", one_line(&text)),
    });
    lines.collect()
}

/// That there are programs of which nothing is known; nothing if there are none.
pub(super) fn programs_left_out(number: usize) -> Option<String> {
    let words = "Programs that are linked to GPU libraries and were not examined, because there are so many";
    (number > 0).then(|| format!("{words}: {number}."))
}

/// How the image is stored and, where an engine holds it, how it was got at: `docker-daemon (storage)`.
pub(super) fn source_name(facts: &Inspection) -> String {
    let word = |value: serde_json::Result<serde_json::Value>| {
        let value = value.ok()?;
        value.as_str().map(str::to_owned)
    };
    let source = word(serde_json::to_value(facts.source)).unwrap_or_default();
    match word(serde_json::to_value(facts.access)) {
        Some(access) => format!("{source} ({access})"),
        None => source,
    }
}

/// The layer, and the build step that made it.
pub(super) fn layer_text(facts: &Inspection, layer: usize) -> String {
    match facts.layers.get(layer) {
        Some(known) if !known.created_by.is_empty() => {
            format!("{layer}, from: {}", known.created_by)
        }
        _ => layer.to_string(),
    }
}

/// What evidence says and where; `shown` is the path that was told already.
pub(super) fn evidence_text(evidence: &Evidence, shown: Option<&str>) -> String {
    let mut text = format!("{} by {}", evidence.value, kind(evidence.kind));
    if !evidence.detail.is_empty() {
        let _ = write!(text, ", {}", evidence.detail);
    }
    if shown != Some(evidence.path.as_str()) && !evidence.path.is_empty() {
        let _ = write!(text, ", in {}", evidence.path);
    }
    text
}

/// The name that the JSON report has for a kind of evidence.
fn kind(kind: EvidenceKind) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The name of a severity.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// `1 error, 2 notes`.
pub(super) fn tally<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    let severities: Vec<Severity> = findings.map(|finding| finding.severity).collect();
    let words: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|level| {
            let found = severities.iter().filter(|found| **found == level);
            (found.count(), severity(level))
        })
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| count(number, word))
        .collect();
    match words.is_empty() {
        true => "no findings".to_owned(),
        false => words.join(", "),
    }
}

/// `1 layer`, `32,800 files`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_and_pluralised() {
        assert_eq!(count(1, "layer"), "1 layer");
        assert_eq!(count(32800, "file"), "32,800 files");
    }
}
