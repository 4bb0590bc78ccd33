//! Parameter expansion (POSIX.1-2024, Shell Command Language, 2.6.2).

use super::fields::Fields;
use crate::shell::interpreter::Shell;
use crate::shell::pattern::Pattern;
use crate::shell::state::Contents;
use crate::shell::syntax::{Operation, Word};
use crate::shell::words::is_name;
use crate::value::{Status, Value};

/// Longer texts are not trimmed: the time grows with the square of the length.
const MAX_TRIMMED: usize = 4096;

/// How a value becomes fields.
#[derive(Clone, Copy)]
pub(super) struct Quoting {
    pub quoted: bool,
    pub splits: bool,
}

impl Shell<'_, '_> {
    pub(super) fn expand_parameter(
        &mut self,
        fields: &mut Fields,
        name: &str,
        operation: &Operation,
        quoting: Quoting,
    ) {
        let name = match name.strip_prefix('!').filter(|it| !it.is_empty()) {
            None => name.to_owned(),
            Some(name) => match self.parameter(name).ok().flatten() {
                Some(Value::Known(named)) if is_name(&named) => named.to_string(),
                value => {
                    let cause = value.as_ref().and_then(Value::cause).cloned();
                    let cause = cause.unwrap_or_else(|| self.command_cause());
                    // It may even run a command.
                    self.host.gap(&cause);
                    return fields.unknown(cause, true);
                }
            },
        };
        match self.list_of(&name, operation) {
            Some((Some(items), joined)) => self.add_list(fields, &items, joined, quoting),
            Some((None, _)) => fields.unknown(self.command_cause(), true),
            None => match self.parameter(&name) {
                Ok(value) => self.operate(fields, &name, value, operation, quoting),
                Err(cause) => fields.unknown(cause, !quoting.quoted),
            },
        }
    }

    /// The values of a parameter that is a list, if they are known, and whether they are joined.
    fn list_of(&mut self, name: &str, operation: &Operation) -> Option<(Option<Vec<Value>>, bool)> {
        match (name, operation) {
            ("@" | "*", Operation::Value) => {
                Some((Some(self.state.positional.clone()), name == "*"))
            }
            ("@" | "*", Operation::Substring { offset, length }) => {
                let start = usize::try_from(*offset).ok();
                let start = start.and_then(|it| it.checked_sub(1));
                let all = &self.state.positional;
                let is_sure = !all.iter().any(|it| matches!(it, Value::Many(_)));
                let items = start.filter(|_| is_sure).map(|start| {
                    let items = all.iter().skip(start).take(length.unwrap_or(usize::MAX));
                    items.cloned().collect()
                });
                Some((items, name == "*"))
            }
            (name, Operation::Elements { joined }) => Some((Some(self.elements(name)), *joined)),
            _ => None,
        }
    }

    /// Adds what an operation makes of a value; `None` if the parameter is not set.
    fn operate(
        &mut self,
        fields: &mut Fields,
        name: &str,
        value: Option<Value>,
        operation: &Operation,
        quoting: Quoting,
    ) {
        let result = match operation {
            Operation::Value => match value {
                Some(value) => value,
                None => {
                    if self.state.options.nounset {
                        self.lacks(name);
                    }
                    fields.current.kept |= quoting.quoted;
                    return;
                }
            },
            Operation::Length => match value {
                None => Value::from("0"),
                Some(Value::Known(text)) => text.chars().count().to_string().into(),
                Some(unknown) => unknown,
            },
            Operation::Substitute {
                operator,
                colon,
                word,
            } => {
                let is_set = match &value {
                    None => Some(false),
                    Some(Value::Known(text)) => Some(!(*colon && text.is_empty())),
                    Some(_) => None,
                };
                let takes_word = is_set.map(|is_set| is_set == (*operator == '+'));
                let change = (name, *operator, word);
                return self.substitute(fields, change, value, takes_word, quoting);
            }
            Operation::Substring { offset, length } => {
                let part = match value {
                    None => Some(Value::from("")),
                    Some(Value::Known(text)) => substring(&text, *offset, *length).map(Value::from),
                    Some(unknown) => Some(unknown),
                };
                part.unwrap_or_else(|| Value::Unknown(self.command_cause()))
            }
            Operation::Trim {
                suffix,
                longest,
                pattern,
            } => self.trimmed(value, pattern, *suffix, *longest),
            Operation::Elements { .. } | Operation::Unknown => {
                return fields.unknown(self.command_cause(), true);
            }
        };
        self.add_value(fields, &result, quoting);
    }

    fn trimmed(
        &mut self,
        value: Option<Value>,
        pattern: &Word,
        suffix: bool,
        longest: bool,
    ) -> Value {
        let pattern = self.expand_pattern(pattern);
        match (value, pattern) {
            (None, _) => Value::from(""),
            (Some(Value::Known(text)), Some(pattern)) if text.len() <= MAX_TRIMMED => {
                self.spend(text.len() * text.len() / 65_536);
                trim(&text, &pattern, suffix, longest).into()
            }
            (Some(Value::Unknown(cause) | Value::Many(cause)), _) => Value::Unknown(cause),
            _ => Value::Unknown(self.command_cause()),
        }
    }

    /// `${NAME-WORD}` and the like. `takes_word`: whether the word counts; `None` if that is unknown.
    fn substitute(
        &mut self,
        fields: &mut Fields,
        (name, operator, word): (&str, char, &Word),
        value: Option<Value>,
        takes_word: Option<bool>,
        quoting: Quoting,
    ) {
        let Quoting { quoted, splits } = quoting;
        match (takes_word, operator) {
            (Some(true), '=') => {
                let text = self.expand_text(word);
                let kept = match self.redirecting {
                    true => Value::Unknown(self.command_cause()),
                    false => text.clone(),
                };
                self.assign(name, Contents::Text(kept), false);
                self.add_value(fields, &text, quoting);
            }
            // The shell exits.
            (Some(true), '?') => {
                self.state.status = Status::Failure(None);
                self.lacks(name);
                fields.unknown(self.command_cause(), false);
            }
            (Some(true), _) => {
                fields.current.kept |= quoted;
                self.expand_pieces(word, fields, splits && !quoted);
            }
            (Some(false), '+') => fields.current.kept |= quoted,
            (Some(false), _) => {
                let value = value.unwrap_or_else(|| Value::from(""));
                self.add_value(fields, &value, quoting);
            }
            (None, _) => {
                if operator == '=' {
                    let cause = self.command_cause();
                    self.assign(name, Contents::Text(Value::Unknown(cause)), false);
                }
                let cause = value.as_ref().and_then(Value::cause).cloned();
                fields.unknown(cause.unwrap_or_else(|| self.command_cause()), !quoted);
            }
        }
    }

    /// The shell ends, because a variable is not set.
    fn lacks(&mut self, name: &str) {
        self.early_error = true;
        let cause = self.command_cause();
        self.host.lacks_variable(name, cause);
    }

    /// The elements of an array, or of a variable with one value.
    fn elements(&mut self, name: &str) -> Vec<Value> {
        let variable = self.state.variables.get(name);
        match variable.and_then(|it| it.contents.clone()) {
            Some(Contents::Array(items)) => items,
            Some(Contents::Text(Value::Known(text))) => vec![Value::Known(text)],
            Some(Contents::Text(value)) => {
                let cause = value.cause().cloned();
                vec![Value::Many(cause.unwrap_or_else(|| self.command_cause()))]
            }
            None if name == "BASH_SOURCE" || name == "FUNCNAME" => {
                vec![Value::Many(self.command_cause())]
            }
            None => Vec::new(),
        }
    }

    fn add_list(&mut self, fields: &mut Fields, items: &[Value], joined: bool, quoting: Quoting) {
        let Quoting { quoted, splits } = quoting;
        let separator = match self.separators() {
            Some(separators) => separators.chars().next(),
            None => return fields.unknown(self.cause("the variable IFS"), true),
        };
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                match (joined && quoted) || !splits {
                    true => {
                        let joint = if joined { separator } else { Some(' ') };
                        let joint = joint.map(String::from).unwrap_or_default();
                        fields.literal(&joint, true);
                    }
                    false => fields.end_field(),
                }
            }
            self.add_value(fields, item, quoting);
        }
        // A list that is quoted and joined makes one field even if it is empty.
        fields.current.kept |= joined && quoted;
    }
}

/// A part of a text; `None` if that depends on the locale, or fails.
fn substring(text: &str, offset: i64, length: Option<usize>) -> Option<String> {
    let start = match offset {
        0.. => usize::try_from(offset).ok()?,
        before => match text.len().checked_sub(usize::try_from(-before).ok()?) {
            Some(start) => start,
            None => return Some(String::new()),
        },
    };
    let behind = text.get(start.min(text.len())..)?;
    let length = length.map_or(behind.len(), |it| it.min(behind.len()));
    text.is_ascii().then(|| behind[..length].to_owned())
}

fn trim(text: &str, pattern: &Pattern, suffix: bool, longest: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let lengths = 0..=chars.len();
    let cut = |length: &usize| match suffix {
        true => pattern.matches(&chars[chars.len() - length..]),
        false => pattern.matches(&chars[..*length]),
    };
    let found = match longest {
        true => lengths.rev().find(cut),
        false => lengths.into_iter().find(cut),
    };
    let length = found.unwrap_or(0);
    match suffix {
        true => chars[..chars.len() - length].iter().collect(),
        false => chars[length..].iter().collect(),
    }
}
