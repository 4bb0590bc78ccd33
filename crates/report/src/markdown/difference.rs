//! The difference between two images as a comment on a pull request.

use super::escape::{code, prose};
use super::page::{Page, docs_link, severity_sign, verdict_sign};
use crate::NOT_COUNTED;
use crate::details::count;
use crate::difference::{Change, Difference, Side};
use imgcheck_base::decimal_bytes::decimal_bytes;
use imgcheck_model::finding::{Finding, Severity};

/// The changes as tables, cut at the length of a comment.
pub fn difference(difference: &Difference) -> String {
    let mut page = Page::default();
    page.add(&headline(difference));
    page.add(&sides(difference));
    if difference.is_empty() {
        page.add("\nNo differences.\n");
    }
    for (title, findings) in [
        ("New findings", &difference.findings.new),
        ("Fixed", &difference.findings.fixed),
    ] {
        if !findings.is_empty() {
            page.add(&format!("\n#### {title}\n\n"));
        }
        for finding in findings {
            page.add_finding(&item(finding));
        }
    }
    for (title, changes) in difference.sections() {
        page.add(&table(title, changes));
    }
    page.add(&coverage(difference));
    page.finish()
}

fn headline(difference: &Difference) -> String {
    let findings = &difference.findings;
    let sign = match findings.new.first().map(|worst| worst.severity) {
        Some(Severity::Error) => "❌",
        Some(Severity::Warning) => "⚠️",
        _ => "✅",
    };
    format!("## imgcheck diff: {sign} {findings}\n")
}

fn sides(difference: &Difference) -> String {
    let side = |letter: &str, side: &Side| {
        let sign = match side.heading {
            NOT_COUNTED => "⚠️",
            _ => verdict_sign(side.verdict),
        };
        format!(
            "| {letter} | {sign} {} | {} | {} |\n",
            code(side.name()),
            prose(&side.platform),
            decimal_bytes(side.size)
        )
    };
    let layers = difference.layers;
    let layers = layers.map_or(String::new(), |layers| format!("\n{layers}.\n"));
    format!(
        "\n| | image | platform | layers |\n|---|---|---|---:|\n{}{}{layers}",
        side("A", &difference.from),
        side("B", &difference.to)
    )
}

fn item(finding: &Finding) -> String {
    let sign = severity_sign(finding.severity);
    let more = match finding.docs.is_empty() {
        true => String::new(),
        false => format!(" ({})", docs_link(finding)),
    };
    format!(
        "- {sign} {}: {}{more}\n",
        code(&finding.rule),
        prose(&finding.message)
    )
}

fn table(title: &str, changes: &[Change]) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or("–".to_owned(), prose);
    let rows = changes
        .iter()
        .map(|it| [prose(&it.name), value(&it.from), value(&it.to)]);
    folded(title, ["A", "B"], rows)
}

fn coverage(difference: &Difference) -> String {
    let list = |names: &[String]| match names {
        [] => "–".to_owned(),
        names => code(&names.join(" ")),
    };
    let rows = difference
        .gpu
        .iter()
        .map(|it| [prose(&it.name), list(&it.lost), list(&it.gained)]);
    folded("GPU code", ["only in A", "only in B"], rows)
}

/// A collapsible table; empty without rows.
fn folded(
    title: &str,
    [a, b]: [&str; 2],
    rows: impl ExactSizeIterator<Item = [String; 3]>,
) -> String {
    if rows.len() == 0 {
        return String::new();
    }
    let summary = format!("{title}: {}", count(rows.len(), "change"));
    let rows: String = rows
        .map(|row| format!("| {} |\n", row.join(" | ")))
        .collect();
    let table = format!("| | {a} | {b} |\n|---|---|---|\n{rows}");
    format!("\n<details><summary>{summary}</summary>\n\n{table}\n</details>\n")
}
