//! Parses simple commands: assignments, words, redirections (POSIX.1-2024, Shell Command Language, 2.7 and 2.9.1).

use std::cell::OnceCell;
use std::rc::Rc;

use super::parser::{Parser, PendingHere, Problem, Until, refused};
use super::syntax::{AssignedValue, Assignment, CommandKind, Piece, Redirect, Target, Word};
use super::words::{ends_word, is_name};

const REDIRECTS: [&str; 12] = [
    "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>",
];

/// What a simple command consists of.
#[derive(Default)]
struct Parts {
    assignments: Vec<Assignment>,
    words: Vec<Word>,
    arrays: Vec<Assignment>,
    redirects: Vec<Redirect>,
}

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Result<(CommandKind, Vec<Redirect>), Problem> {
        let mut parts = Parts::default();
        loop {
            self.separator_blanks();
            let is_function = parts.assignments.is_empty() && parts.words.len() == 1;
            if is_function && self.cursor.peek() == Some('(') {
                return self.function_of(&parts.words, parts.redirects);
            }
            let start = self.place();
            match self.part(&mut parts) {
                Ok(true) => {}
                Ok(false) => break,
                // The command without what cannot be parsed.
                Err(_) if !parts.words.is_empty() && self.recovers(start) => break,
                Err(problem) => return Err(problem),
            }
        }
        if parts.assignments.is_empty() && parts.words.is_empty() && parts.redirects.is_empty() {
            let found = self
                .cursor
                .peek()
                .map_or("end".to_owned(), |c| format!("`{}`", c.escape_debug()));
            return refused(format!("an unexpected {found}"));
        }
        let kind = CommandKind::Simple {
            assignments: parts.assignments,
            words: parts.words,
            arrays: parts.arrays,
        };
        Ok((kind, parts.redirects))
    }

    /// Adds the next part of a simple command; false at its end.
    fn part(&mut self, parts: &mut Parts) -> Result<bool, Problem> {
        if let Some(redirect) = self.redirect()? {
            parts.redirects.push(redirect);
        } else if parts.words.is_empty()
            && let Some(assignment) = self.assignment()?
        {
            parts.assignments.push(assignment);
        } else if let Some(array) = self.declared_array(&parts.words)? {
            parts.words.push(Word {
                span: array.span.start..array.span.start + array.name.len(),
                pieces: vec![Piece::Literal {
                    text: array.name.clone(),
                    quoted: false,
                }],
            });
            parts.arrays.push(array);
        } else {
            match self.cursor.peek() {
                Some('(') => return refused("an unexpected `(`"),
                Some(c) if !ends_word(c) || matches!(c, '<' | '>') => {
                    parts.words.push(self.some_word()?);
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// `NAME=(…)` behind `declare` and the like.
    fn declared_array(&mut self, words: &[Word]) -> Result<Option<Assignment>, Problem> {
        let command = words.first().and_then(Word::plain).unwrap_or_default();
        let declares = matches!(
            command,
            "declare" | "typeset" | "local" | "export" | "readonly"
        );
        let rest = self.cursor.rest();
        let end = rest.find('=').unwrap_or(rest.len());
        let is_array = is_name(&rest[..end]) && rest[end..].starts_with("=(");
        match self.bash && declares && is_array {
            true => self.assignment(),
            false => Ok(None),
        }
    }

    pub(super) fn function_of(
        &mut self,
        words: &[Word],
        redirects: Vec<Redirect>,
    ) -> Result<(CommandKind, Vec<Redirect>), Problem> {
        let name = words.first().and_then(Word::plain).map(str::to_owned);
        self.cursor.skip(1);
        self.cursor.blanks();
        match name {
            Some(name) if self.cursor.eat(")") => Ok((self.function(name)?, redirects)),
            _ => refused("an unexpected `(`"),
        }
    }

    /// `NAME=…`, if it is here.
    pub(super) fn assignment(&mut self) -> Result<Option<Assignment>, Problem> {
        let start = self.cursor.offset();
        let rest = self.cursor.rest();
        let length = rest
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (name, behind) = rest.split_at(length);
        if !is_name(name) {
            return Ok(None);
        }
        let name = name.to_owned();
        if self.bash && behind.starts_with('[') {
            let Some((subscript, value)) = behind.split_once(']') else {
                return Ok(None);
            };
            let operator = ["+=", "="].into_iter().find(|it| value.starts_with(it));
            let Some(operator) = operator.filter(|_| !subscript.contains(['$', '`', '\n'])) else {
                return Ok(None);
            };
            let subscript = subscript[1..].to_owned();
            self.cursor
                .skip(length + subscript.len() + 2 + operator.len());
            self.word(Until::Blank, false)?;
            return Ok(Some(Assignment {
                span: start..self.cursor.offset(),
                name,
                append: operator == "+=",
                value: AssignedValue::Element(subscript),
            }));
        }
        let append = self.bash && behind.starts_with("+=");
        if !append && !behind.starts_with('=') {
            return Ok(None);
        }
        let behind = length + 1 + usize::from(append);
        let value = if self.bash && rest[behind..].starts_with('(') {
            self.cursor.skip(behind + 1);
            let mut words = Vec::new();
            loop {
                self.newlines()?;
                if self.cursor.eat(")") {
                    break;
                }
                if self.cursor.rest().starts_with('[') {
                    return Err("an array with subscripts".into());
                }
                words.push(self.some_word()?);
            }
            AssignedValue::Array(words)
        } else {
            self.cursor.skip(behind);
            AssignedValue::Text(self.word(Until::Value, false)?)
        };
        Ok(Some(Assignment {
            span: start..self.cursor.offset(),
            name,
            append,
            value,
        }))
    }

    pub(super) fn redirect(&mut self) -> Result<Option<Redirect>, Problem> {
        let rest = self.cursor.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let behind = &rest[digits..];
        if !(behind.starts_with(['<', '>']) || self.bash && digits == 0 && behind.starts_with("&>"))
        {
            return Ok(None);
        }
        // A process substitution is a word.
        if self.bash && (behind.starts_with("<(") || behind.starts_with(">(")) {
            return Ok(None);
        }
        let Some(operator) = REDIRECTS.into_iter().find(|it| behind.starts_with(it)) else {
            return Ok(None);
        };
        let descriptor = rest[..digits].parse().ok();
        self.cursor.skip(digits + operator.len());
        self.cursor.blanks();
        if !matches!(operator, "<<" | "<<-") {
            return Ok(Some(Redirect {
                descriptor,
                operator,
                target: Target::Word(self.some_word()?),
            }));
        }
        let start = self.cursor.offset();
        self.some_word()?;
        let written = self.cursor.since(start);
        let body = Rc::new(OnceCell::new());
        self.here.push(PendingHere {
            delimiter: written.replace(['\'', '"', '\\'], ""),
            literal: written.contains(['\'', '"', '\\']),
            strip_tabs: operator == "<<-",
            body: body.clone(),
        });
        Ok(Some(Redirect {
            descriptor,
            operator: "<<",
            target: Target::Here(body),
        }))
    }
}
