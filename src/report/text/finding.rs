//! One finding: message, source of the claim, file, layer, evidence and help.

use anstyle::AnsiColor;

use super::style::{BOLD, color, field, line, paragraph};
use crate::claims::Claim;
use crate::finding::{Finding, Severity};
use crate::report::details::{EVIDENCE_SHOWN, details, place_of_claim};
use crate::report::{Inspection, one_line};

/// The first line of a finding: severity, rule and message.
pub(in crate::report) fn head(out: &mut String, finding: &Finding) {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", color(AnsiColor::Red)),
        Severity::Warning => ("warning", color(AnsiColor::Yellow)),
        Severity::Note => ("note", color(AnsiColor::Cyan)),
    };
    line(
        out,
        &format!(
            "{style}{word}[{}]{style:#}{BOLD}: {}{BOLD:#}",
            one_line(&finding.rule),
            one_line(&finding.message)
        ),
    );
}

/// Writes a finding on an image.
pub(super) fn write(out: &mut String, finding: &Finding, facts: &Inspection) {
    out.push('\n');
    head(out, finding);
    caret(out, facts.reference.as_deref(), finding.claim.as_ref());
    for (label, text) in details(Some(facts), finding) {
        if !matches!(label, "claim" | "help") {
            field(out, label, &text);
        }
    }
    let more = finding.evidence.len().saturating_sub(EVIDENCE_SHOWN);
    if more > 0 {
        field(out, "", &format!("and {more} more (see `imgcheck facts`)"));
    }
    advice(out, finding);
}

/// Underlines the part of the reference that makes the claim.
pub(super) fn caret(out: &mut String, reference: Option<&str>, claim: Option<&Claim>) {
    let (Some(reference), Some(claim)) = (reference, claim) else {
        return;
    };
    if !matches!(claim.origin.as_str(), "tag" | "repository") {
        return field(out, &claim.origin, &claim.text);
    }
    let Some(place) = place_of_claim(reference, claim) else {
        return;
    };
    let style = color(AnsiColor::Red);
    let width = |text: &str| one_line(text).chars().count();
    let (indent, carets) = (width(&reference[..place.start]), width(&reference[place]));
    let carets = "^".repeat(carets);
    line(out, &format!("  {}", one_line(reference)));
    line(out, &format!("  {:indent$}{style}{carets}{style:#}", ""));
}

/// Writes help and the link to the documentation.
pub(super) fn advice(out: &mut String, finding: &Finding) {
    if let Some(help) = &finding.help {
        paragraph(out, "help", help.trim_end());
    }
    if !finding.docs.is_empty() {
        field(out, "docs", &finding.docs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_under_the_tag_even_if_the_repository_has_the_same_text() {
        let claim = Claim {
            subject: "torch".into(),
            version: "2.9".into(),
            origin: "tag".into(),
            text: "2.9".into(),
            document: None,
        };
        let mut out = String::new();
        caret(&mut out, Some("torch2.9/x:2.9"), Some(&claim));
        let plain = anstream::adapter::strip_str(&out).to_string();
        assert_eq!(plain, "  torch2.9/x:2.9\n             ^^^\n");
    }
}
