//! Styles and layout of text for a terminal.

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color, ContentArrangement, Table, presets::NOTHING};

use crate::report::{Verdict, one_line, printable};

pub(in crate::report) const BOLD: Style = Style::new().bold();
pub(in crate::report) const DIM: Style = Style::new().dimmed();

/// Adds an empty line unless it would be the first.
pub(in crate::report) fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

pub(in crate::report) fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The verdict in its color.
pub(in crate::report) fn colored(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Pass => color(AnsiColor::Green),
        Verdict::Incomplete => color(AnsiColor::Yellow),
        Verdict::Fail => color(AnsiColor::Red),
    };
    format!("{style}{verdict}{style:#}")
}

pub(in crate::report) fn table(width: Option<u16>, header: &[&str]) -> Table {
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

pub(in crate::report) fn color(color: AnsiColor) -> Style {
    color.on_default().bold()
}

pub(in crate::report) fn field(out: &mut String, name: &str, text: &str) {
    labelled(out, name, &one_line(text));
}

/// A field whose text may have several lines.
pub(in crate::report) fn paragraph(out: &mut String, name: &str, text: &str) {
    labelled(out, name, &printable(text).replace('\n', "\n            "));
}

fn labelled(out: &mut String, name: &str, shown: &str) {
    line(
        out,
        &format!("  {DIM}{:>8}{DIM:#}  {shown}", one_line(name)),
    );
}
