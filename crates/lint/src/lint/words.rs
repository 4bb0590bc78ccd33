//! The words of a text in which quotes and escapes hold words together, and nothing else has a meaning: of the instructions `ENV`, `ARG` and
//! `LABEL`, and of requirements.

use std::ops::Range;

use super::variables::expression;

/// A word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// As written, with quotes and variables.
    pub raw: &'t str,
    /// Byte offset in the text.
    pub start: usize,
}

impl Word<'_> {
    /// Byte range in the text.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.raw.len()
    }
}

/// The words of a text.
pub fn words(text: &str, escape: char) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if is_blank(rest) {
            at += 1;
            continue;
        }
        let end = at + length(rest, escape).max(1);
        let raw = text.get(at..end).unwrap_or_default();
        words.push(Word { raw, start: at });
        at = end;
    }
    words
}

fn is_blank(text: &str) -> bool {
    text.starts_with([' ', '\t', '\r', '\n'])
}

/// The length of the word at the start of a text.
fn length(text: &str, escape: char) -> usize {
    let mut at = 0;
    let mut quote = None;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, _) if is_blank(rest) => break,
            (_, c) if c == escape => {
                let next = rest[c.len_utf8()..].chars().next();
                at += next.map_or(0, char::len_utf8);
            }
            (_, '$' | '`') => {
                at += expression(rest);
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    at
}

/// An option that is joined to its value, apart (POSIX.1-2024, Utility Conventions; GNU getopt_long): `--name=value`, `-nvalue`. Without
/// a value, the option as it is.
pub(crate) fn option_and_value(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
    }
    let end = word.chars().take(2).map(char::len_utf8).sum();
    let (name, value) = word.split_at(end);
    (name, (!value.is_empty()).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_hold_words_together() {
        let text = "A='b c'==1 d\\ e \"f;g\"\nx$(a b)y ${A:-b c}";
        let found = words(text, '\\');
        let raw: Vec<&str> = found.iter().map(|it| it.raw).collect();
        let expected = ["A='b c'==1", "d\\ e", "\"f;g\"", "x$(a b)y", "${A:-b c}"];
        assert_eq!(raw, expected);
        assert_eq!(found[1].start, 11);
    }
}
