//! The tokens of a Python file.

use std::ops::Range;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    pub kind: TokenKind<'t>,
    /// Byte range in the file.
    pub span: Range<usize>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind<'t> {
    /// A name, a keyword or a number.
    Name(&'t str),
    /// A text without escapes, variables and line breaks.
    Text(&'t str),
    /// Another text, whose value is not known without running the file.
    Computed,
    /// An operator or bracket; `==`, `+=` and others of two characters are one token.
    Operator(&'t str),
    /// The end of a statement, and the indentation of the next one.
    Line(usize),
}

/// Operators of two characters.
const PAIRS: &[&str] = &[
    "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "|=", "&=", "**", "//", "->", ":=",
];

/// The tokens of a file, without comments; inside of brackets a line does not end.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (0, 0usize);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match c {
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '\\' => (None, rest.find('\n').map_or(1, |end| end + 1)),
            '\n' => (Some(TokenKind::Line(indentation(&rest[1..]))), 1),
            c if c.is_whitespace() => (None, c.len_utf8()),
            _ if prefix(rest).is_some() => string(rest),
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                let end = end.unwrap_or(rest.len());
                (Some(TokenKind::Name(&rest[..end])), end)
            }
            c => {
                let pair = PAIRS.iter().find(|pair| rest.starts_with(**pair));
                let length = pair.map_or(c.len_utf8(), |pair| pair.len());
                (Some(TokenKind::Operator(&rest[..length])), length)
            }
        };
        match kind {
            Some(TokenKind::Operator("(" | "[" | "{")) => depth += 1,
            Some(TokenKind::Operator(")" | "]" | "}")) => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = matches!(kind, Some(TokenKind::Line(_))) && depth > 0;
        found.extend(kind.filter(|_| !is_end).map(|kind| Token {
            kind,
            span: at..at + length,
        }));
        at += length;
    }
    found
}

/// The number of blanks at the start of a line.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The letters before the quote of a text, such as `f` or `r`.
fn prefix(text: &str) -> Option<&str> {
    let end = text
        .bytes()
        .take(3)
        .position(|c| matches!(c, b'"' | b'\''))?;
    let letters = &text[..end];
    let is_prefix = letters.len() <= 2 && letters.chars().all(|c| "rRbBuUfF".contains(c));
    is_prefix.then_some(letters)
}

/// A text, and its length with prefix and quotes.
fn string(text: &str) -> (Option<TokenKind<'_>>, usize) {
    let letters = prefix(text).unwrap_or_default();
    let body = &text[letters.len()..];
    let quote = &body[..1];
    let triple = [quote; 3].concat();
    let quote = match body.starts_with(&triple) {
        true => triple.as_str(),
        false => quote,
    };
    let inner = &body[quote.len()..];
    let mut end = 0;
    while let Some(c) = inner[end..].chars().next() {
        if inner[end..].starts_with(quote) || (quote.len() == 1 && c == '\n') {
            break;
        }
        end += c.len_utf8();
        if c == '\\' {
            end += inner[end..].chars().next().map_or(0, char::len_utf8);
        }
    }
    let content = &inner[..end];
    let closing = match inner[end..].starts_with(quote) {
        true => quote.len(),
        false => 0,
    };
    let is_plain = letters.is_empty() && quote.len() == 1 && closing == 1;
    let kind = match is_plain && !content.contains('\\') {
        true => TokenKind::Text(content),
        false => TokenKind::Computed,
    };
    let length = letters.len() + quote.len() + end + closing;
    (Some(kind), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_names_and_ends_of_statements() {
        let kinds = |text| -> Vec<TokenKind<'_>> {
            tokens(text).into_iter().map(|token| token.kind).collect()
        };
        use TokenKind::{Computed, Line, Name, Operator, Text};
        assert_eq!(
            kinds("a += ['x',  # ]\n  \"y\"]\n  b"),
            [
                Name("a"),
                Operator("+="),
                Operator("["),
                Text("x"),
                Operator(","),
                Text("y"),
                Operator("]"),
                Line(2),
                Name("b")
            ]
        );
        assert_eq!(
            kinds("f'x' \"\"\"a\n'b'\"\"\" 'a\\n' r'c' 'é'"),
            [Computed, Computed, Computed, Computed, Text("é")]
        );
        for broken in ["'a", "'''a", "f", "\\", "\"\\", "r", "é'", "[", ")"] {
            tokens(broken);
        }
    }
}
