//! Variables and parameters.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::interpreter::Shell;
use super::state::{Attribute, Contents, Variable};
use super::words::is_name;
use crate::process::{Environment, Setting};
use crate::value::{Cause, Status, Value};

/// Variables that a shell sets itself to what the image does not decide.
const DYNAMIC: [&str; 16] = [
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "LINENO",
    "BASHPID",
    "PPID",
    "HOSTNAME",
    "SHLVL",
    "OSTYPE",
    "HOSTTYPE",
    "MACHTYPE",
    "BASH",
    "PIPESTATUS",
    "_",
];

impl Shell<'_, '_> {
    /// The value of a parameter: `None` if it is not set, an error if that is unknown.
    pub(super) fn parameter(&mut self, name: &str) -> Result<Option<Value>, Rc<Cause>> {
        let uncertain = self
            .state
            .positional
            .iter()
            .position(|it| matches!(it, Value::Many(_)));
        let cause_of = |shell: &Self, index: usize| {
            let value = &shell.state.positional[index];
            value
                .cause()
                .cloned()
                .unwrap_or_else(|| shell.command_cause())
        };
        if let Ok(number) = name.parse::<usize>() {
            if number == 0 {
                return Ok(Some(self.zero.clone()));
            }
            return match uncertain {
                Some(index) if index < number => Err(cause_of(self, index)),
                _ => Ok(self.state.positional.get(number - 1).cloned()),
            };
        }
        match name {
            "#" => match uncertain {
                Some(index) => Err(cause_of(self, index)),
                None => Ok(Some(self.state.positional.len().to_string().into())),
            },
            "?" => match self.state.status {
                Status::Success => Ok(Some("0".into())),
                Status::Failure(Some(status)) => Ok(Some(status.to_string().into())),
                _ => Err(self.number("an exit status")),
            },
            "-" if self.bash => Ok(Some(self.flags().into())),
            "$" | "!" => Err(self.number(format!("`${name}`"))),
            "@" | "*" | "-" => Err(self.cause(format!("`${name}`"))),
            name => self.variable_value(name),
        }
    }

    /// `$-` of bash.
    fn flags(&self) -> String {
        let options = &self.state.options;
        let letters = [
            ('a', options.allexport),
            ('e', options.errexit),
            ('f', options.noglob),
            ('h', true),
            ('i', self.interactive),
            ('u', options.nounset),
            ('x', options.xtrace),
            ('B', true),
        ];
        let set = letters.iter().filter(|(_, is_set)| *is_set);
        set.map(|(letter, _)| *letter).collect()
    }

    /// The value of a variable; of an array, its first element.
    pub(super) fn variable_value(&mut self, name: &str) -> Result<Option<Value>, Rc<Cause>> {
        if let Some(variable) = self.state.variables.get(name) {
            return Ok(match &variable.contents {
                None => None,
                Some(Contents::Text(value)) => Some(value.clone()),
                Some(Contents::Array(items)) => match items.first() {
                    Some(Value::Many(cause)) => Some(Value::Unknown(cause.clone())),
                    first => first.cloned(),
                },
            });
        }
        match name {
            "BASH_SOURCE" if self.bash => Ok(Some(Value::from(&*self.source.path))),
            "UID" | "EUID" if self.bash => match self.host.user().id {
                Some(id) => Ok(Some(id.to_string().into())),
                None => Err(self.cause("the user id")),
            },
            "IFS" => Ok(Some(" \t\n".into())),
            "OPTIND" => Ok(Some("1".into())),
            "PS4" => Ok(Some("+ ".into())),
            "PATH" => Err(self.cause("PATH, which is not set")),
            name if DYNAMIC.contains(&name) || name.starts_with("BASH") => {
                match self.bash || matches!(name, "PPID" | "LINENO" | "_") {
                    true if is_text(name) => Err(self.cause(format!("`${name}`"))),
                    true => Err(self.number(format!("`${name}`"))),
                    false => Ok(None),
                }
            }
            name if self.host.may_be_set(name) => Err(self.cause(format!("the value of {name}"))),
            _ => Ok(None),
        }
    }

    /// Assigns a variable, which keeps its attributes.
    pub(super) fn assign(&mut self, name: &str, contents: Contents, append: bool) {
        if name == "IFS" && !matches!(contents, Contents::Text(Value::Known(_))) {
            self.gap("the variable IFS");
        }
        let attribute = self.state.variables.get(name).map(|it| it.attribute);
        let contents = match attribute.unwrap_or_default() {
            Attribute::Constant => {
                self.gap(format!("an assignment to {name}, which is read-only"));
                Contents::Text(Value::Unknown(self.command_cause()))
            }
            Attribute::Converted => Contents::Text(Value::Unknown(self.command_cause())),
            Attribute::None if append => self.appended(name, contents),
            Attribute::None => contents,
        };
        let text = match &contents {
            Contents::Text(value) => value.clone(),
            Contents::Array(_) => Value::Unknown(self.command_cause()),
        };
        self.check_special(name, Some(&text));
        self.put(name, contents);
    }

    /// Sets a variable, whatever its attributes.
    pub(super) fn put(&mut self, name: &str, contents: Contents) {
        let before = self.state.variables.get(name);
        let exported = before.is_some_and(|it| it.exported) || self.state.options.allexport;
        let variable = Variable {
            contents: Some(contents),
            exported,
            attribute: before.map(|it| it.attribute).unwrap_or_default(),
            from: self.source.path.clone(),
        };
        self.state.variables.insert(name.into(), variable);
    }

    /// Notes a gap for a value that changes how the shell reads scripts.
    pub(super) fn check_special(&mut self, name: &str, value: Option<&Value>) {
        let text = value.map(Value::known);
        let changes = match (name, text) {
            (_, None | Some(Some(""))) => false,
            // It is expanded before each command that `set -x` shows.
            ("PS4", Some(text)) => text.is_none_or(may_assign),
            (name, Some(_)) => self.bash && self.host.is_special(name),
        };
        if changes {
            self.gap(format!(
                "the variable {name}, which changes how shells run scripts"
            ));
        }
    }

    fn appended(&mut self, name: &str, contents: Contents) -> Contents {
        let before = self
            .state
            .variables
            .get(name)
            .and_then(|it| it.contents.clone());
        match (before, contents) {
            (None, contents) => contents,
            (Some(Contents::Array(mut items)), Contents::Array(more)) => {
                items.extend(more);
                Contents::Array(items)
            }
            (Some(Contents::Text(one)), Contents::Text(two)) => {
                Contents::Text(match (one.known(), two.known()) {
                    (Some(one), Some(two)) => {
                        let text = format!("{one}{two}");
                        self.bounded(text)
                    }
                    (None, _) => one,
                    (_, None) => two,
                })
            }
            (Some(Contents::Text(one)), Contents::Array(mut items)) => {
                items.insert(0, one);
                Contents::Array(items)
            }
            (Some(Contents::Array(_)), Contents::Text(_)) => {
                Contents::Array(vec![Value::Many(self.command_cause())])
            }
        }
    }

    /// Exports a variable, or ends that.
    pub(super) fn export(&mut self, name: &str, exported: bool) {
        let from = self.source.path.clone();
        let variable = self.state.variables.entry(name.into()).or_insert(Variable {
            contents: None,
            exported,
            attribute: Attribute::None,
            from,
        });
        variable.exported = exported;
    }

    /// Evaluates arithmetic as far as it changes the shell: the variables that it may assign become unknown. The values of variables are
    /// evaluated, too (bash manual, "Shell Arithmetic").
    pub(super) fn arithmetic(&mut self, text: &str) {
        let mut pending = vec![text.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(text) = pending.pop() {
            if !self.spend(text.len() / 64) || !seen.insert(text.clone()) {
                continue;
            }
            if text.contains(['`']) || text.contains("$(") {
                self.gap("a command within arithmetic");
            }
            let assigns = assigns(&text);
            for name in text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
                if !is_name(name) {
                    continue;
                }
                if assigns {
                    let cause = self.number(format!("`{}`", self.text));
                    self.assign(name, Contents::Text(Value::Unknown(cause)), false);
                    continue;
                }
                match self.variable_value(name) {
                    Ok(Some(Value::Known(value))) if value.parse::<i64>().is_err() => {
                        pending.push(value.to_string());
                    }
                    Ok(Some(Value::Unknown(cause) | Value::Many(cause))) | Err(cause)
                        if !cause.is_number =>
                    {
                        self.gap(format!("arithmetic with {name}, which is unknown"));
                    }
                    _ => {}
                }
            }
        }
    }

    /// The environment of a program that is started now.
    pub(super) fn environment(&self) -> Environment {
        let exported = self.state.variables.iter().filter(|(_, it)| it.exported);
        exported
            .filter_map(|(name, variable)| match &variable.contents {
                Some(Contents::Text(value)) => Some((
                    name.clone(),
                    Setting {
                        value: value.clone(),
                        from: variable.from.clone(),
                    },
                )),
                // Arrays are not exported.
                Some(Contents::Array(_)) | None => None,
            })
            .collect()
    }
}

/// Whether a variable of a shell is other than a number.
fn is_text(name: &str) -> bool {
    matches!(name, "HOSTNAME" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" | "_")
        || name.starts_with("BASH") && name != "BASHPID"
}

/// Whether arithmetic may assign a variable.
fn assigns(text: &str) -> bool {
    let without = ["==", "!=", "<=", ">="]
        .iter()
        .fold(text.to_owned(), |text, it| text.replace(it, " "));
    // `<<=` and `>>=` assign.
    without.contains('=')
        || ["<<=", ">>=", "++", "--"]
            .iter()
            .any(|it| text.contains(it))
}

/// Whether the expansion of a text may run a command or assign a variable.
fn may_assign(text: &str) -> bool {
    let expands = |(_, rest): (&str, &str)| {
        rest.contains(['{', '[']) && ["=", "++", "--"].iter().any(|it| rest.contains(it))
    };
    text.contains('`') || text.contains("$(") || text.split_once('$').is_some_and(expands)
}
