//! A process between two calls of `execve`: what the next program gets.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::loader_command::{LIBRARY_PATH, LoaderCommand};
use super::value::Value;

/// What sets a variable of the environment, and to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub value: Value,
    /// `image`, `overlay`, or the path of the script.
    pub from: Rc<str>,
}

/// The variables by name.
pub type Environment = BTreeMap<Rc<str>, Setting>;

/// What a program reads from its standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Input {
    /// What the container gets: nothing, or a terminal.
    #[default]
    Inherited,
    /// This text: of a here-document, or of a program before it in a pipe.
    Known(Arc<str>),
    /// A pipe or a file that is not known.
    Unknown,
}

impl Input {
    /// The text, if it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Input::Known(text) => Some(text),
            Input::Inherited | Input::Unknown => None,
        }
    }

    /// What is left of it where another program may have read.
    pub(crate) fn rest(&self) -> Self {
        match self {
            Input::Inherited => Input::Inherited,
            Input::Known(_) | Input::Unknown => Input::Unknown,
        }
    }
}

impl From<Option<&str>> for Input {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Input::Unknown, |it| Input::Known(it.into()))
    }
}

/// What a program is started with.
#[derive(Debug, Clone)]
pub struct Process {
    /// The program, as a path or as a name that is looked up in PATH, and its arguments.
    pub arguments: Vec<Value>,
    pub environment: Environment,
    /// The working directory, absolute.
    pub directory: Value,
    /// User and group as the image configuration writes them; empty for root.
    pub user: Rc<str>,
    /// How it came to this program: the programs and scripts before, each with its reason.
    pub chain: Vec<Rc<super::step::Step>>,
    pub input: Input,
    /// The dynamic loader that is the command, and starts the program that the first argument names.
    pub loader: Option<Rc<LoaderCommand>>,
    /// How deeply the command that starts it is nested in scripts.
    pub depth: usize,
}

impl Process {
    /// Sets the variables that the options of a loader stand for. An error names one that is unknown.
    pub fn apply_loader(&mut self, command: &LoaderCommand) -> Result<(), String> {
        for (name, value) in &command.variables {
            let before = match self.environment.get(*name) {
                // The path replaces the variable; other lists are added to it.
                Some(setting) if *name != LIBRARY_PATH && !command.musl => {
                    let known = setting.value.known();
                    known.ok_or_else(|| format!("{name} is unknown"))?
                }
                _ => "",
            };
            let value = match before {
                "" => value.clone(),
                before => format!("{before}:{value}"),
            };
            self.set(name, &value, &command.loader);
        }
        Ok(())
    }

    /// Sets a variable; `from` is the file that does.
    pub fn set(&mut self, name: &str, value: &str, from: &str) {
        let setting = Setting {
            value: value.into(),
            from: from.into(),
        };
        self.environment.insert(name.into(), setting);
    }

    /// The text of a variable, if it is set and known.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name)?.value.known()
    }
}
