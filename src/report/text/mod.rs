//! The report for a terminal: a table of what is claimed and found, then each finding with file, layer, build step
//! and what to do. The text carries ANSI styles; whoever writes it strips them where no terminal is.

mod claims;
mod facts;
mod finding;
mod summary;
mod targets;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color, ContentArrangement, Table, presets::NOTHING};

use super::details::{count, source_name, tally};
use super::{ImageReport, Inspection, Report, Verdict, lint, one_line, printable};

pub use claims::claims;
pub use facts::facts;
pub(super) use finding::head as finding_head;

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
        summary::write(&mut out, &image.facts, &image.findings, width);
        out.push_str(&targets::lines(&image.targets));
        for finding in &image.findings {
            finding::write(&mut out, finding, &image.facts);
        }
        closing(&mut out, image);
    }
    let files = lint::text(report.files);
    if !files.is_empty() {
        separate(&mut out);
    }
    out + &files
}

/// A table of rules: id, severity and title.
pub fn rules(rows: &[[String; 3]], width: Option<u16>) -> String {
    let mut table = table(width, &["RULE", "SEVERITY", "TITLE"]);
    let cells = |row: &[String; 3]| row.each_ref().map(|text| one_line(text));
    table.add_rows(rows.iter().map(cells));
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
    facts: &Inspection,
    verdict: Option<Verdict>,
    elapsed_ms: Option<u64>,
) {
    let name = one_line(facts.name());
    let heading = match verdict {
        None => format!("{BOLD}{name}{BOLD:#}"),
        Some(verdict) => {
            let remark = match &facts.reference {
                Some(_) => String::new(),
                None => format!(" {DIM}(no name to compare with: --as REFERENCE){DIM:#}"),
            };
            format!("{}  {BOLD}{name}{BOLD:#}{remark}", coloured(verdict))
        }
    };
    line(out, &heading);
    let mut about = vec![source_name(facts)];
    if !facts.platform.is_empty() {
        about.push(one_line(&facts.platform));
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

fn field(out: &mut String, name: &str, text: &str) {
    labelled(out, name, &one_line(text));
}

/// A field whose text has lines of its own.
fn paragraph(out: &mut String, name: &str, text: &str) {
    labelled(out, name, &printable(text).replace('\n', "\n            "));
}

fn labelled(out: &mut String, name: &str, shown: &str) {
    line(
        out,
        &format!("  {DIM}{:>8}{DIM:#}  {shown}", one_line(name)),
    );
}

fn closing(out: &mut String, image: &ImageReport) {
    let words = tally(image.findings.iter());
    let ignored = match image.ignored.len() {
        0 => String::new(),
        number => format!(" · {} ignored", count(number, "finding")),
    };
    line(out, &format!("\n{BOLD}{words}{BOLD:#}{ignored}"));
}
