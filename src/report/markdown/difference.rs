//! The difference between two images as a comment on a pull request.

use super::escape::{code, prose};
use super::page::{Page, docs_link, severity_sign, verdict_sign};
use crate::finding::{Finding, Severity};
use crate::report::details::count;
use crate::report::difference::{Change, Difference, Side};

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
    format!(
        "## imgcheck diff: {sign} {}, {} fixed, {} unchanged\n",
        count(findings.new.len(), "new finding"),
        findings.fixed.len(),
        findings.same
    )
}

fn sides(difference: &Difference) -> String {
    let side = |letter: &str, side: &Side| {
        let sign = verdict_sign(side.verdict);
        format!(
            "| {letter} | {sign} {} | {} | {} |\n",
            code(side.name()),
            prose(&side.platform),
            megabytes(side.size)
        )
    };
    let layers = difference.layers.map_or(String::new(), |layers| {
        format!(
            "\n{} in both, {} only in A, {} only in B.\n",
            count(layers.same, "layer"),
            layers.removed,
            layers.added
        )
    });
    format!(
        "\n| | image | platform | layers |\n|---|---|---|---:|\n{}{}{layers}",
        side("A", &difference.from),
        side("B", &difference.to)
    )
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
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
    if changes.is_empty() {
        return String::new();
    }
    let value = |value: &Option<String>| value.as_deref().map_or("–".to_owned(), prose);
    let rows = changes.iter().map(|change| {
        format!(
            "| {} | {} | {} |\n",
            prose(&change.name),
            value(&change.from),
            value(&change.to)
        )
    });
    let rows: String = rows.collect();
    folded(
        title,
        changes.len(),
        &format!("| | A | B |\n|---|---|---|\n{rows}"),
    )
}

fn coverage(difference: &Difference) -> String {
    if difference.gpu.is_empty() {
        return String::new();
    }
    let list = |names: &[String]| match names {
        [] => "–".to_owned(),
        names => code(&names.join(" ")),
    };
    let rows = difference.gpu.iter().map(|change| {
        format!(
            "| {} | {} | {} |\n",
            prose(&change.name),
            list(&change.lost),
            list(&change.gained)
        )
    });
    let rows: String = rows.collect();
    let header = "| | only in A | only in B |\n|---|---|---|\n";
    folded("GPU code", difference.gpu.len(), &format!("{header}{rows}"))
}

fn folded(title: &str, rows: usize, table: &str) -> String {
    let summary = format!("{title}: {}", count(rows, "change"));
    format!("\n<details><summary>{summary}</summary>\n\n{table}\n</details>\n")
}
