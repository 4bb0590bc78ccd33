//! Variables and parameters.

use std::rc::Rc;

use super::interpreter::Shell;
use super::state::{Contents, Variable};
use super::words::is_name;
use crate::launch::process::{Environment, Setting};
use crate::launch::value::{Cause, Status, Value};

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
                _ => Err(self.cause("an exit status")),
            },
            "-" if self.bash => Ok(Some(self.flags().into())),
            "@" | "*" | "$" | "!" | "-" => Err(self.cause(format!("`${name}`"))),
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
            "UID" | "EUID" if self.bash => match self.host.user_id() {
                Some(id) => Ok(Some(id.to_string().into())),
                None => Err(self.cause("the user id")),
            },
            "IFS" => Ok(Some(" \t\n".into())),
            "OPTIND" => Ok(Some("1".into())),
            "PS4" => Ok(Some("+ ".into())),
            "PATH" => Err(self.cause("PATH, which is not set")),
            name if DYNAMIC.contains(&name) || name.starts_with("BASH") => {
                match self.bash || matches!(name, "PPID" | "LINENO" | "_") {
                    true => Err(self.cause(format!("`${name}`"))),
                    false => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Sets a variable, which keeps whether it is exported.
    pub(super) fn assign(&mut self, name: &str, contents: Contents, append: bool) {
        if name == "IFS" && !matches!(contents, Contents::Text(Value::Known(_))) {
            self.gap("the variable IFS");
        }
        let before = self.state.variables.get(name);
        let exported = before.is_some_and(|it| it.exported) || self.state.options.allexport;
        let contents = match append {
            true => self.appended(name, contents),
            false => contents,
        };
        let variable = Variable {
            contents: Some(contents),
            exported,
            from: self.source.path.clone(),
        };
        self.state.variables.insert(name.into(), variable);
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
            from,
        });
        variable.exported = exported;
    }

    /// Makes all variables unknown that a text names, such as arithmetic that may assign them.
    pub(super) fn forget_names(&mut self, text: &str) {
        if !text.contains('=') && !text.contains("++") && !text.contains("--") {
            return;
        }
        let cause = self.command_cause();
        for name in text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
            if is_name(name) {
                self.assign(name, Contents::Text(Value::Unknown(cause.clone())), false);
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
