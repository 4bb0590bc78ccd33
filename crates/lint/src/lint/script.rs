//! The text of a shell script or of a Dockerfile instruction, and where its parts are in the file.

use std::borrow::Cow;
use std::ops::Range;

use imgcheck_launch::shell::syntax::{
    AssignedValue, Assignment, Expansion, List, Piece, Target, Word,
};
use imgcheck_launch::shell::tolerant;

use super::command::Command;
use super::install::Argument;
use super::variables::{Expanded, Values};

/// A script as a shell gets it: without the ends of continued lines of a Dockerfile, and with Unix line endings.
#[derive(Debug, Clone, Default)]
pub struct Script<'s> {
    /// The text.
    pub text: Cow<'s, str>,
    /// Where its parts begin: in the text, and in the file.
    parts: Vec<(usize, usize)>,
}

impl<'s> Script<'s> {
    /// A script at a position of a file.
    pub fn new(text: &'s str, offset: usize) -> Self {
        let script = Script {
            text: Cow::Borrowed(text),
            parts: vec![(0, offset)],
        };
        match text.contains('\r') {
            true => Script::default().with(text, offset, None),
            false => script,
        }
    }

    /// An instruction of a Dockerfile, whose continued lines end in an escape character.
    pub fn instruction(text: &str, offset: usize, escape: char) -> Self {
        Script::default().with(text, offset, Some(escape))
    }

    /// Adds lines, for example the here-documents behind an instruction. Those that end in an escape character are joined as BuildKit
    /// does (`frontend/dockerfile/parser/parser.go`): comments and empty lines may come between them, and two escape characters do not continue
    /// a line.
    pub fn with(mut self, text: &str, offset: usize, escape: Option<char>) -> Self {
        let mut at = offset;
        let mut is_continued = false;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            let kept = escape.and_then(|escape| {
                let kept = content.trim_end().strip_suffix(escape)?;
                (!kept.ends_with(escape)).then_some(kept)
            });
            let written = content.trim();
            if is_continued && (written.is_empty() || written.starts_with('#')) {
                at += line.len();
                continue;
            }
            self.push(kept.unwrap_or(content), at);
            if kept.is_none() && line.ends_with('\n') {
                self.push("\n", at + line.len() - 1);
            }
            is_continued = kept.is_some();
            at += line.len();
        }
        self
    }

    /// Adds the text of a YAML scalar and the end of its last line. Its lines are looked up in its range of the file, because they are indented or quoted
    /// there; a text with escapes, whose lines are not there, is left out.
    pub fn with_scalar(mut self, file: &str, text: &str, range: Range<usize>) -> Self {
        let written = file.get(range.clone()).unwrap_or_default();
        let mut places = Vec::new();
        let mut at = 0;
        for line in text.lines() {
            let Some(found) = written.get(at..).and_then(|rest| rest.find(line)) else {
                return self;
            };
            at += found;
            places.push((line, range.start + at));
            at += line.len();
        }
        for (line, place) in places {
            self.push(line, place);
            self.push("\n", place + line.len());
        }
        self
    }

    fn push(&mut self, text: &str, place: usize) {
        self.parts.push((self.text.len(), place));
        self.text.to_mut().push_str(text);
    }

    /// A part of it.
    pub fn part(&self, range: Range<usize>) -> Script<'_> {
        let later = self.parts.iter();
        let later = later.filter(|(start, _)| range.contains(start));
        let later = later.map(|(start, place)| (start - range.start, *place));
        Script {
            parts: [(0, self.place(range.start))]
                .into_iter()
                .chain(later)
                .collect(),
            text: Cow::Borrowed(self.written(range)),
        }
    }

    /// Where a range is in the file.
    pub fn span(&self, range: Range<usize>) -> Range<usize> {
        let start = self.place(range.start);
        match range.is_empty() {
            true => start..start,
            false => start..self.place(range.end - 1) + 1,
        }
    }

    fn place(&self, at: usize) -> usize {
        let behind = self.parts.partition_point(|(start, _)| *start <= at);
        let part = self.parts.get(behind.saturating_sub(1));
        part.map_or(at, |(start, place)| place + at - start)
    }

    /// The text of a range.
    pub fn written(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Its commands.
    ///
    /// # Errors
    /// It is nested too deeply, or too much of it cannot be parsed: the position in the file, and what is wrong.
    pub fn parse(&self) -> Result<List, (Range<usize>, String)> {
        tolerant(&self.text).map_err(|(at, problem)| (self.span(at..at), problem))
    }

    /// A word without quotes and with expanded variables.
    pub fn value(&self, word: &Word, values: Values<'_>) -> Expanded {
        let mut out = Expanded::empty();
        for piece in &word.pieces {
            if out.is_full() {
                break;
            }
            match piece {
                Piece::Literal { text, .. } => out.text.push_str(text),
                Piece::Expansion { span, kind } => {
                    let written = self.written(span.clone());
                    match kind {
                        Expansion::Tilde => out.text.push_str(written),
                        _ => out.push_expansion(written, values),
                    }
                }
            }
        }
        out
    }

    /// The assignments and words of a command.
    pub fn arguments(&self, command: &Command<'_>, values: Values<'_>) -> Vec<Argument> {
        let argument = |expanded: Expanded, span: &Range<usize>| Argument {
            text: expanded.text,
            known: expanded.known,
            span: self.span(span.clone()),
        };
        let assigned = command.assignments.iter();
        let assigned = assigned.map(|it| argument(self.assigned(it, values), &it.span));
        let words = command.words.iter();
        let words = words.map(|it| argument(self.value(it, values), &it.span));
        assigned.chain(words).collect()
    }

    fn assigned(&self, assignment: &Assignment, values: Values<'_>) -> Expanded {
        let Range { start, end } = assignment.span;
        let AssignedValue::Text(word) = &assignment.value else {
            return Expanded {
                text: self.written(start..end).to_owned(),
                known: false,
            };
        };
        let value = self.value(word, values);
        let name = self.written(start..word.span.start);
        Expanded {
            text: format!("{name}{}", value.text),
            ..value
        }
    }

    /// The here-document that is the standard input of a command.
    pub fn here_document(&self, command: &Command<'_>) -> Option<Script<'_>> {
        let body = command
            .redirects
            .iter()
            .rev()
            .find_map(|it| match &it.target {
                Target::Here(body) => body.get(),
                Target::Word(_) => None,
            });
        body.map(|body| self.part(body.span.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_joined_and_keep_their_places() {
        let text = "a \\\n  # not \\\n\n  b\\ \r\nc d\\\\\nü";
        let script = Script::instruction(text, 100, '\\');
        assert_eq!(script.text, "a   bc d\\\\\nü");
        let places = |range: Range<usize>| {
            let Range { start, end } = script.span(range);
            &text[start - 100..end - 100]
        };
        assert_eq!(places(0..1), "a");
        assert_eq!(places(4..6), "b\\ \r\nc");
        assert_eq!(places(7..10), "d\\\\");
        assert_eq!(places(11..13), "ü");
        let part = script.part(4..8);
        assert_eq!(
            (part.text.as_ref(), part.span(3..4)),
            ("bc d", script.span(7..8))
        );
        let file = "a: |\n  x\n   y\nb: 'z'";
        let script = Script::default().with_scalar(file, "x\n y\n", 3..14);
        let script = script.with_scalar(file, "z", 17..20);
        assert_eq!(script.text, "x\n y\nz\n");
        assert_eq!((script.span(3..4), script.span(5..6)), (12..13, 18..19));
        assert_eq!(Script::default().with_scalar(file, "no", 3..14).text, "");
        assert_eq!(Script::instruction("a `\nb\\", 0, '`').text, "a b\\");
        assert_eq!(Script::new("a\r\nb\\\n", 0).text, "a\nb\\\n");
    }
}
