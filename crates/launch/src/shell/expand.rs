//! Word expansion (POSIX.1-2024, Shell Command Language, 2.6).

mod fields;
mod parameter;

use std::rc::Rc;

use super::interpreter::Shell;
use super::pattern::{Pattern, is_pattern};
use super::state::{Contents, Sink};
use super::syntax::{Expansion, List, Piece, Word};
use crate::value::{Cause, Value};
use fields::{Field, Fields};
use parameter::Quoting;

/// Linux accepts no longer argument or environment string (`MAX_ARG_STRLEN`, `include/uapi/linux/binfmts.h`).
const MAX_ARG_STRLEN: usize = 128 << 10;
/// Maximum number of fields of one command line. Longer ones come from lists of files, which are arguments of programs that clean up.
const MAX_FIELDS: usize = 4096;

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
        if let Some(cause) = &field.unknown {
            let cause = match field.option() {
                None => cause.clone(),
                Some(option) => Rc::new(Cause {
                    option,
                    ..Cause::clone(cause)
                }),
            };
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
        for piece in &word.pieces {
            match piece {
                Piece::Literal { text, quoted } => fields.literal(text, *quoted),
                Piece::Expansion { kind, .. } => self.expand(kind, fields, splits),
            }
        }
    }

    fn expand(&mut self, expansion: &Expansion, fields: &mut Fields, splits: bool) {
        match expansion {
            Expansion::Tilde => {
                let home = self.variable_value("HOME");
                match home {
                    Ok(Some(Value::Known(home))) => fields.literal(&home, true),
                    _ => fields.unknown(self.cause("a home directory"), false),
                }
            }
            Expansion::Unknown(unknown) => {
                self.arithmetic(&unknown.arithmetic);
                self.expand_whole(&unknown.inside);
                let cause = match unknown.is_number {
                    true => self.number(&*unknown.what),
                    false => self.cause(&*unknown.what),
                };
                fields.unknown(cause, !unknown.is_number);
            }
            Expansion::Process(list) => {
                self.in_subshell(|shell| shell.list(list));
                fields.unknown(self.cause("a process substitution"), false);
            }
            Expansion::Command { list, quoted } => {
                let value = self.substitute_command(list);
                self.add_value(
                    fields,
                    &value,
                    Quoting {
                        quoted: *quoted,
                        splits,
                    },
                );
            }
            Expansion::Parameter {
                name,
                operation,
                quoted,
            } => self.expand_parameter(
                fields,
                name,
                operation,
                Quoting {
                    quoted: *quoted,
                    splits,
                },
            ),
        }
    }

    fn add_value(&mut self, fields: &mut Fields, value: &Value, quoting: Quoting) {
        let Quoting { quoted, splits } = quoting;
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
}
