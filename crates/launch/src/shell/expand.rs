//! Word expansion (POSIX.1-2024, Shell Command Language, 2.6).

mod fields;

use super::interpreter::Shell;
use super::pattern::{Pattern, is_pattern};
use super::state::{Contents, Sink};
use super::syntax::{List, Operation, Piece, Word};
use super::words::is_name;
use crate::value::{Status, Value};
use fields::{Field, Fields};

/// Linux accepts no longer argument or environment string (`MAX_ARG_STRLEN`, `include/uapi/linux/binfmts.h`).
const MAX_ARG_STRLEN: usize = 128 << 10;
/// The most fields of one command line. Longer ones come from lists of files, which are arguments of programs that clean up.
const MAX_FIELDS: usize = 4096;
/// Longer texts are not trimmed: the time grows with the square of the length.
const MAX_TRIMMED: usize = 4096;

impl Shell<'_, '_> {
    /// The fields of words, with splitting and pathname expansion.
    pub(super) fn expand_fields(&mut self, words: &[Word]) -> Vec<Value> {
        let mut values = Vec::new();
        for word in words {
            let mut fields = Fields::default();
            self.expand_pieces(word, &mut fields, true);
            fields.end_field();
            for field in fields.done {
                self.finish_field(field, &mut values);
            }
            if values.len() > MAX_FIELDS {
                return vec![Value::Many(self.cause("too many arguments"))];
            }
        }
        values
    }

    /// The text of a word that is not split: of an assignment, a redirection, a `case`.
    pub(super) fn expand_text(&mut self, word: &Word) -> Value {
        let field = self.expand_whole(word);
        match field.unknown {
            Some(cause) => Value::Unknown(cause),
            None => self.bounded(field.text.into_iter().map(|(c, _)| c).collect()),
        }
    }

    /// A pattern; `None` if it is unknown.
    pub(super) fn expand_pattern(&mut self, word: &Word) -> Option<Pattern> {
        let field = self.expand_whole(word);
        match field.unknown {
            Some(_) => None,
            None => Pattern::new(&field.text, self.state.options.extglob),
        }
    }

    fn expand_whole(&mut self, word: &Word) -> Field {
        let mut fields = Fields::default();
        self.expand_pieces(word, &mut fields, false);
        let mut whole = Field::default();
        fields.done.push(fields.current);
        // `$@` in a place without splitting is joined with blanks.
        for (index, field) in fields.done.into_iter().enumerate() {
            if index > 0 {
                whole.text.push((' ', true));
            }
            whole.text.extend(field.text);
            whole.unknown = whole.unknown.or(field.unknown);
        }
        whole
    }

    /// A text within the limits.
    pub(super) fn bounded(&mut self, text: String) -> Value {
        let fits = self.spend(text.len() / 256) && text.len() < MAX_ARG_STRLEN;
        match fits {
            true => text.into(),
            false => Value::Unknown(self.cause("a text that is too long")),
        }
    }

    fn finish_field(&mut self, field: Field, values: &mut Vec<Value>) {
        if let Some(cause) = field.unknown {
            let is_glob = !self.state.options.noglob && is_pattern(&field.text);
            values.push(match field.many || is_glob {
                true => Value::Many(cause),
                false => Value::Unknown(cause),
            });
            return;
        }
        if !self.state.options.noglob && is_pattern(&field.text) {
            match self.expand_path(&field.text) {
                Ok(paths) if !paths.is_empty() => {
                    values.extend(paths.into_iter().map(Value::from));
                    return;
                }
                Ok(_) if self.state.options.nullglob => return,
                Ok(_) => {}
                Err(what) => {
                    let cause = self.cause(what);
                    values.push(Value::Many(cause));
                    return;
                }
            }
        }
        let text = field.text.into_iter().map(|(c, _)| c).collect();
        let value = self.bounded(text);
        values.push(value);
    }

    fn expand_pieces(&mut self, word: &Word, fields: &mut Fields, splits: bool) {
        for piece in &word.0 {
            match piece {
                Piece::Literal { text, quoted } => fields.literal(text, *quoted),
                Piece::Tilde => {
                    let home = self.variable_value("HOME");
                    match home {
                        Ok(Some(Value::Known(home))) => fields.literal(&home, true),
                        _ => fields.unknown(self.cause("a home directory"), false),
                    }
                }
                Piece::Unknown(unknown) => {
                    self.arithmetic(&unknown.arithmetic);
                    self.expand_whole(&unknown.inside);
                    let cause = match unknown.is_number {
                        true => self.number(&*unknown.what),
                        false => self.cause(&*unknown.what),
                    };
                    fields.unknown(cause, !unknown.is_number);
                }
                Piece::Process(list) => {
                    self.in_subshell(|shell| shell.list(list));
                    fields.unknown(self.cause("a process substitution"), false);
                }
                Piece::Command { list, quoted } => {
                    let value = self.substitute_command(list);
                    self.add_value(fields, &value, *quoted, splits);
                }
                Piece::Parameter {
                    name,
                    operation,
                    quoted,
                } => self.expand_parameter(fields, name, operation, *quoted, splits),
            }
        }
    }

    fn add_value(&mut self, fields: &mut Fields, value: &Value, quoted: bool, splits: bool) {
        fields.current.kept |= quoted;
        match value {
            Value::Known(text) if quoted => fields.literal(text, true),
            Value::Known(text) if !splits => fields.literal(text, false),
            Value::Known(text) => match self.separators() {
                Some(separators) => fields.split(text, &separators),
                None => fields.unknown(self.cause("the variable IFS"), true),
            },
            Value::Unknown(cause) => fields.unknown(cause.clone(), !quoted),
            Value::Many(cause) => fields.unknown(cause.clone(), true),
        }
    }

    /// The characters that separate fields; `None` if they are unknown.
    fn separators(&self) -> Option<String> {
        let Some(variable) = self.state.variables.get("IFS") else {
            return Some(" \t\n".to_owned());
        };
        match &variable.contents {
            None => Some(" \t\n".to_owned()),
            Some(Contents::Text(value)) => value.known().map(str::to_owned),
            Some(Contents::Array(_)) => None,
        }
    }

    /// `$(…)`
    pub(super) fn substitute_command(&mut self, list: &List) -> Value {
        let (line, text) = (self.line, self.text.clone());
        let captured = Sink::Captured(Some(String::new()));
        let outer = std::mem::replace(&mut self.state.output, captured);
        // Outside of its POSIX mode, bash turns `set -e` off here.
        let errexit = self.state.options.errexit;
        self.in_subshell(|shell| {
            shell.state.options.errexit &= shell.posix;
            shell.list(list)
        });
        self.state.options.errexit = errexit;
        let output = std::mem::replace(&mut self.state.output, outer);
        (self.line, self.text) = (line, text);
        match output {
            Sink::Captured(Some(output)) => self.bounded(output.trim_end_matches('\n').to_owned()),
            Sink::Number => Value::Unknown(self.number(format!("`{}`", self.text))),
            _ => Value::Unknown(self.command_cause()),
        }
    }

    fn expand_parameter(
        &mut self,
        fields: &mut Fields,
        name: &str,
        operation: &Operation,
        quoted: bool,
        splits: bool,
    ) {
        let named = match name.strip_prefix('!').filter(|it| !it.is_empty()) {
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
        let name = named.as_str();
        let list = match (name, operation) {
            ("@" | "*", Operation::Value) => Some((self.state.positional.clone(), name == "*")),
            ("@" | "*", Operation::Substring { offset, length }) => {
                let start = usize::try_from(*offset)
                    .ok()
                    .and_then(|it| it.checked_sub(1));
                let all = &self.state.positional;
                let is_sure = !all.iter().any(|it| matches!(it, Value::Many(_)));
                match start.filter(|_| is_sure) {
                    Some(start) => {
                        let items = all.iter().skip(start).take(length.unwrap_or(usize::MAX));
                        Some((items.cloned().collect(), name == "*"))
                    }
                    None => return fields.unknown(self.command_cause(), true),
                }
            }
            (name, Operation::Elements { joined }) => Some((self.elements(name), *joined)),
            _ => None,
        };
        if let Some((items, joined)) = list {
            self.add_list(fields, &items, joined, quoted, splits);
            return;
        }
        let value = match self.parameter(name) {
            Ok(value) => value,
            Err(cause) => return fields.unknown(cause, !quoted),
        };
        match operation {
            Operation::Value => match value {
                Some(value) => self.add_value(fields, &value, quoted, splits),
                None => {
                    self.early_error |= self.state.options.nounset;
                    fields.current.kept |= quoted;
                }
            },
            Operation::Length => {
                let length = match value.as_ref() {
                    None => Value::from("0"),
                    Some(Value::Known(text)) => text.chars().count().to_string().into(),
                    Some(unknown) => unknown.clone(),
                };
                self.add_value(fields, &length, quoted, splits);
            }
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
                self.substitute(
                    fields,
                    name,
                    value,
                    is_set,
                    (*operator, word),
                    quoted,
                    splits,
                );
            }
            Operation::Substring { offset, length } => {
                let part = match value {
                    None => Some(Value::from("")),
                    Some(Value::Known(text)) => substring(&text, *offset, *length).map(Value::from),
                    Some(unknown) => Some(unknown),
                };
                let part = part.unwrap_or_else(|| Value::Unknown(self.command_cause()));
                self.add_value(fields, &part, quoted, splits);
            }
            Operation::Trim {
                suffix,
                longest,
                pattern,
            } => {
                let pattern = self.expand_pattern(pattern);
                let trimmed = match (value, pattern) {
                    (None, _) => Value::from(""),
                    (Some(Value::Known(text)), Some(pattern)) if text.len() <= MAX_TRIMMED => {
                        self.spend(text.len() * text.len() / 65_536);
                        trim(&text, &pattern, *suffix, *longest).into()
                    }
                    (Some(Value::Unknown(cause) | Value::Many(cause)), _) => Value::Unknown(cause),
                    _ => Value::Unknown(self.command_cause()),
                };
                self.add_value(fields, &trimmed, quoted, splits);
            }
            Operation::Elements { .. } | Operation::Unknown => {
                fields.unknown(self.command_cause(), true);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn substitute(
        &mut self,
        fields: &mut Fields,
        name: &str,
        value: Option<Value>,
        is_set: Option<bool>,
        (operator, word): (char, &Word),
        quoted: bool,
        splits: bool,
    ) {
        let takes_word = is_set.map(|is_set| is_set == (operator == '+'));
        match (takes_word, operator) {
            (Some(true), '=') => {
                let text = self.expand_text(word);
                let kept = match self.redirecting {
                    true => Value::Unknown(self.command_cause()),
                    false => text.clone(),
                };
                self.assign(name, Contents::Text(kept), false);
                self.add_value(fields, &text, quoted, splits);
            }
            // The shell exits.
            (Some(true), '?') => {
                self.state.status = Status::Failure(None);
                self.early_error = true;
                fields.unknown(self.command_cause(), false);
            }
            (Some(true), _) => {
                fields.current.kept |= quoted;
                self.expand_pieces(word, fields, splits && !quoted);
            }
            (Some(false), '+') => fields.current.kept |= quoted,
            (Some(false), _) => {
                let value = value.unwrap_or_else(|| Value::from(""));
                self.add_value(fields, &value, quoted, splits);
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

    fn add_list(
        &mut self,
        fields: &mut Fields,
        items: &[Value],
        joined: bool,
        quoted: bool,
        splits: bool,
    ) {
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
            self.add_value(fields, item, quoted, splits);
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
