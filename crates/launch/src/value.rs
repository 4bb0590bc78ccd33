//! Values of which some are unknown: what a script makes of them depends on the host, or is not modeled.

use std::rc::Rc;

use imgcheck_base::gap::{Gap, GapCode};

/// Stands for an argument that is unknown: no argument of a program has this character.
pub const UNKNOWN: &str = "\0";

/// Why something is unknown, and where that was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// The script; empty for the image configuration.
    pub path: String,
    /// The layer that the script is in.
    pub layer: Option<usize>,
    /// The line, from 1; 0 without a script.
    pub line: usize,
    /// What is not understood, as a noun phrase or a quoted command.
    pub what: String,
    /// Whether the value is some whole number: arithmetic with it changes nothing.
    pub is_number: bool,
    /// The option whose value is unknown: `--rank` of `--rank=$RANK`; empty for a word that is unknown as a whole.
    pub option: String,
}

impl Cause {
    /// The gap that it leaves, told by this message.
    pub fn gap(&self, message: String) -> Gap {
        Gap {
            code: GapCode::LaunchNotUnderstood,
            message,
            path: Some(self.path.clone()).filter(|path| !path.is_empty()),
            layer: self.layer,
        }
    }
}

/// A text that may be unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// This text.
    Known(Rc<str>),
    /// Some text.
    Unknown(Rc<Cause>),
    /// In a list of arguments: any number of texts.
    Many(Rc<Cause>),
}

impl Value {
    pub fn known(&self) -> Option<&str> {
        match self {
            Value::Known(text) => Some(text),
            Value::Unknown(_) | Value::Many(_) => None,
        }
    }

    /// The text, or what stands for it where it is unknown.
    pub fn word(&self) -> String {
        match self {
            Value::Known(text) => text.to_string(),
            Value::Unknown(cause) | Value::Many(cause) => match cause.option.as_str() {
                "" => UNKNOWN.to_owned(),
                option => format!("{option}="),
            },
        }
    }

    /// Why it is unknown.
    pub fn cause(&self) -> Option<&Rc<Cause>> {
        match self {
            Value::Known(_) => None,
            Value::Unknown(cause) | Value::Many(cause) => Some(cause),
        }
    }

    /// What it is if it was one of two values.
    pub fn or(self, other: &Value, cause: &Rc<Cause>) -> Value {
        match (&self, other) {
            (Value::Known(one), Value::Known(two)) if one == two => self,
            (Value::Known(_), Value::Known(_)) => Value::Unknown(cause.clone()),
            (Value::Known(_), unknown) => unknown.clone(),
            _ => self,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Known(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Known(text.into())
    }
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Success,
    /// With this exit status, if it is known.
    Failure(Option<u8>),
    Unknown,
}

impl Status {
    pub fn of(succeeds: bool) -> Self {
        match succeeds {
            true => Status::Success,
            false => Status::Failure(Some(1)),
        }
    }

    /// Whether it is success; `None` if that is unknown.
    pub fn is_success(self) -> Option<bool> {
        match self {
            Status::Success => Some(true),
            Status::Failure(_) => Some(false),
            Status::Unknown => None,
        }
    }

    pub fn negated(self) -> Self {
        match self {
            Status::Success => Status::Failure(Some(1)),
            Status::Failure(_) => Status::Success,
            Status::Unknown => Status::Unknown,
        }
    }

    /// What it is if it was one of two.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Status::Failure(_), Status::Failure(_)) => Status::Failure(None),
            _ => Status::Unknown,
        }
    }
}
