//! The state of a shell: variables, functions, positional parameters, options, working directory.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::syntax::Command;
use crate::value::{Cause, Status, Value};

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Contents {
    Text(Value),
    /// An array of bash.
    Array(Vec<Value>),
}

/// What becomes of values that are assigned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Attribute {
    #[default]
    None,
    /// `readonly`: the assignment fails.
    Constant,
    /// `declare -i`, `-l` and `-u`: they are changed.
    Converted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// `None` if it is declared but not set.
    pub contents: Option<Contents>,
    pub exported: bool,
    pub attribute: Attribute,
    /// Who set it, as in [`crate::process::Setting`].
    pub from: Rc<str>,
}

/// A function; which one it is may be unknown.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Known(Rc<Command>),
    Unknown(Rc<Cause>),
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Function::Known(one), Function::Known(two)) => Rc::ptr_eq(one, two),
            (Function::Unknown(_), Function::Unknown(_)) => true,
            _ => false,
        }
    }
}

/// Where the standard output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sink {
    /// It is not read.
    Dropped,
    /// A command substitution; `None` once something unknown was written.
    Captured(Option<String>),
    /// A command substitution in which one program wrote some number.
    Number,
}

impl Sink {
    /// The text that was written, if it is known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Sink::Captured(Some(text)) => Some(text),
            Sink::Captured(None) | Sink::Number | Sink::Dropped => None,
        }
    }
}

/// The options of `set` that matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub errexit: bool,
    pub allexport: bool,
    pub noglob: bool,
    pub nounset: bool,
    pub nullglob: bool,
    pub extglob: bool,
    pub xtrace: bool,
}

impl Options {
    /// Sets an option by its letter or name; `false` if it is unknown.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        match name {
            "e" | "errexit" => self.errexit = on,
            "a" | "allexport" => self.allexport = on,
            "f" | "noglob" => self.noglob = on,
            "u" | "nounset" => self.nounset = on,
            "x" | "xtrace" => self.xtrace = on,
            _ => return false,
        }
        true
    }
}

/// The option of a letter. `-o` is followed by its name, which is taken from the arguments `rest`.
pub(super) fn option_name(letter: char, rest: &mut &[Value]) -> String {
    if letter != 'o' {
        return letter.to_string();
    }
    let name = rest.first().and_then(Value::known).unwrap_or_default();
    *rest = rest.get(1..).unwrap_or_default();
    name.to_owned()
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub variables: BTreeMap<Rc<str>, Variable>,
    pub functions: BTreeMap<String, Function>,
    pub positional: Vec<Value>,
    pub directory: Value,
    pub options: Options,
    /// Of the last command.
    pub status: Status,
    /// Whether a signal starts something.
    pub traps: bool,
    /// What runs when the shell exits; empty for nothing.
    pub at_exit: Value,
    /// Where the standard output goes.
    pub output: Sink,
}

impl State {
    /// Sets variables to what they were, the last one first; `None` if they were not there.
    pub fn restore(&mut self, variables: Vec<(Rc<str>, Option<Variable>)>) {
        for (name, old) in variables.into_iter().rev() {
            match old {
                Some(old) => self.variables.insert(name, old),
                None => self.variables.remove(&name),
            };
        }
    }

    /// The size, as steps that copying costs.
    pub fn weight(&self) -> usize {
        1 + (self.variables.len() + self.functions.len() + self.positional.len()) / 32
    }

    /// What holds after either of two ways.
    pub fn join(&mut self, other: State, cause: &Rc<Cause>) {
        for (name, variable) in &mut self.variables {
            if !other.variables.contains_key(name) {
                variable.contents = unknown(cause);
            }
        }
        for (name, variable) in other.variables {
            match self.variables.get_mut(&name) {
                Some(own) => own.join(variable, cause),
                None => {
                    let contents = unknown(cause);
                    let joined = Variable {
                        contents,
                        ..variable
                    };
                    self.variables.insert(name, joined);
                }
            }
        }
        let names = self.functions.keys().chain(other.functions.keys());
        let differ = |name: &&String| self.functions.get(*name) != other.functions.get(*name);
        let differing: Vec<String> = names.filter(differ).cloned().collect();
        for name in differing {
            let unknown = Function::Unknown(cause.clone());
            self.functions.insert(name, unknown);
        }
        self.directory = self.directory.clone().or(&other.directory, cause);
        if self.positional != other.positional {
            self.positional = joined_list(&self.positional, &other.positional, cause);
        }
        self.status = self.status.or(other.status);
        self.traps |= other.traps;
        self.at_exit = self.at_exit.clone().or(&other.at_exit, cause);
        if self.output != other.output {
            self.output = Sink::Captured(None);
        }
    }
}

fn unknown(cause: &Rc<Cause>) -> Option<Contents> {
    Some(Contents::Text(Value::Unknown(cause.clone())))
}

impl Variable {
    fn join(&mut self, other: Variable, cause: &Rc<Cause>) {
        let is_exported_alike = self.exported == other.exported;
        let contents = match (self.contents.take(), other.contents) {
            (one, two) if one == two && is_exported_alike => one,
            (Some(Contents::Text(one)), Some(Contents::Text(two))) if is_exported_alike => {
                Some(Contents::Text(one.or(&two, cause)))
            }
            (Some(Contents::Array(one)), Some(Contents::Array(two))) => {
                Some(Contents::Array(joined_list(&one, &two, cause)))
            }
            _ => unknown(cause),
        };
        self.contents = contents;
        self.exported |= other.exported;
        if self.attribute != other.attribute {
            self.attribute = Attribute::Constant;
        }
        if self.from != other.from {
            self.from = other.from;
        }
    }
}

fn joined_list(one: &[Value], two: &[Value], cause: &Rc<Cause>) -> Vec<Value> {
    match one.len() == two.len() {
        true => {
            let pairs = one.iter().zip(two);
            pairs.map(|(one, two)| one.clone().or(two, cause)).collect()
        }
        false => vec![Value::Many(cause.clone())],
    }
}
