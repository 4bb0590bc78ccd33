//! Findings on the HTML page.

use super::markup::{Html, heading, markdown, rich};
use crate::{Inspection, details};
use imgcheck_model::finding::{Confidence, Finding, IgnoredFinding};
use imgcheck_rules::rules::RuleSet;

/// How many pieces of evidence are visible at first.
const EVIDENCE: usize = 6;

/// A finding.
pub(super) struct FindingView {
    pub id: String,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    pub confidence: &'static str,
    pub rule: String,
    pub message: Html,
    /// The reference or source line with the part at fault.
    pub marked: Option<Marked>,
    /// Origin and text of a claim that is not in the reference.
    pub claim: Option<(String, String)>,
    pub path: Option<String>,
    pub layer: Option<String>,
    pub evidence: Vec<String>,
    pub more_evidence: Vec<String>,
    pub help: Option<Html>,
    pub why: Option<Html>,
    pub docs: String,
    /// Why the finding is suppressed; `None` if it counts.
    pub ignored: Option<String>,
}

/// A line with a marked part.
pub(super) struct Marked {
    /// Position of the line in its file; empty for a reference.
    pub place: String,
    pub before: String,
    pub piece: String,
    pub after: String,
}

impl FindingView {
    /// Whether the finding has details beside message and help.
    pub fn has_details(&self) -> bool {
        self.claim.is_some()
            || self.path.is_some()
            || self.layer.is_some()
            || !self.evidence.is_empty()
    }
}

/// The findings of one image or file; `prefix` is that of their ids.
pub(super) fn views<'f>(
    findings: impl Iterator<Item = &'f Finding>,
    prefix: &str,
    facts: Option<&Inspection>,
    rules: &RuleSet,
) -> Vec<FindingView> {
    findings
        .enumerate()
        .map(|(place, finding)| view(finding, format!("{prefix}{place}"), facts, rules))
        .collect()
}

/// [`views`] of suppressed findings.
pub(super) fn ignored_views(
    findings: &[IgnoredFinding],
    prefix: &str,
    facts: Option<&Inspection>,
    rules: &RuleSet,
) -> Vec<FindingView> {
    let plain = findings.iter().map(|ignored| &ignored.finding);
    let views = views(plain, prefix, facts, rules).into_iter();
    let reasons = findings
        .iter()
        .map(|ignored| details::ignore_text(&ignored.ignore));
    let both = views.zip(reasons).map(|(view, reason)| FindingView {
        ignored: Some(reason),
        ..view
    });
    both.collect()
}

fn view(finding: &Finding, id: String, facts: Option<&Inspection>, rules: &RuleSet) -> FindingView {
    let shown = finding.path.as_deref();
    let evidence: Vec<String> = finding
        .evidence
        .iter()
        .map(|evidence| details::evidence_text(evidence, shown))
        .collect();
    let (evidence, more) = evidence.split_at(evidence.len().min(EVIDENCE));
    let marked = in_line(finding).or_else(|| in_reference(finding, facts?));
    let claim = finding.claim.as_ref().filter(|_| marked.is_none());
    FindingView {
        severity: finding.severity.as_str(),
        confidence: match finding.confidence {
            Confidence::High => "proven",
            Confidence::Medium => "probable",
            Confidence::Low => "a hint",
        },
        rule: finding.rule.clone(),
        message: heading(&finding.message),
        claim: claim.map(|claim| (claim.origin.clone(), claim.text.clone())),
        marked,
        path: finding.path.clone(),
        layer: facts.and_then(|facts| Some(details::layer_text(facts, finding.layer?))),
        evidence: evidence.to_vec(),
        more_evidence: more.to_vec(),
        help: finding.help.as_deref().map(rich),
        why: rules.get(&finding.rule).map(|rule| markdown(&rule.why)),
        docs: finding.docs.clone(),
        ignored: None,
        id,
    }
}

/// The source line at fault, with tabs as spaces.
fn in_line(finding: &Finding) -> Option<Marked> {
    let location = finding.location.as_ref()?;
    let characters: Vec<char> = location.text.chars().collect();
    let start = location.column.saturating_sub(1).min(characters.len());
    let end = location
        .end_column
        .saturating_sub(1)
        .clamp(start, characters.len());
    let piece = |range: &[char]| range.iter().collect::<String>().replace('\t', "    ");
    Some(Marked {
        place: format!("{}:{}:{}", location.file, location.line, location.column),
        before: piece(&characters[..start]),
        piece: piece(&characters[start..end]),
        after: piece(&characters[end..]),
    })
}

/// The reference, with the part that makes the claim.
fn in_reference(finding: &Finding, facts: &Inspection) -> Option<Marked> {
    let (claim, reference) = (finding.claim.as_ref()?, facts.reference.as_deref()?);
    let place = details::place_of_claim(reference, claim)?;
    Some(Marked {
        place: String::new(),
        before: reference[..place.start].to_owned(),
        piece: claim.text.clone(),
        after: reference[place.end..].to_owned(),
    })
}
