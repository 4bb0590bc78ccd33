//! The arguments of `setup()` that can be read from a setup.py without running it.

use std::cell::Cell;
use std::ops::Range;

use super::list::{Part, Requirements};
use super::tokens::{Token, TokenKind, tokens};

/// The maximum nesting of an expression, counting the values of names.
const MAX_DEPTH: usize = 16;

/// Functions that keep the elements of a list.
const SAME: &[&str] = &["list", "tuple", "sorted", "set"];

/// The maximum number of tokens of a file that is read, and of names whose values are looked up: each look-up goes through all tokens.
const MAX_TOKENS: usize = 50_000;
const MAX_NAMES: usize = 1000;

/// A Python file.
pub struct Python<'t> {
    pub(super) tokens: Vec<Token<'t>>,
    end: usize,
    /// How many names may still be looked up.
    left: Cell<usize>,
}

impl<'t> Python<'t> {
    pub fn new(text: &'t str) -> Self {
        let mut tokens = tokens(text);
        if tokens.len() > MAX_TOKENS {
            tokens.clear();
        }
        Python {
            tokens,
            end: text.len(),
            left: Cell::new(MAX_NAMES),
        }
    }

    /// Whether the file calls `setup()`.
    pub fn calls_setup(&self) -> bool {
        let calls = |at: usize| {
            matches!(self.name(at), Some("setup"))
                && self.is(at + 1, "(")
                && self.name(at.wrapping_sub(1)) != Some("def")
        };
        (0..self.tokens.len()).any(calls)
    }

    /// `install_requires`.
    pub fn main(&self) -> Requirements<'t> {
        self.argument("install_requires")
            .map_or_else(Requirements::default, |at| self.whole(at, 0))
    }

    /// The extras of `extras_require`, and what of them is not read.
    pub fn extras(&self) -> (Vec<(&'t str, Requirements<'t>)>, Vec<Range<usize>>) {
        let Some(at) = self.argument("extras_require") else {
            return (Vec::new(), Vec::new());
        };
        let mut extras = Vec::new();
        let mut unread = Vec::new();
        self.dictionary(at, 0, &mut extras, &mut unread);
        (extras, unread)
    }

    /// The position of the value of an argument; that of its name if it is passed more than once.
    fn argument(&self, name: &str) -> Option<usize> {
        let passed = |at: &usize| {
            self.name(*at) == Some(name)
                && self.is(at + 1, "=")
                && (self.is(at.wrapping_sub(1), "(") || self.is(at.wrapping_sub(1), ","))
        };
        let mut all = (0..self.tokens.len()).filter(passed);
        let first = all.next()?;
        Some(all.next().map_or(first + 2, |_| first))
    }

    /// An expression up to the end of its statement or argument.
    fn whole(&self, at: usize, depth: usize) -> Requirements<'t> {
        let (mut found, end) = self.sum(at, depth);
        if !self.is_end(end) {
            found = Requirements::unread(self.expression(at));
        }
        found
    }

    /// The range up to the end of a statement or argument.
    fn expression(&self, at: usize) -> Range<usize> {
        let mut end = at;
        while !self.is_end(end) {
            end = match self.tokens[end].kind {
                TokenKind::Operator("(" | "[" | "{") => self.closing(end) + 1,
                _ => end + 1,
            };
        }
        self.span(at, end)
    }

    /// Whether an expression ends before a token.
    fn is_end(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|token| {
            matches!(
                token.kind,
                TokenKind::Line(_) | TokenKind::Operator(")" | "]" | "}" | "," | ";")
            )
        })
    }

    /// Lists that are added to each other, and where they end.
    fn sum(&self, at: usize, depth: usize) -> (Requirements<'t>, usize) {
        let (mut found, mut end) = self.term(at, depth);
        while self.is(end, "+") {
            let (other, next) = self.term(end + 1, depth);
            found.add(other);
            end = next;
        }
        (found, end)
    }

    fn term(&self, at: usize, depth: usize) -> (Requirements<'t>, usize) {
        let unread = || Requirements::unread(self.span(at, at + 1));
        if depth > MAX_DEPTH {
            return (unread(), at + 1);
        }
        match self.tokens.get(at).map(|token| token.kind) {
            Some(TokenKind::Operator(open @ ("[" | "("))) => {
                let close = self.closing(at);
                let file = match open {
                    "[" => self.comprehension(at, close),
                    _ => None,
                };
                let found = file.unwrap_or_else(|| self.elements(at + 1, close, depth));
                (found, close + 1)
            }
            Some(TokenKind::Name(name)) if self.is(at + 1, "(") || self.is(at + 1, ".") => {
                let end = self.trailers(at + 1);
                let first = self.closing(at + 1);
                let is_plain_call = self.is(at + 1, "(") && end == first + 1;
                let found = match is_plain_call {
                    true if SAME.contains(&name) && first == at + 2 => {
                        Some(Requirements::default())
                    }
                    true if SAME.contains(&name) => Some(self.whole(at + 2, depth + 1)),
                    true => self.reader(name, at + 1, first),
                    false => self.lines_of(at, end),
                };
                let unread = || Requirements::unread(self.span(at, end));
                (found.unwrap_or_else(unread), end)
            }
            Some(TokenKind::Name(name)) => (self.value(name, at, depth), at + 1),
            _ => (unread(), at + 1),
        }
    }

    /// The elements of a list.
    fn elements(&self, from: usize, close: usize, depth: usize) -> Requirements<'t> {
        let mut found = Requirements::default();
        let mut at = from;
        while at < close {
            let end = self.element_end(at, close);
            match self.tokens[at].kind {
                TokenKind::Text(text) if end == at + 1 => {
                    let start = self.tokens[at].span.start + 1;
                    let span = start..start + text.len();
                    found.parts.push(Part::Requirement { text, span });
                }
                TokenKind::Operator("*") => found.add(self.whole(at + 1, depth + 1)),
                _ => found.unread.push(self.span(at, end)),
            }
            at = end + 1;
        }
        found
    }

    /// The position of the comma after an element, or of the closing bracket.
    fn element_end(&self, at: usize, close: usize) -> usize {
        let mut at = at;
        while at < close && !self.is(at, ",") {
            at = match self.tokens[at].kind {
                TokenKind::Operator("(" | "[" | "{") => self.closing(at) + 1,
                _ => at + 1,
            };
        }
        at.min(close)
    }

    /// The value of a name that is assigned once; later changes of it are not read.
    fn value(&self, name: &str, at: usize, depth: usize) -> Requirements<'t> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        let assigned = match left {
            0 => Vec::new(),
            _ => self.assignments(name),
        };
        let [value] = assigned[..] else {
            return Requirements::unread(self.span(at, at + 1));
        };
        let mut found = self.whole(value, depth + 1);
        found.unread.extend(self.changes(name));
        found
    }

    /// The positions of the values that are assigned to a name.
    fn assignments(&self, name: &str) -> Vec<usize> {
        let starts = (0..self.tokens.len())
            .filter(|at| self.name(*at) == Some(name) && self.starts_statement(*at));
        let value = |at: usize| {
            if self.is(at + 1, "=") {
                return Some(at + 2);
            }
            // `name: list[str] = []`
            let end = (at..self.tokens.len()).find(|it| self.is(*it, "=") || self.is_line(*it));
            end.filter(|end| self.is(at + 1, ":") && self.is(*end, "="))
                .map(|end| end + 1)
        };
        starts.filter_map(value).collect()
    }

    /// Statements that change the value of a name.
    fn changes(&self, name: &str) -> Vec<Range<usize>> {
        let all = (0..self.tokens.len())
            .filter(|at| self.name(*at) == Some(name) && self.starts_statement(*at));
        all.filter(|at| ["+=", ".", "["].iter().any(|it| self.is(at + 1, it)))
            .map(|at| self.expression(at))
            .collect()
    }

    fn dictionary(
        &self,
        at: usize,
        depth: usize,
        extras: &mut Vec<(&'t str, Requirements<'t>)>,
        unread: &mut Vec<Range<usize>>,
    ) {
        match self.tokens.get(at).map(|token| token.kind) {
            Some(TokenKind::Operator("{")) => {
                let close = self.closing(at);
                let mut at = at + 1;
                while at < close {
                    let end = self.element_end(at, close);
                    match self.tokens[at].kind {
                        TokenKind::Text(name) if self.is(at + 1, ":") => {
                            extras.push((name, self.whole(at + 2, depth + 1)));
                        }
                        _ => unread.push(self.span(at, end)),
                    }
                    at = end + 1;
                }
                if !self.is_end(close + 1) {
                    unread.push(self.span(close + 1, close + 2));
                }
            }
            Some(TokenKind::Name(name)) if self.is_end(at + 1) && depth == 0 => {
                let assigned = self.assignments(name);
                let [value] = assigned[..] else {
                    unread.push(self.span(at, at + 1));
                    return;
                };
                self.dictionary(value, depth + 1, extras, unread);
                self.items(name, extras, unread);
            }
            _ => unread.push(self.expression(at)),
        }
    }

    /// `extras["name"] = […]`
    fn items(
        &self,
        name: &str,
        extras: &mut Vec<(&'t str, Requirements<'t>)>,
        unread: &mut Vec<Range<usize>>,
    ) {
        for at in (0..self.tokens.len())
            .filter(|at| self.name(*at) == Some(name) && self.starts_statement(*at))
        {
            let is_item = self.is(at + 1, "[") && self.is(at + 3, "]") && self.is(at + 4, "=");
            match self.tokens.get(at + 2).map(|token| token.kind) {
                Some(TokenKind::Text(key)) if is_item => {
                    extras.push((key, self.whole(at + 5, 1)));
                }
                _ if ["+=", ".", "["].iter().any(|it| self.is(at + 1, it)) => {
                    unread.push(self.expression(at));
                }
                _ => {}
            }
        }
    }

    /// The end of calls, subscripts and attributes.
    pub(super) fn trailers(&self, at: usize) -> usize {
        let mut at = at;
        loop {
            at = match self.tokens.get(at).map(|token| token.kind) {
                Some(TokenKind::Operator("(" | "[")) => self.closing(at) + 1,
                Some(TokenKind::Operator(".")) => at + 2,
                _ => return at.min(self.tokens.len()),
            };
        }
    }

    /// The token after the body of a function whose name is at a position.
    pub(super) fn block_end(&self, at: usize) -> usize {
        let before = self.tokens[..at].iter().rev();
        let own = before.clone().find_map(|token| match token.kind {
            TokenKind::Line(indentation) => Some(indentation),
            _ => None,
        });
        let own = own.unwrap_or(0);
        let ends = |it: &usize| match self.tokens[*it].kind {
            TokenKind::Line(indentation) => {
                indentation <= own && !self.is_line(it + 1) && it + 1 < self.tokens.len()
            }
            _ => false,
        };
        (at..self.tokens.len())
            .find(ends)
            .unwrap_or(self.tokens.len())
    }

    /// The closing bracket of an opening one; the last token if it is missing.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Operator("(" | "[" | "{") => depth += 1,
                TokenKind::Operator(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len().saturating_sub(1)
    }

    fn starts_statement(&self, at: usize) -> bool {
        at == 0 || self.is_line(at - 1) || self.is(at - 1, ";")
    }

    fn is_line(&self, at: usize) -> bool {
        let kind = self.tokens.get(at).map(|token| token.kind);
        matches!(kind, Some(TokenKind::Line(_)))
    }

    pub(super) fn is(&self, at: usize, operator: &str) -> bool {
        let kind = self.tokens.get(at).map(|token| token.kind);
        kind == Some(TokenKind::Operator(operator))
    }

    pub(super) fn name(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at)?.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The range of the tokens before a position.
    pub(super) fn span(&self, from: usize, to: usize) -> Range<usize> {
        let start = self.tokens.get(from).map_or(self.end, |it| it.span.start);
        let last = self.tokens.get(to.saturating_sub(1));
        start..last.map_or(self.end, |it| it.span.end).max(start)
    }
}
