//! Expressions of a setup.py that read a requirements file.

use super::list::Requirements;
use super::python::Python;
use super::tokens::{Token, TokenKind};

/// Methods between a file and a list of its lines.
const LINES: &[&str] = &[
    "read",
    "readlines",
    "read_text",
    "splitlines",
    "split",
    "strip",
    "rstrip",
];

/// Names that say that a function changes the lines that it reads.
const CHANGES: &[&str] = &["replace", "sub", "lower", "format"];

impl<'t> Python<'t> {
    /// A call of a function of this file that returns the lines of a requirements file.
    pub(super) fn reader(&self, name: &str, open: usize, close: usize) -> Option<Requirements<'t>> {
        let at = (1..self.tokens.len()).find(|at| {
            self.name(*at) == Some(name) && self.name(at - 1) == Some("def") && self.is(at + 1, "(")
        })?;
        let end = self.block_end(at);
        let mut inside = self.tokens[at..end].iter().map(|token| token.kind);
        let names = |wanted: &[&str]| {
            let mut all = self.tokens[at..end].iter();
            all.any(|token| matches!(token.kind, TokenKind::Name(name) if wanted.contains(&name)))
        };
        if !names(&["open", "read_text"]) || names(CHANGES) {
            return None;
        }
        let path = match close - open {
            1 => {
                let mut paths = inside.by_ref().filter_map(|kind| match kind {
                    TokenKind::Text(text) if text.ends_with(".txt") => Some(text),
                    _ => None,
                });
                let path = paths.next()?;
                paths.all(|other| other == path).then_some(path)?
            }
            2 => match self.tokens[open + 1].kind {
                TokenKind::Text(text) if text.ends_with(".txt") => text,
                _ => return None,
            },
            _ => return None,
        };
        Some(Requirements::file(path, self.span(open - 1, close + 1)))
    }

    /// `open("requirements.txt").read().splitlines()`, or the same of a name that `with open("requirements.txt") as name` defines.
    pub(super) fn lines_of(&self, at: usize, end: usize) -> Option<Requirements<'t>> {
        let (path, after) = match self.name(at)? {
            "open" | "Path" => (self.path(at + 1)?, self.closing(at + 1) + 1),
            name => (self.opened(name)?, at + 1),
        };
        let mut next = after;
        while next < end {
            let method = self.name(next + 1).filter(|_| self.is(next, "."));
            if !method.is_some_and(|it| LINES.contains(&it)) || !self.is(next + 2, "(") {
                return None;
            }
            next = self.closing(next + 2) + 1;
        }
        Some(Requirements::file(path, self.span(at, end)))
    }

    /// `[line.strip() for line in file]`, of all lines or of those that are not empty, comments or options.
    pub(super) fn comprehension(&self, open: usize, close: usize) -> Option<Requirements<'t>> {
        let line = self.name(open + 1)?;
        let start = (open..close).find(|at| self.name(*at) == Some("for"))?;
        let element_end = self.trailers(open + 2);
        let is_line = element_end == start && self.is_strip(open + 2, start);
        let is_loop = self.name(start + 1) == Some(line) && self.name(start + 2) == Some("in");
        if !is_line || !is_loop {
            return None;
        }
        let end = self.trailers(start + 4);
        let found = match end {
            end if end == start + 4 => {
                let path = self.opened(self.name(start + 3)?)?;
                Requirements::file(path, self.span(start + 3, end))
            }
            end => self.lines_of(start + 3, end)?,
        };
        let known = ["if", "not", "and", "or", "len", "strip", "startswith", line];
        let is_known = |token: &Token<'_>| match token.kind {
            TokenKind::Name(name) => known.contains(&name) || name == "0",
            TokenKind::Text(text) => text.chars().all(|c| "#- ".contains(c)),
            TokenKind::Operator(_) => true,
            _ => false,
        };
        let filter = self.tokens.get(end..close)?;
        filter.iter().all(is_known).then_some(found)
    }

    /// Whether nothing, or only `.strip()`, is between two tokens.
    fn is_strip(&self, from: usize, to: usize) -> bool {
        from == to
            || (to == from + 4
                && self.is(from, ".")
                && matches!(self.name(from + 1), Some("strip" | "rstrip")))
    }

    /// The requirements file in the parentheses of `open(…)`.
    fn path(&self, open: usize) -> Option<&'t str> {
        let is_single = self.is(open, "(") && (self.is(open + 2, ")") || self.is(open + 2, ","));
        match self.tokens.get(open + 1)?.kind {
            TokenKind::Text(text) if is_single && text.ends_with(".txt") => Some(text),
            _ => None,
        }
    }

    /// The requirements file of `with open("requirements.txt") as name`.
    fn opened(&self, name: &str) -> Option<&'t str> {
        let mut all = (0..self.tokens.len()).filter(|at| {
            self.name(*at) == Some("open")
                && self.is(at + 1, "(")
                && self.name(self.closing(at + 1) + 1) == Some("as")
                && self.name(self.closing(at + 1) + 2) == Some(name)
        });
        let path = self.path(all.next()? + 1);
        path.filter(|_| all.next().is_none())
    }
}
