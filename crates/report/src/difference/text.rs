//! The difference between two images for a terminal.

use std::fmt::Write;

use super::model::{Change, Difference, Side};
use super::prefix;
use crate::one_line;
use crate::text::finding_head;
use crate::text::style::{BOLD, DIM, colored_word, line, show, table};
use crate::text::wrap::wrap;
use imgcheck_model::finding::Finding;

/// How many rows of a table are shown.
const ROWS_SHOWN: usize = 40;

/// The changes as tables; `width` is that of the terminal, in columns.
pub fn render(difference: &Difference, width: Option<u16>) -> String {
    let mut out = String::new();
    side(&mut out, "A", &difference.from);
    side(&mut out, "B", &difference.to);
    if let Some(layers) = difference.layers {
        line(&mut out, &format!("   {DIM}{layers}{DIM:#}"));
    }
    if difference.is_empty() {
        line(
            &mut out,
            "\nNo differences in claims, stack, GPU code, driver floor, loader model or findings.",
        );
        return out;
    }
    for (title, changes) in difference.sections() {
        section(&mut out, &title.to_uppercase(), changes, width);
    }
    gpu(&mut out, difference, width);
    if !difference.same.is_empty() {
        let names = format!("Same in both: {}", difference.same.join(", "));
        let names = wrap(&one_line(&names), 0, width);
        let _ = writeln!(out, "\n{DIM}{names}{DIM:#}");
    }
    findings(&mut out, "New in B", &difference.findings.new, width);
    findings(&mut out, "Fixed in B", &difference.findings.fixed, width);
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", difference.findings);
    out
}

fn side(out: &mut String, letter: &str, side: &Side) {
    let verdict = colored_word(side.verdict, side.heading);
    let name = one_line(side.name());
    let about = match side.platform.as_str() {
        "" => String::new(),
        platform => format!("  {DIM}{}{DIM:#}", one_line(platform)),
    };
    line(
        out,
        &format!("{BOLD}{letter}{BOLD:#}  {verdict}  {BOLD}{name}{BOLD:#}{about}"),
    );
}

fn section(out: &mut String, title: &str, changes: &[Change], width: Option<u16>) {
    if changes.is_empty() {
        return;
    }
    let rows = changes.iter().take(ROWS_SHOWN).map(|change| {
        [
            one_line(&change.name),
            value(change.from.as_deref()),
            value(change.to.as_deref()),
        ]
    });
    write_table(out, &[title, "A", "B"], rows.collect(), width);
    if changes.len() > ROWS_SHOWN {
        let more = changes.len() - ROWS_SHOWN;
        let _ = writeln!(out, "  and {more} more: see -f json");
    }
}

/// A table whose paths are relative to the directory that they have in common, which is named above it.
fn write_table(
    out: &mut String,
    header: &[&str; 3],
    mut rows: Vec<[String; 3]>,
    width: Option<u16>,
) {
    out.push('\n');
    if let Some(directory) = prefix::strip(&mut rows) {
        let _ = writeln!(out, " {DIM}{} below {directory}{DIM:#}", header[0]);
    }
    let mut table = table(width, header);
    table.add_rows(rows);
    let _ = writeln!(out, "{}", show(table));
}

fn value(value: Option<&str>) -> String {
    value.map_or_else(|| "-".to_owned(), one_line)
}

fn gpu(out: &mut String, difference: &Difference, width: Option<u16>) {
    if difference.gpu.is_empty() {
        return;
    }
    let list = |names: &[String]| match names {
        [] => "-".to_owned(),
        names => one_line(&names.join(" ")),
    };
    let rows = difference.gpu.iter().map(|change| {
        [
            one_line(&change.name),
            list(&change.lost),
            list(&change.gained),
        ]
    });
    let header = ["GPU CODE", "ONLY IN A", "ONLY IN B"];
    write_table(out, &header, rows.collect(), width);
}

fn findings(out: &mut String, title: &str, findings: &[Finding], width: Option<u16>) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{BOLD}{title}:{BOLD:#}");
    for finding in findings {
        finding_head(out, finding, width);
    }
}
