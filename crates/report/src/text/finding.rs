//! One finding: message, source of the claim, file, layer, evidence and help.

use anstyle::AnsiColor;

use super::options::TextOptions;
use super::style::{BOLD, color, field, line, paragraph};
use super::wrap::after_label;
use crate::details::{EVIDENCE_SHOWN, details, evidence_text, place_of_claim};
use crate::{ImageReport, Inspection, one_line};
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{Finding, Severity};

/// The first line of a finding: severity, rule and message.
pub(crate) fn head(out: &mut String, finding: &Finding, width: Option<u16>) {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", color(AnsiColor::Red)),
        Severity::Warning => ("warning", color(AnsiColor::Yellow)),
        Severity::Note => ("note", color(AnsiColor::Cyan)),
    };
    let label = format!("{word}[{}]", one_line(&finding.rule));
    let text = after_label(&label, &one_line(&finding.message), width);
    line(out, &format!("{style}{label}{style:#}{BOLD}{text}{BOLD:#}"));
}

/// Writes the findings on an image. Evidence that several findings share is shown once.
pub(super) fn write(out: &mut String, image: &ImageReport, options: &TextOptions) {
    let shown: Vec<&Finding> = options.shown(&image.findings).collect();
    for (index, finding) in shown.iter().enumerate() {
        let earlier = shown.iter().take(index);
        let same = |it: &&&Finding| !it.evidence.is_empty() && it.evidence == finding.evidence;
        let same = earlier.into_iter().find(same);
        write_one(
            out,
            finding,
            same.map(|it| it.rule.as_str()),
            &image.facts,
            options,
        );
    }
}

/// Writes a finding, and instead of its evidence the rule of the finding that showed it before.
fn write_one(
    out: &mut String,
    finding: &Finding,
    shown: Option<&str>,
    facts: &Inspection,
    options: &TextOptions,
) {
    let width = options.width;
    out.push('\n');
    head(out, finding, width);
    let reference = facts.reference.as_deref();
    caret(out, reference, finding.claim.as_ref(), width);
    for (label, text) in details(Some(facts), finding) {
        match label {
            "claim" | "help" => {}
            "evidence" if shown.is_some() => {}
            label => field(out, label, &text, width),
        }
    }
    match shown {
        Some(rule) => field(
            out,
            "evidence",
            &format!("the same as for {rule} above"),
            width,
        ),
        None => more_evidence(out, finding, options),
    }
    advice(out, finding, width);
}

/// What is beyond the first pieces of evidence, or how many there are.
fn more_evidence(out: &mut String, finding: &Finding, options: &TextOptions) {
    let width = options.width;
    let more = finding.evidence.iter().skip(EVIDENCE_SHOWN);
    if options.is_verbose() {
        for evidence in more {
            let text = evidence_text(evidence, finding.path.as_deref());
            field(out, "evidence", &text, width);
        }
    } else if let more @ 1.. = more.count() {
        let text = format!("and {more} more (see `imgcheck facts`)");
        field(out, "", &text, width);
    }
}

/// Underlines the part of the reference that makes the claim.
pub(super) fn caret(
    out: &mut String,
    reference: Option<&str>,
    claim: Option<&Claim>,
    width: Option<u16>,
) {
    let (Some(reference), Some(claim)) = (reference, claim) else {
        return;
    };
    if !matches!(claim.origin.as_str(), "tag" | "repository") {
        return field(out, &claim.origin, &claim.text, width);
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
pub(super) fn advice(out: &mut String, finding: &Finding, width: Option<u16>) {
    if let Some(help) = &finding.help {
        paragraph(out, "help", help.trim_end(), width);
    }
    if !finding.docs.is_empty() {
        field(out, "docs", &finding.docs, width);
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
        caret(&mut out, Some("torch2.9/x:2.9"), Some(&claim), None);
        let plain = anstream::adapter::strip_str(&out).to_string();
        assert_eq!(plain, "  torch2.9/x:2.9\n             ^^^\n");
    }
}
