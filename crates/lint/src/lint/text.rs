//! The text of a file, and positions in it.

use std::ops::Range;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::yaml;
use imgcheck_model::finding::Location;

/// Maximum length of a line, in bytes. Columns count characters, so lines are scanned often.
const MAX_LINE: usize = 64 * 1024;

/// How much of a line a location shows, in bytes.
const MAX_SHOWN: usize = 1024;

/// A file with the positions of its lines.
pub struct Text<'t> {
    /// The file as the user named it.
    pub name: &'t str,
    /// The contents, without a byte order mark.
    pub text: &'t str,
    starts: Vec<usize>,
    /// The file that this text is a value of, and where.
    outer: Option<Outer<'t>>,
}

/// Where a text is in a file.
struct Outer<'t> {
    file: &'t Text<'t>,
    /// The value, or its key.
    place: usize,
    /// The line of the file above the first one of the text; `None` if its lines are not lines of the file.
    before: Option<usize>,
}

impl<'t> Text<'t> {
    /// # Errors
    /// A line is too long.
    pub fn new(name: &'t str, text: &'t str) -> Result<Self> {
        Text::with_lines_up_to(name, text, MAX_LINE)
    }

    /// # Errors
    /// A line is longer than `limit` bytes.
    pub fn with_lines_up_to(name: &'t str, text: &'t str, limit: usize) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        let long = starts
            .iter()
            .zip(ends)
            .position(|(start, end)| end - start > limit);
        if let Some(line) = long {
            return Err(Error::Rule {
                problem: format!(
                    "error: {name}:{}: line is longer than {limit} bytes",
                    line + 1
                ),
            });
        }
        Ok(Text {
            name,
            text,
            starts,
            outer: None,
        })
    }

    /// A text that is a value at a position of this file, such as a Dockerfile. Locations are in the lines of a block or here-document, and
    /// at the position if it is written in another way.
    ///
    /// # Errors
    /// A line is too long.
    pub fn embedded<'e>(&'e self, content: &'e str, place: usize) -> Result<Text<'e>> {
        let line = self.line_of(place);
        // A block of YAML is at its first line that is not empty.
        let above = (1..line).rev().find(|it| !self.line(*it).trim().is_empty());
        let mut headers = [Some(line), above].into_iter().flatten();
        Ok(Text {
            outer: Some(Outer {
                file: self,
                place,
                before: headers.find(|it| starts_block(self.line(*it))),
            }),
            ..Text::new(self.name, content)?
        })
    }

    /// The location of a range; a range over several lines ends with the first.
    pub fn location(&self, span: Range<usize>) -> Location {
        if let Some(outer) = &self.outer {
            return outer.file.location(self.in_outer(outer, span));
        }
        let at = self.boundary(span.start);
        let end = self.boundary(span.end).max(at);
        let line = self.line_of(at);
        let start = self.start_of(line);
        let whole = self.line(line);
        let characters = |to: usize| {
            let to = (to - start).min(whole.len());
            whole[..to].chars().count()
        };
        let (column, last) = (characters(at), characters(end));
        Location {
            file: self.name.to_owned(),
            line,
            column: column + 1,
            end_column: last.max(column + 1) + 1,
            text: whole[..floor(whole, MAX_SHOWN)].to_owned(),
        }
    }

    /// An error that shows a range.
    pub fn fault(&self, span: Range<usize>, problem: &str, help: Option<&str>) -> Error {
        if let Some(outer) = &self.outer {
            let span = self.in_outer(outer, span);
            return outer.file.fault(span, problem, help);
        }
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        yaml::fault(self.name, self.text, start..end, problem, help)
    }

    /// An error that shows a line of the file, counted from 1.
    pub fn fault_in_line(&self, line: usize, problem: &str) -> Error {
        let file = self.outer.as_ref().map_or(self, |outer| outer.file);
        let start = file.start_of(line);
        file.fault(start..start + 1, problem, None)
    }

    /// The file name without directories.
    pub fn file_name(&self) -> &'t str {
        self.name.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// The range of a value without its quotes.
    pub fn without_quotes(&self, span: Range<usize>) -> Range<usize> {
        let written = self.text.get(span.clone()).unwrap_or_default();
        let inner = written.trim_end().trim_start_matches(['"', '\'']);
        let start = span.start + (written.trim_end().len() - inner.len());
        start..start + inner.trim_end_matches(['"', '\'']).len()
    }

    /// The first byte of a line, counted from 1.
    pub fn start_of(&self, line: usize) -> usize {
        let start = self.starts.get(line.saturating_sub(1));
        start.copied().unwrap_or(self.text.len())
    }

    /// The line of a byte, counted from 1.
    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// A line, counted from 1, without its end.
    fn line(&self, line: usize) -> &'t str {
        let rest = self.text.get(self.start_of(line)..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Where a range is in the file that this text is a value of. Its lines may be indented there, or have variables.
    fn in_outer(&self, outer: &Outer<'_>, span: Range<usize>) -> Range<usize> {
        let Some(before) = outer.before else {
            return outer.place..outer.place;
        };
        let line = self.line_of(span.start);
        let (own, start) = (self.line(line), outer.file.start_of(before + line));
        let written = outer.file.line(before + line);
        match written.find(own) {
            Some(indent) => {
                let shift = |at: usize| start + indent + at.saturating_sub(self.start_of(line));
                let end = start + written.len();
                shift(span.start)..shift(span.end).min(end)
            }
            None => start + (written.len() - written.trim_start().len())..start + written.len(),
        }
    }

    fn boundary(&self, at: usize) -> usize {
        floor(self.text, at)
    }
}

/// Whether the lines below are a text: a block of YAML (`key: |`) or a here-document of HCL (`key = <<EOT`).
fn starts_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let indicators = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-');
    let value = line.split_once('=').map_or("", |(_, value)| value.trim());
    value.starts_with("<<") || line.trim_end_matches(indicators).ends_with('|')
}

/// The last character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = Text::new("f", "\u{feff}a\nüb torch==1\r\nc").unwrap();
        let at = text.text.find("torch").unwrap();
        let place = text.location(at..at + 8);
        assert_eq!((place.line, place.column, place.end_column), (2, 4, 12));
        assert_eq!(place.text, "üb torch==1");
        // A range over several lines ends with the first.
        assert_eq!(text.location(at..text.text.len()).end_column, 12);
        // An empty range is one character wide, and one after the end is at the end.
        let end = text.location(900..901);
        assert_eq!((end.line, end.column, end.end_column), (3, 2, 3));
    }
}
