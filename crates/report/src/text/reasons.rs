//! Why a report says what it says: claims, evidence, ignored findings, rules that did not apply.

use super::style::{DIM, field, line};
use super::wrap::wrap;
use crate::details::{evidence_text, ignore_text};
use crate::{ImageReport, one_line};
use imgcheck_model::finding::IgnoredFinding;

/// Each claim with its text, and the evidence for each component that a process gets.
pub(super) fn claims_and_evidence(out: &mut String, image: &ImageReport, width: Option<u16>) {
    title(out, "CLAIMS");
    if image.facts.claims.is_empty() {
        line(out, "  none that imgcheck recognizes");
    }
    for claim in &image.facts.claims {
        let text = format!(
            "{} {} ({}: `{}`)",
            claim.subject, claim.version, claim.origin, claim.text
        );
        line(out, &format!("  {}", wrap(&one_line(&text), 4, width)));
    }
    title(out, "EVIDENCE");
    for component in image.facts.stack.iter().filter(|it| it.loaded) {
        let (name, version) = (&component.name, &component.version);
        let text = format!("{name} {version}  {}", component.path);
        line(out, &format!("  {}", wrap(&one_line(&text), 4, width)));
        for evidence in &component.evidence {
            let text = evidence_text(evidence, Some(&component.path));
            field(out, "", &text, width);
        }
    }
}

/// The findings that the configuration or the baseline suppresses.
pub(super) fn ignored(out: &mut String, findings: &[IgnoredFinding], width: Option<u16>) {
    for ignored in findings {
        let (finding, reason) = (&ignored.finding, ignore_text(&ignored.ignore));
        let head = format!(
            "ignored {}[{}]: {}",
            finding.severity.as_str(),
            finding.rule,
            finding.message
        );
        let head = wrap(&one_line(&head), 2, width);
        line(out, &format!("\n{DIM}{head}{DIM:#}"));
        if let Some(path) = &finding.path {
            field(out, "file", path, width);
        }
        field(out, "reason", &reason, width);
    }
}

/// The rules that did not apply because a fact is missing.
pub(super) fn skipped(out: &mut String, image: &ImageReport, width: Option<u16>) {
    if image.skipped.is_empty() {
        return;
    }
    title(out, "RULES THAT LACK A FACT");
    for (fact, rules) in &image.skipped {
        let text = format!("{fact}: {}", rules.join(", "));
        line(out, &format!("  {}", wrap(&one_line(&text), 4, width)));
    }
}

fn title(out: &mut String, text: &str) {
    line(out, &format!("\n {DIM}{text}{DIM:#}"));
}
