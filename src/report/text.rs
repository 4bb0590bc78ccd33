//! The report for a terminal: a table of what is claimed and found, then each finding with file, layer, build step
//! and what to do. The text carries ANSI styles; whoever writes it strips them where no terminal is.

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color, ContentArrangement, Table, presets::NOTHING};

use super::details::{EVIDENCE_SHOWN, count, evidence_text, layer_text, tally};
use super::summary::{Agreement, Row, rows};
use super::{ImageFacts, ImageReport, ReferenceReport, Report, Verdict, printable, targets};
use crate::claims::Claim;
use crate::finding::{Finding, Severity};
use crate::stack::Component;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// The report of a check. `width` is the terminal's, in columns; without it nothing is wrapped.
pub fn report(report: &Report, width: Option<u16>) -> String {
    let mut out = String::new();
    for image in report.images {
        separate(&mut out);
        heading(
            &mut out,
            &image.facts,
            Some(image.verdict),
            Some(image.elapsed_ms),
        );
        summary(&mut out, &image.facts, &image.findings, width);
        out.push_str(&targets::lines(&image.targets));
        for finding in &image.findings {
            write_finding(&mut out, finding, &image.facts);
        }
        closing(&mut out, image);
    }
    for file in report.files {
        separate(&mut out);
        line(
            &mut out,
            &format!("{BOLD}{}{BOLD:#}", printable(&file.file)),
        );
        for finding in &file.findings {
            write_located(&mut out, finding);
        }
    }
    out
}

/// What is in the images: every component with its evidence.
pub fn facts(images: &[ImageFacts], width: Option<u16>) -> String {
    let mut out = String::new();
    for image in images {
        separate(&mut out);
        heading(&mut out, image, None, None);
        line(&mut out, &stack_table(&image.stack, width));
        for component in &image.stack {
            write_component(&mut out, component, image);
        }
    }
    out
}

/// What references promise.
pub fn claims(references: &[ReferenceReport], width: Option<u16>) -> String {
    let mut out = String::new();
    for report in references {
        separate(&mut out);
        line(
            &mut out,
            &format!("{BOLD}{}{BOLD:#}", printable(&report.reference)),
        );
        if let Some(error) = &report.error {
            let red = colour(AnsiColor::Red);
            line(
                &mut out,
                &format!("  {red}error{red:#}: {}", printable(error)),
            );
        } else if report.claims.is_empty() {
            line(
                &mut out,
                "  promises no version that imgcheck knows how to read",
            );
        } else {
            let mut table = table(width, &["SUBJECT", "VERSION", "READ FROM"]);
            for claim in &report.claims {
                table.add_row([
                    claim.subject.clone(),
                    claim.version.clone(),
                    format!("{} ({})", printable(&claim.text), claim.origin),
                ]);
            }
            line(&mut out, &table.trim_fmt());
        }
        for finding in &report.findings {
            out.push('\n');
            finding_head(&mut out, finding);
            caret(&mut out, Some(&report.reference), finding.claim.as_ref());
            advice(&mut out, finding);
        }
        if !report.ignored.is_empty() {
            let ignored = count(report.ignored.len(), "finding");
            line(&mut out, &format!("\n{ignored} ignored"));
        }
    }
    out
}

/// A table of rules: id, severity and title.
pub fn rules(rows: &[[String; 3]], width: Option<u16>) -> String {
    let mut table = table(width, &["RULE", "SEVERITY", "TITLE"]);
    table.add_rows(rows.iter().cloned());
    format!("{}\n", table.trim_fmt())
}

/// An empty line between two images.
fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn heading(
    out: &mut String,
    facts: &ImageFacts,
    verdict: Option<Verdict>,
    elapsed_ms: Option<u64>,
) {
    let verdict = verdict.map_or(String::new(), |known| format!("{}  ", coloured(known)));
    line(
        out,
        &format!("{verdict}{BOLD}{}{BOLD:#}", printable(facts.name())),
    );
    let mut about = vec![source_name(facts)];
    if !facts.platform.is_empty() {
        about.push(printable(&facts.platform));
    }
    about.push(format!(
        "{} and {}",
        count(facts.layers.len(), "layer"),
        count(facts.files, "file")
    ));
    if facts.layers.iter().any(|layer| layer.in_parts) {
        about.push("read in parts".to_owned());
    }
    if facts.gpu.sampled {
        about.push("GPU code sampled".to_owned());
    }
    if let Some(elapsed) = elapsed_ms {
        about.push(format!("{:.2} s", elapsed as f64 / 1000.0));
    }
    line(out, &format!("{DIM}{}{DIM:#}\n", about.join(" · ")));
}

/// The verdict in its colour.
pub(super) fn coloured(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Pass => colour(AnsiColor::Green),
        Verdict::Fail => colour(AnsiColor::Red),
    };
    format!("{style}{verdict}{style:#}")
}

/// How the image is stored and, where an engine holds it, how it was got at: `docker-daemon (storage)`.
pub(super) fn source_name(facts: &ImageFacts) -> String {
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

fn summary(out: &mut String, facts: &ImageFacts, findings: &[Finding], width: Option<u16>) {
    let rows = rows(facts, findings);
    if !rows.is_empty() {
        let mut table = table(width, &["", "CLAIMED", "FOUND", "VERDICT"]);
        for row in rows {
            table.add_row(summary_cells(row));
        }
        line(out, &table.trim_fmt());
    }
    if facts.reference.is_none() {
        line(
            out,
            "  The image has no name to compare with: --as REFERENCE gives it one.",
        );
    }
    if facts.config_digest.is_none() {
        line(
            out,
            "  There is no image configuration: what ENV (LD_LIBRARY_PATH) and the command would change is not known.",
        );
    }
    let gpu_library = |component: &Component| {
        !matches!(
            component.name.as_str(),
            "os" | "python" | "glibc" | "libstdc++"
        )
    };
    if !facts.stack.iter().any(gpu_library) {
        line(
            out,
            "  The image holds no GPU library: no PyTorch, CUDA, cuDNN or NCCL was found in any layer.",
        );
    }
}

fn summary_cells(row: Row) -> [Cell; 4] {
    let verdict = match row.agreement {
        Agreement::Unclaimed => Cell::new(""),
        Agreement::Met => Cell::new("ok").fg(Color::Green),
        Agreement::Unchecked => Cell::new("not checked"),
        Agreement::Broken(Severity::Error) => Cell::new("WRONG").fg(Color::Red),
        Agreement::Broken(Severity::Warning) => Cell::new("doubtful").fg(Color::Yellow),
        Agreement::Broken(Severity::Note) => Cell::new("see note").fg(Color::Cyan),
    };
    let or_dash = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            printable(&text)
        }
    };
    [
        Cell::new(row.subject),
        Cell::new(or_dash(row.claimed)),
        Cell::new(or_dash(row.found)),
        verdict,
    ]
}

pub(super) fn table(width: Option<u16>, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).enforce_styling();
    table.style_text_only();
    table.set_header(
        header
            .iter()
            .map(|title| Cell::new(title).fg(Color::DarkGrey)),
    );
    match width {
        Some(width) => table
            .set_width(width)
            .set_content_arrangement(ContentArrangement::Dynamic),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

fn colour(colour: AnsiColor) -> Style {
    colour.on_default().bold()
}

pub(super) fn finding_head(out: &mut String, finding: &Finding) {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", colour(AnsiColor::Red)),
        Severity::Warning => ("warning", colour(AnsiColor::Yellow)),
        Severity::Note => ("note", colour(AnsiColor::Cyan)),
    };
    line(
        out,
        &format!(
            "{style}{word}[{}]{style:#}{BOLD}: {}{BOLD:#}",
            finding.rule,
            printable(&finding.message)
        ),
    );
}

fn write_finding(out: &mut String, finding: &Finding, facts: &ImageFacts) {
    out.push('\n');
    finding_head(out, finding);
    caret(out, facts.reference.as_deref(), finding.claim.as_ref());
    if let Some(path) = &finding.path {
        field(out, "file", path);
    }
    if let Some(layer) = finding.layer {
        field(out, "layer", &layer_text(facts, layer));
    }
    for evidence in finding.evidence.iter().take(EVIDENCE_SHOWN) {
        field(
            out,
            "evidence",
            &evidence_text(evidence, finding.path.as_deref()),
        );
    }
    if let Some(more) = finding.evidence.len().checked_sub(EVIDENCE_SHOWN)
        && more > 0
    {
        field(out, "", &format!("and {more} more: see imgcheck facts"));
    }
    advice(out, finding);
}

/// A finding about a line of a file.
fn write_located(out: &mut String, finding: &Finding) {
    out.push('\n');
    finding_head(out, finding);
    if let Some(place) = &finding.location {
        let at = format!("{}:{}:{}", place.file, place.line, place.column);
        line(out, &format!("  {DIM}-->{DIM:#} {}", printable(&at)));
        let start = place.column.saturating_sub(1);
        let before: String = place.text.chars().take(start).collect();
        let written = place.text.chars().skip(start);
        let written: String = written
            .take(place.end_column - place.column.min(place.end_column))
            .collect();
        let columns = |text: &str| printable(text).chars().count();
        let style = colour(AnsiColor::Red);
        line(out, &format!("  {}", printable(&place.text)));
        line(
            out,
            &format!(
                "  {:indent$}{style}{}{style:#}",
                "",
                "^".repeat(columns(&written).max(1)),
                indent = columns(&before)
            ),
        );
    }
    advice(out, finding);
}

/// Puts a caret under the piece of the reference that makes the claim.
fn caret(out: &mut String, reference: Option<&str>, claim: Option<&Claim>) {
    let (Some(reference), Some(claim)) = (reference, claim) else {
        return;
    };
    if !matches!(claim.origin.as_str(), "tag" | "repository") {
        return field(out, &claim.origin, &claim.text);
    }
    // The tag stands last, so a text that also occurs in the repository is the later one.
    let position = if claim.origin == "tag" {
        reference.rfind(&claim.text)
    } else {
        reference.find(&claim.text)
    };
    let Some(start) = position else { return };
    let style = colour(AnsiColor::Red);
    let indent = printable(&reference[..start]).chars().count();
    line(out, &format!("  {}", printable(reference)));
    line(
        out,
        &format!(
            "  {:indent$}{style}{}{style:#}",
            "",
            "^".repeat(printable(&claim.text).chars().count())
        ),
    );
}

fn advice(out: &mut String, finding: &Finding) {
    if let Some(help) = &finding.help {
        field(out, "help", help.trim_end());
    }
    field(out, "docs", &finding.docs);
}

fn field(out: &mut String, name: &str, text: &str) {
    let text = printable(text).replace('\n', "\n            ");
    line(out, &format!("  {DIM}{name:>8}{DIM:#}  {text}"));
}

fn closing(out: &mut String, image: &ImageReport) {
    let words = tally(image.findings.iter());
    let ignored = match image.ignored.len() {
        0 => String::new(),
        number => format!(" · {} ignored", count(number, "finding")),
    };
    line(out, &format!("\n{BOLD}{words}{BOLD:#}{ignored}"));
}

fn stack_table(stack: &[Component], width: Option<u16>) -> String {
    let mut table = table(width, &["", "VERSION", "LAYER", "PATH"]);
    for component in stack {
        let layer = component
            .layer
            .map_or_else(String::new, |layer| layer.to_string());
        let marker = if component.loaded {
            ""
        } else {
            " (another copy)"
        };
        table.add_row([
            format!("{}{marker}", component.name),
            printable(&component.version),
            layer,
            printable(&component.path),
        ]);
    }
    table.trim_fmt()
}

fn write_component(out: &mut String, component: &Component, facts: &ImageFacts) {
    line(
        out,
        &format!(
            "\n{BOLD}{} {}{BOLD:#}  {}",
            component.name,
            printable(&component.version),
            printable(&component.path)
        ),
    );
    if let Some(layer) = component.layer {
        field(out, "layer", &layer_text(facts, layer));
    }
    for (name, value) in &component.details {
        field(out, "detail", &format!("{name}: {value}"));
    }
    for evidence in &component.evidence {
        field(
            out,
            "evidence",
            &evidence_text(evidence, Some(&component.path)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_tag_even_if_the_repository_has_the_same_text() {
        let claim = Claim {
            subject: "torch".into(),
            version: "2.9".into(),
            origin: "tag".into(),
            text: "2.9".into(),
        };
        let mut out = String::new();
        caret(&mut out, Some("torch2.9/x:2.9"), Some(&claim));
        let plain = anstream::adapter::strip_str(&out).to_string();
        assert_eq!(plain, "  torch2.9/x:2.9\n             ^^^\n");
    }
}
