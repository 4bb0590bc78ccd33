//! The fields that a word becomes.

use std::rc::Rc;

use crate::shell::pattern::PatternChar;
use crate::value::Cause;

/// A field under construction.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub text: Vec<PatternChar>,
    pub unknown: Option<Rc<Cause>>,
    /// How many characters of the text come before the unknown part.
    known: usize,
    /// The unknown part may be split into any number of fields.
    pub many: bool,
    /// It stays even if it is empty.
    pub kept: bool,
}

/// The fields of a word under construction.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub done: Vec<Field>,
    pub current: Field,
}

impl Field {
    /// The option whose value has the unknown part: `--rank` of `--rank=$RANK`.
    pub fn option(&self) -> Option<String> {
        let known = self.text.iter().take(self.known).map(|(c, _)| *c);
        let known: String = known.collect();
        let (name, _) = known.split_once('=')?;
        name.starts_with("--").then(|| name.to_owned())
    }
}

impl Fields {
    pub fn end_field(&mut self) {
        let field = std::mem::take(&mut self.current);
        if field.kept || !field.text.is_empty() || field.unknown.is_some() {
            self.done.push(field);
        }
    }

    pub fn literal(&mut self, text: &str, quoted: bool) {
        self.current.kept |= quoted;
        self.current.text.extend(text.chars().map(|c| (c, quoted)));
    }

    pub fn unknown(&mut self, cause: Rc<Cause>, many: bool) {
        if self.current.unknown.is_none() {
            self.current.known = self.current.text.len();
            self.current.unknown = Some(cause);
        }
        self.current.many |= many;
    }

    /// A value that is not quoted: it is split at the characters of IFS.
    pub fn split(&mut self, text: &str, separators: &str) {
        let is_blank = |c: char| separators.contains(c) && matches!(c, ' ' | '\t' | '\n');
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if !separators.contains(c) {
                self.current.text.push((c, false));
                continue;
            }
            // Blanks around one other separator belong to it.
            let mut others = usize::from(!is_blank(c));
            while let Some(&next) = chars.peek() {
                let is_other = separators.contains(next) && !is_blank(next);
                if !(is_blank(next) || is_other && others == 0) {
                    break;
                }
                others += usize::from(is_other);
                chars.next();
            }
            self.current.kept |= others > 0;
            self.end_field();
        }
    }
}
