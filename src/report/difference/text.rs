//! The difference between two images for a terminal.

use std::fmt::Write;

use super::model::{Change, Difference, Side};
use crate::finding::Finding;
use crate::report::one_line;
use crate::report::text::finding_head;
use crate::report::text::style::{BOLD, DIM, colored, line, table};

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
        let names = one_line(&difference.same.join(", "));
        let _ = writeln!(out, "\n{DIM}Same in both: {names}{DIM:#}");
    }
    findings(&mut out, "New in B", &difference.findings.new);
    findings(&mut out, "Fixed in B", &difference.findings.fixed);
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", difference.findings);
    out
}

fn side(out: &mut String, letter: &str, side: &Side) {
    let verdict = colored(side.verdict);
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
    let mut table = table(width, &[title, "A", "B"]);
    for change in changes.iter().take(ROWS_SHOWN) {
        table.add_row([
            one_line(&change.name),
            value(change.from.as_deref()),
            value(change.to.as_deref()),
        ]);
    }
    let _ = writeln!(out, "\n{}", table.trim_fmt());
    if changes.len() > ROWS_SHOWN {
        let more = changes.len() - ROWS_SHOWN;
        let _ = writeln!(out, "  and {more} more: see -f json");
    }
}

fn value(value: Option<&str>) -> String {
    value.map_or_else(|| "-".to_owned(), one_line)
}

fn gpu(out: &mut String, difference: &Difference, width: Option<u16>) {
    if difference.gpu.is_empty() {
        return;
    }
    let mut table = table(width, &["GPU CODE", "ONLY IN A", "ONLY IN B"]);
    let list = |names: &[String]| match names {
        [] => "-".to_owned(),
        names => one_line(&names.join(" ")),
    };
    for change in &difference.gpu {
        table.add_row([
            one_line(&change.name),
            list(&change.lost),
            list(&change.gained),
        ]);
    }
    let _ = writeln!(out, "\n{}", table.trim_fmt());
}

fn findings(out: &mut String, title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{BOLD}{title}:{BOLD:#}");
    for finding in findings {
        finding_head(out, finding);
    }
}
