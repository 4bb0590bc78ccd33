//! CSV (RFC 4180), for spreadsheets.

use std::io;

use super::record::FleetRecord;
use super::table::{self, Cell};
use super::writer::{FleetTotals, Sink, Writer};
use crate::one_line;

/// Writes CSV. Lists are joined: findings and other names by blanks, sentences and names of targets by ` | `.
pub(super) struct Csv(csv::Writer<Sink>);

impl Csv {
    pub(super) fn new(sink: Sink) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(sink);
        writer.write_record(table::columns().iter().map(|(name, _)| name))?;
        Ok(Csv(writer))
    }
}

impl Writer for Csv {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        let row = table::row(record);
        let cells = row.into_iter().map(|(name, cell)| text(name, cell));
        Ok(self.0.write_record(cells)?)
    }

    fn finish(mut self: Box<Self>, _: &FleetTotals) -> io::Result<()> {
        self.0.flush()
    }
}

fn text(name: &str, cell: Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Optional(Some(text)) => defused(&text),
        Cell::Optional(None) | Cell::Number(None) => String::new(),
        Cell::Number(Some(number)) => number.to_string(),
        Cell::List(texts) => {
            let between = match name {
                "findings" | "gaps" | "architectures" => " ",
                _ => " | ",
            };
            defused(&texts.join(between))
        }
    }
}

/// A text that no spreadsheet takes for a formula: an apostrophe before its first character makes it text. Full-width signs
/// count, too: spreadsheets for Japanese read them. Control characters are written as `\u{…}`.
fn defused(text: &str) -> String {
    let line = one_line(text);
    match line
        .trim_start()
        .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
    {
        true => format!("'{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text() {
        for hostile in ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", " =1", "\t=1"] {
            let text = defused(hostile);
            let is_text = text.starts_with('\'') || text.starts_with('\\');
            assert!(is_text, "{text}");
        }
        assert_eq!(defused("a=1\n-b"), "a=1\\n-b");
    }
}
