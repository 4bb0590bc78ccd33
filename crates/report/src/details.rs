//! The details of a finding beside its message, as text that several formats share. Each format escapes it.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use super::{Inspection, Subject, one_line, printable};
use imgcheck_base::gap::Gap;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{Finding, IgnoreReason, IgnoredFinding, Severity};
use imgcheck_model::process::tree::ProcessTree;
use imgcheck_model::stack::{Evidence, EvidenceKind};

/// How many pieces of evidence a finding shows, the strongest first.
pub(crate) const EVIDENCE_SHOWN: usize = 4;

/// Where a finding is, its evidence and its help, as labels and texts in reading order.
pub(crate) fn details(
    facts: Option<&Inspection>,
    finding: &Finding,
) -> Vec<(&'static str, String)> {
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
    if let (Some(layer), Some(facts)) = (finding.layer, facts) {
        details.push(("layer", layer_text(facts, layer)));
    }
    for evidence in finding.evidence.iter().take(EVIDENCE_SHOWN) {
        details.push(("evidence", evidence_text(evidence, finding.path.as_deref())));
    }
    if let Some(help) = &finding.help {
        details.push(("help", help.trim_end().to_owned()));
    }
    details
}

/// [`details`] as printable lines `label: text`. Only help may have several lines.
pub(crate) fn detail_lines(subject: Subject, finding: &Finding) -> Vec<String> {
    let details = details(subject.facts(), finding).into_iter();
    let lines = details.map(|(name, text)| match name {
        "help" => format!("{name}: {}", printable(&text)),
        _ => format!("{name}: {}", one_line(&text)),
    });
    lines.collect()
}

/// A gap as text: `launch-not-understood: …`.
pub(crate) fn gap_text(gap: &Gap) -> String {
    format!("{}: {}", gap.code, gap.message)
}

/// Where a reference makes a claim, in bytes; `None` if the claim comes from elsewhere. The tag comes last, so if the repository
/// contains the same text, the last occurrence is the tag.
pub(crate) fn place_of_claim(reference: &str, claim: &Claim) -> Option<Range<usize>> {
    let start = match claim.origin.as_str() {
        "tag" => reference.rfind(&claim.text),
        "repository" => reference.find(&claim.text),
        _ => None,
    }?;
    Some(start..start + claim.text.len())
}

/// The source of LD_LIBRARY_PATH of a process.
pub(crate) fn library_path_source(process: &ProcessTree) -> String {
    match process.library_path_from.as_str() {
        "" | "image" => "set by the image".to_owned(),
        "overlay" => "set by the workload".to_owned(),
        script => format!("set by {script}, as far as it could be read"),
    }
}

/// How the image is stored and, for a Docker or Podman image, how it was read: `docker-daemon (storage)`.
pub(crate) fn source_name(facts: &Inspection) -> String {
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
pub(crate) fn layer_text(facts: &Inspection, layer: usize) -> String {
    match facts.layers.get(layer) {
        Some(known) if !known.created_by.is_empty() => {
            format!("{layer}, from: {}", known.created_by)
        }
        _ => layer.to_string(),
    }
}

/// A piece of evidence as text: `2.8.0 (string in /opt/…/libtorch_cuda.so)`. The path is left out if it is `shown` already, the
/// detail if it only repeats the value.
pub(crate) fn evidence_text(evidence: &Evidence, shown: Option<&str>) -> String {
    let mut origin = match (evidence.kind, evidence.detail.as_str()) {
        (kind, detail) if detail.is_empty() || detail == evidence.value => {
            evidence_kind(kind).to_owned()
        }
        // The detail names the macro or variable.
        (EvidenceKind::HeaderFile, detail) => detail.to_owned(),
        (kind, detail) => format!("{} {detail}", evidence_kind(kind)),
    };
    if shown != Some(evidence.path.as_str()) && !evidence.path.is_empty() {
        let _ = write!(origin, " in {}", evidence.path);
    }
    format!("{} ({origin})", evidence.value)
}

fn evidence_kind(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Code => "constant",
        EvidenceKind::String => "string",
        EvidenceKind::BuildId => "build ID",
        EvidenceKind::PythonMetadata => "Python metadata",
        EvidenceKind::Dpkg => "dpkg package",
        EvidenceKind::Apk => "apk package",
        EvidenceKind::Rpm => "rpm package",
        EvidenceKind::Conda => "conda package",
        EvidenceKind::HeaderFile => "header file",
        EvidenceKind::Soname => "SONAME",
        EvidenceKind::FileName => "file name",
        EvidenceKind::Env => "environment variable",
        EvidenceKind::Label => "label",
    }
}

/// `1 error, 2 notes`.
pub(crate) fn tally<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    let severities: Vec<Severity> = findings.map(|finding| finding.severity).collect();
    let words: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|level| {
            let found = severities.iter().filter(|found| **found == level);
            (found.count(), level.as_str())
        })
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| count(number, word))
        .collect();
    match words.is_empty() {
        true => "no findings".to_owned(),
        false => words.join(", "),
    }
}

/// [`tally`], and how many findings are suppressed: `1 error · 2 findings ignored`.
pub(crate) fn full_tally(findings: &[Finding], ignored: &[IgnoredFinding]) -> (String, String) {
    let ignored = match ignored.len() {
        0 => String::new(),
        number => format!(" · {} ignored", count(number, "finding")),
    };
    (tally(findings.iter()), ignored)
}

/// Why a finding is suppressed: `vendor image, until 2027-03-01`.
pub(crate) fn ignore_text(ignore: &IgnoreReason) -> String {
    match &ignore.expires {
        Some(day) => format!("{}, until {day}", ignore.reason),
        None => ignore.reason.clone(),
    }
}

/// Numbers equal names: formats require unique fingerprints or references, and several images may have the same.
#[derive(Default)]
pub(crate) struct Unique {
    /// How often each name was given out.
    given: HashMap<String, usize>,
}

impl Unique {
    /// The name, with a number behind `separator` if it was given out before.
    pub fn name(&mut self, name: String, separator: &str) -> String {
        let mut unique = name.clone();
        while self.given.contains_key(&unique) {
            let number = self.given.entry(name.clone()).or_insert(1);
            *number += 1;
            unique = format!("{name}{separator}{number}");
        }
        self.given.insert(unique.clone(), 1);
        unique
    }
}

/// `1 layer`, `32,800 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
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
