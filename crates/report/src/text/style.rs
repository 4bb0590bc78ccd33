//! Styles and layout of text for a terminal.

use anstyle::{AnsiColor, Style};
use comfy_table::{
    Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING,
};

use super::wrap::{WIDEST, wrap};
use crate::{Verdict, one_line, printable};
use imgcheck_model::finding::Finding;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Adds an empty line unless it would be the first.
pub(crate) fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

pub(crate) fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The verdict on findings in its color.
pub(crate) fn colored(verdict: Verdict, findings: &[Finding]) -> String {
    colored_word(verdict, verdict.above(findings))
}

/// A word of a verdict, in its color.
pub(crate) fn colored_word(verdict: Verdict, word: &str) -> String {
    let style = match verdict {
        Verdict::Pass if word == verdict.above(&[]) => color(AnsiColor::Green),
        Verdict::Pass | Verdict::Incomplete => color(AnsiColor::Yellow),
        Verdict::Fail => color(AnsiColor::Red),
    };
    format!("{style}{word}{style:#}")
}

pub(crate) fn table(width: Option<u16>, header: &[&str]) -> Table {
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
            .set_width(width.min(WIDEST))
            .set_content_arrangement(ContentArrangement::Dynamic),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

pub(crate) fn color(color: AnsiColor) -> Style {
    color.on_default().bold()
}

/// The table as text. Columns are at least as wide as their longest word, so that no word is broken.
pub(crate) fn show(mut table: Table) -> String {
    let mut longest: Vec<u16> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (index, cell) in row.cell_iter().enumerate() {
            let content = cell.content();
            let words = content.split_whitespace().map(|word| word.chars().count());
            let word = u16::try_from(words.max().unwrap_or(0)).unwrap_or(u16::MAX);
            match longest.get_mut(index) {
                Some(known) => *known = word.max(*known),
                None => longest.push(word),
            }
        }
    }
    for (column, word) in table.column_iter_mut().zip(longest) {
        // The padding is part of the width.
        let width = Width::Fixed(word.saturating_add(2));
        column.set_constraint(ColumnConstraint::LowerBoundary(width));
    }
    table.trim_fmt()
}

/// Columns in front of the text of a field.
const LABEL: usize = 12;

pub(crate) fn field(out: &mut String, name: &str, text: &str, width: Option<u16>) {
    paragraph(out, name, &one_line(text), width);
}

/// A field whose text may have several lines.
pub(crate) fn paragraph(out: &mut String, name: &str, text: &str, width: Option<u16>) {
    let text = wrap(&printable(text), LABEL, width);
    let name = one_line(name);
    line(out, &format!("  {DIM}{name:>8}{DIM:#}  {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_no_wider_than_prose() {
        let shown = |width| {
            let mut table = table(Some(width), &["RULE", "TITLE"]);
            table.add_row(["load-missing-library", "a word ".repeat(40).trim()]);
            anstream::adapter::strip_str(&show(table)).to_string()
        };
        assert_eq!(shown(200), shown(WIDEST));
        assert!(shown(200).lines().all(|it| it.chars().count() <= 120));
        assert_ne!(shown(200), shown(80));
    }
}
