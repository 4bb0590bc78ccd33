//! `export`, `local`, `unset`, `set`, `shift`, `cd`.

use super::builtins::texts;
use super::interpreter::{Flow, Shell};
use super::state::{Attribute, Contents, Variable, option_name};
use super::words::is_name;
use crate::value::{Status, Value};

/// What `export`, `readonly`, `local` and `declare` do to their variables.
struct Declaration {
    exports: bool,
    /// `-n`: they are no longer exported.
    removes: bool,
    is_global: bool,
    /// The values are taken as they are.
    is_plain: bool,
    attribute: Attribute,
}

impl Declaration {
    fn of(command: &str) -> Self {
        Declaration {
            exports: command == "export",
            removes: false,
            is_global: matches!(command, "export" | "readonly"),
            is_plain: true,
            attribute: match command {
                "readonly" => Attribute::Constant,
                _ => Attribute::None,
            },
        }
    }

    /// Takes an option; false if it is not understood.
    fn option(&mut self, command: &str, text: &str) -> bool {
        let known = match command {
            "export" => "np",
            _ => "xgrilupaA",
        };
        let options = text.strip_prefix('-').unwrap_or_default();
        if options.is_empty() || !options.chars().all(|c| known.contains(c)) {
            return false;
        }
        self.exports |= options.contains('x');
        self.is_global |= options.contains('g');
        self.removes |= options.contains('n');
        self.is_plain &= !options.contains(['i', 'A', 'l', 'u']);
        if options.contains('r') {
            self.attribute = Attribute::Constant;
        } else if options.contains(['i', 'l', 'u']) {
            self.attribute = Attribute::Converted;
        }
        true
    }
}

impl Shell<'_, '_> {
    pub(super) fn declare(&mut self, command: &str, arguments: &[Value]) -> Flow {
        if let [Value::Known(option), Value::Known(name)] = arguments
            && matches!(&**option, "-f" | "-F")
            && matches!(command, "declare" | "typeset")
        {
            let is_function = self.state.functions.contains_key(&**name);
            self.write_unknown();
            return self.ends(Status::of(is_function));
        }
        let mut declaration = Declaration::of(command);
        let mut marked = Vec::new();
        for argument in arguments {
            let Some(text) = argument.known().map(str::to_owned) else {
                self.declare_unknown(argument, declaration.exports, !declaration.is_global);
                continue;
            };
            if text.starts_with(['-', '+']) {
                if declaration.option(command, &text) {
                    continue;
                }
                self.gap(format!("the option `{text}` of `{command}`"));
                return self.ends(Status::Unknown);
            }
            let name = self.declare_variable(&declaration, &text);
            if declaration.attribute != Attribute::None {
                marked.extend(name.map(str::to_owned));
            }
        }
        for name in marked {
            self.mark(&name, declaration.attribute);
        }
        if arguments.is_empty() {
            self.write_unknown();
        }
        self.ends(Status::Success)
    }

    /// `NAME`, `NAME=VALUE` or `NAME+=VALUE`: the name, if it is valid.
    fn declare_variable<'t>(
        &mut self,
        declaration: &Declaration,
        text: &'t str,
    ) -> Option<&'t str> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let append = name.ends_with('+');
        let name = name.trim_end_matches('+');
        if !is_name(name) {
            let cause = self.command_cause();
            self.host.gap(&cause);
            return None;
        }
        if !declaration.is_global {
            self.hide(name, value.is_none());
        }
        if let Some(value) = value {
            if declaration.attribute == Attribute::Converted {
                self.arithmetic(value);
            }
            let contents = match declaration.is_plain {
                true => Contents::Text(value.into()),
                false => Contents::Text(Value::Unknown(self.command_cause())),
            };
            self.assign(name, contents, append);
        }
        if declaration.exports || declaration.removes {
            self.export(name, !declaration.removes);
        }
        Some(name)
    }

    /// An argument such as `NAME=$(date)`: the name is in the text of the command, if anywhere.
    fn declare_unknown(&mut self, argument: &Value, exports: bool, is_local: bool) {
        let text = self.text.clone();
        let names: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == '"')
            .filter_map(|word| word.split_once('='))
            .map(|(name, _)| name.trim_end_matches('+'))
            .filter(|name| is_name(name))
            .collect();
        let Some(cause) = argument.cause().cloned() else {
            return;
        };
        if names.is_empty() || text.ends_with('\\') {
            self.host.gap(&cause);
        }
        for name in names {
            // Another argument of the command may have set it.
            if is_local {
                self.hide(name, false);
            }
            self.assign(name, Contents::Text(Value::Unknown(cause.clone())), false);
            if exports {
                self.export(name, true);
            }
        }
    }

    fn mark(&mut self, name: &str, attribute: Attribute) {
        let is_exported = |it: &Variable| it.exported;
        let exported = self.state.variables.get(name).is_some_and(is_exported);
        self.export(name, exported);
        if let Some(variable) = self.state.variables.get_mut(name) {
            variable.attribute = attribute;
        }
    }

    /// Makes a variable local to the function that runs.
    fn hide(&mut self, name: &str, unsets: bool) {
        let before = self.state.variables.get(name).cloned();
        let is_constant = |it: &Variable| it.attribute == Attribute::Constant;
        if before.as_ref().is_some_and(is_constant) {
            self.gap(format!("a local {name}, which is read-only"));
        }
        let Some(hidden) = self.hidden.last_mut() else {
            return;
        };
        if !hidden.iter().any(|(known, _)| **known == *name) {
            hidden.push((name.into(), before.clone()));
        }
        // bash unsets a local variable, dash lets it keep its value.
        if unsets && self.bash {
            let was_exported = before.is_some_and(|it| it.exported);
            self.state.variables.remove(name);
            self.export(name, was_exported);
        }
    }

    pub(super) fn unset(&mut self, arguments: &[Value]) -> Flow {
        let mut functions = false;
        for argument in arguments {
            match argument.known() {
                Some("-f") => functions = true,
                Some("-v") => {}
                Some(option) if option.starts_with('-') => {
                    self.gap(format!("the option `{option}` of `unset`"));
                }
                Some(name) if functions => {
                    self.state.functions.remove(name);
                }
                Some(name) if is_name(name) => {
                    let removed = self.state.variables.remove(name);
                    if removed
                        .as_ref()
                        .is_some_and(|it| it.attribute == Attribute::Constant)
                    {
                        self.gap(format!("`unset` of {name}, which is read-only"));
                    }
                    if removed.is_none() && self.bash {
                        self.state.functions.remove(name);
                    }
                }
                Some(name) => {
                    let subscript = name.split_once('[').map(|(_, it)| it.to_owned());
                    let name = name.split('[').next().unwrap_or_default().to_owned();
                    self.arithmetic(&subscript.unwrap_or_default());
                    let items = vec![Value::Many(self.command_cause())];
                    self.assign(&name, Contents::Array(items), false);
                }
                None => {
                    let cause = self.command_cause();
                    self.host.gap(&cause);
                }
            }
        }
        self.ends(Status::Success)
    }

    pub(super) fn set(&mut self, arguments: &[Value]) -> Flow {
        if arguments.is_empty() {
            self.write_unknown();
        }
        let mut rest = arguments;
        while let Some((first, behind)) = rest.split_first() {
            let Some(text) = first.known() else {
                // It may be an option.
                let cause = self.command_cause();
                self.host.gap(&cause);
                break;
            };
            let on = text.starts_with('-');
            if text == "--" || text == "-" {
                if text == "--" || !behind.is_empty() {
                    self.state.positional = behind.to_vec();
                }
                break;
            }
            if !on && !text.starts_with('+') {
                self.state.positional = rest.to_vec();
                break;
            }
            rest = behind;
            for letter in text.chars().skip(1) {
                self.set_option(&option_name(letter, &mut rest), on);
            }
        }
        self.ends(Status::Success)
    }

    fn set_option(&mut self, name: &str, on: bool) {
        match name {
            known if self.state.options.set(known, on) => {}
            // dash of Debian 12 and Ubuntu 24.04 ends there.
            "pipefail" if !self.bash => self.gap("`set -o pipefail`, which not every `sh` has"),
            "v" | "verbose" | "m" | "monitor" | "b" | "notify" | "h" | "hashall" | "B"
            | "braceexpand" | "E" | "errtrace" | "T" | "functrace" | "C" | "noclobber"
            | "pipefail" | "H" | "histexpand" | "history" | "ignoreeof" | "emacs" | "vi" => {}
            _ => self.gap(format!("the option `{name}` of `set`")),
        }
    }

    pub(super) fn shift(&mut self, arguments: &[Value]) -> Flow {
        let count = match arguments.first() {
            None => Some(1),
            Some(value) => value.known().and_then(|it| it.parse::<usize>().ok()),
        };
        let uncertain = self
            .state
            .positional
            .iter()
            .position(|it| matches!(it, Value::Many(_)));
        match (count, uncertain) {
            (Some(count), None) if count <= self.state.positional.len() => {
                self.state.positional.drain(..count);
                self.ends(Status::Success)
            }
            (Some(count), Some(at)) if count <= at => {
                self.state.positional.drain(..count);
                self.ends(Status::Success)
            }
            // dash exits, bash goes on.
            (Some(_), None) => match self.posix {
                true => {
                    self.state.status = Status::Failure(Some(2));
                    Flow::Exit
                }
                false => self.ends(Status::Failure(Some(1))),
            },
            _ => {
                let cause = self.command_cause();
                self.state.positional = vec![Value::Many(cause)];
                self.ends(Status::Unknown)
            }
        }
    }

    pub(super) fn pwd(&mut self, arguments: &[Value]) -> Flow {
        let is_physical = arguments.iter().any(|it| it.known() == Some("-P"));
        let path = self.state.directory.known().map(str::to_owned);
        let path = match (path, is_physical) {
            (Some(path), true) => self.host.root().resolve(&path).ok().map(|it| it.path()),
            (path, _) => path,
        };
        match path {
            Some(path) => self.write(&(path + "\n")),
            None => self.write_unknown(),
        }
        self.ends(Status::Success)
    }

    pub(super) fn leave_loop(&mut self, name: &str, arguments: &[Value]) -> Flow {
        let count = match texts(arguments).as_deref() {
            Some([]) => Some(1),
            Some([count]) => count.parse().ok(),
            _ => None,
        };
        self.state.status = Status::Success;
        match (count.map(|it| it.min(self.loops)), name) {
            (Some(0), _) if count != Some(0) => Flow::Next,
            (Some(count @ 1..), "break") => Flow::Break(count),
            (Some(count @ 1..), _) => Flow::Continue(count),
            _ => {
                self.gap(format!("`{name}`"));
                Flow::Exit
            }
        }
    }
}
