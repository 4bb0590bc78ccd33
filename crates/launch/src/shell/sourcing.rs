//! `exec`, `eval`, `.`, `command`, `trap`, `exit`: commands that run others.

use std::rc::Rc;

use super::builtins::{self, texts};
use super::commands;
use super::host::{MissingFile, Presence};
use super::interpreter::{Flow, Shell, Source};
use super::parser::Problem;
use crate::value::{Cause, Status, Value};
use imgcheck_image::Access;

/// Signals that a container gets from outside, or from a command of its own that sends one.
const FROM_OUTSIDE: [&str; 16] = [
    "HUP", "1", "INT", "2", "QUIT", "3", "USR1", "10", "USR2", "12", "TERM", "15", "WINCH", "28",
    "TSTP", "20",
];

impl Shell<'_, '_> {
    /// Runs the trap for EXIT.
    pub(super) fn exits(&mut self) {
        let status = self.state.status;
        match std::mem::replace(&mut self.state.at_exit, "".into()) {
            Value::Known(action) if action.is_empty() => return,
            Value::Known(action) => {
                self.run_text(&action);
            }
            Value::Unknown(cause) | Value::Many(cause) => self.host.gap(&cause),
        }
        self.state.status = status;
    }

    /// Runs the text of a script in this shell.
    pub(super) fn run_text(&mut self, text: &str) -> Flow {
        if !self.spend(1 + text.len() / 64) {
            return Flow::Exit;
        }
        let script = commands::script(text, self.bash, self.state.options.extglob);
        let flow = self.list(&script.lines);
        match script.problem {
            Some((line, problem)) if flow == Flow::Next => {
                self.line = line;
                self.gap(problem.to_string());
                Flow::Exit
            }
            _ => flow,
        }
    }

    /// Runs the shell's own script. A syntax error, which is returned, ends it there.
    pub(super) fn run_script(&mut self, text: &str) -> Option<Rc<Cause>> {
        if !self.spend(1 + text.len() / 64) {
            return None;
        }
        let script = commands::script(text, self.bash, self.state.options.extglob);
        let flow = self.list(&script.lines);
        let (line, problem) = script.problem.filter(|_| flow == Flow::Next)?;
        self.line = line;
        let Problem::Syntax(what) = problem else {
            self.gap(problem.to_string());
            return None;
        };
        self.state.status = Status::Failure(Some(2));
        let cause = self.cause(format!("a syntax error ({what})"));
        let shell = self.chain.last().map(|step| step.path.clone());
        let shell = shell.unwrap_or_default();
        self.host.add_syntax_error(&shell, &cause);
        Some(cause)
    }

    pub(super) fn exec(&mut self, arguments: &[Value]) -> Flow {
        let is_option = |value: &Value| value.known().is_some_and(|it| it.starts_with('-'));
        match arguments.first() {
            // Only redirections.
            None => self.ends(Status::Success),
            Some(first) if is_option(first) && first.known() != Some("--") => {
                self.gap("an option of `exec`");
                Flow::Exit
            }
            Some(first) => {
                let start = usize::from(first.known() == Some("--"));
                self.external(arguments[start..].to_vec(), true);
                self.state.at_exit = "".into();
                Flow::Exit
            }
        }
    }

    pub(super) fn eval(&mut self, arguments: &[Value]) -> Flow {
        let Some(texts) = texts(arguments) else {
            let cause = arguments.iter().find_map(Value::cause).cloned();
            let cause = cause.unwrap_or_else(|| self.command_cause());
            self.host.gap(&cause);
            return self.ends(Status::Unknown);
        };
        let text = texts.join(" ");
        self.state.status = Status::Success;
        let (line, shown) = (self.line, self.text.clone());
        self.depth += 1;
        let flow = match self.depth < super::interpreter::MAX_DEPTH {
            true => self.run_text(&text),
            false => {
                self.gap("commands nested too deeply");
                Flow::Exit
            }
        };
        self.depth -= 1;
        (self.line, self.text) = (line, shown);
        flow
    }

    pub(super) fn source(&mut self, name: &str, arguments: &[Value]) -> Flow {
        let Some((file, rest)) = arguments.split_first() else {
            return self.ends(Status::Failure(Some(2)));
        };
        if name == "source" && !self.bash && self.is_dash() {
            let words = ["source".into()]
                .into_iter()
                .chain(arguments.iter().cloned());
            self.external(words.collect(), false);
            return Flow::Next;
        }
        if name == "source" && !self.bash {
            self.gap("`source`, which not every `sh` has");
            return self.ends(Status::Unknown);
        }
        let path = match file.known() {
            Some(name) => self.sourced_path(name),
            None => None,
        };
        let Some(path) = path else {
            let cause = self.command_cause();
            self.host.gap(file.cause().unwrap_or(&cause));
            return self.ends(Status::Unknown);
        };
        match self.host.file(&path) {
            Presence::Missing => {
                let name = file.known().unwrap_or_default();
                let cause = self.command_cause();
                self.host.add_missing_file(MissingFile {
                    kind: "source",
                    name,
                    path: &path,
                    message: format!("{name}: No such file or directory"),
                    shell: String::new(),
                    cause,
                });
                self.state.status = Status::Failure(Some(1));
                return if self.posix { Flow::Exit } else { Flow::Next };
            }
            Presence::Exists(_) | Presence::Unknown => {}
        }
        let (text, layer) = match self.host.text(&path) {
            Ok(found) => found,
            Err(problem) => {
                self.gap(format!("the script {path}, {problem},"));
                return self.ends(Status::Unknown);
            }
        };
        let source = Source {
            path: path.as_str().into(),
            layer,
        };
        let outer = std::mem::replace(&mut self.source, source);
        let own = (self.bash && !rest.is_empty())
            .then(|| std::mem::replace(&mut self.state.positional, rest.to_vec()));
        let (line, shown) = (self.line, self.text.clone());
        self.state.status = Status::Success;
        let flow = self.until_return(|shell| shell.run_text(text));
        (self.line, self.text) = (line, shown);
        if let Some(own) = own {
            self.state.positional = own;
        }
        self.source = outer;
        flow
    }

    /// The file that `.` reads: without a slash, it is looked up in PATH.
    pub(super) fn sourced_path(&mut self, name: &str) -> Option<String> {
        if name.contains('/') {
            return self.absolute(name);
        }
        let path = self.variable_value("PATH").ok().flatten()?;
        let mut candidates: Vec<String> = path.known()?.split(':').map(str::to_owned).collect();
        if self.bash && !self.posix {
            candidates.push(".".to_owned());
        }
        let mut found = None;
        for directory in candidates {
            let candidate = self.absolute(&format!("{directory}/{name}"))?;
            match self.host.file(&candidate) {
                Presence::Exists(_) => {
                    found = Some(candidate);
                    break;
                }
                Presence::Missing => {}
                Presence::Unknown => return None,
            }
        }
        found
    }

    /// `command` and `builtin`.
    pub(super) fn command_builtin(&mut self, arguments: &[Value]) -> Flow {
        let Some((first, rest)) = arguments.split_first() else {
            return self.ends(Status::Success);
        };
        match first.known() {
            Some("-v" | "-V") => self.type_of_one(rest, first.known() == Some("-v")),
            Some("--") => self.command_builtin(rest),
            Some(name) if !name.starts_with('-') => match builtins::find(name, self.bash) {
                Some(builtin) => {
                    let name = name.to_owned();
                    builtin(self, &name, rest)
                }
                None => {
                    self.external(arguments.to_vec(), false);
                    Flow::Next
                }
            },
            _ => {
                let cause = self.command_cause();
                self.host.gap(&cause);
                self.ends(Status::Unknown)
            }
        }
    }

    pub(super) fn type_of(&mut self, arguments: &[Value]) -> Flow {
        let is_option = |value: &&Value| value.known().is_some_and(|it| it.starts_with('-'));
        let names: Vec<Value> = arguments
            .iter()
            .filter(|it| !is_option(it))
            .cloned()
            .collect();
        let is_path = arguments.first().and_then(Value::known) == Some("-P");
        match names.is_empty() {
            true => self.ends(Status::Success),
            false => self.type_of_one(&names, is_path),
        }
    }

    /// Whether a command exists; writes what `command -v` does.
    fn type_of_one(&mut self, names: &[Value], writes: bool) -> Flow {
        let [Value::Known(name)] = names else {
            self.write_unknown();
            return self.ends(Status::Unknown);
        };
        let is_own =
            self.state.functions.contains_key(&**name) || builtins::find(name, self.bash).is_some();
        let path = match is_own {
            true => Ok(Some(name.to_string())),
            false => self.program(name),
        };
        match path {
            Ok(Some(path)) => {
                match writes {
                    true => self.write(&(path + "\n")),
                    false => self.write_unknown(),
                }
                self.ends(Status::Success)
            }
            Ok(None) => self.ends(Status::Failure(None)),
            Err(()) => {
                self.write_unknown();
                self.ends(Status::Unknown)
            }
        }
    }

    /// The path of a program; an error if that is unknown.
    fn program(&mut self, name: &str) -> Result<Option<String>, ()> {
        let path = self.variable_value("PATH").map_err(|_| ())?;
        let path = path.as_ref().and_then(Value::known).ok_or(())?.to_owned();
        let directories: Vec<&str> = match name.contains('/') {
            true => vec![""],
            false => path.split(':').collect(),
        };
        for directory in directories {
            let candidate = match (directory, name.contains('/')) {
                (_, true) => name.to_owned(),
                ("", false) => format!("./{name}"),
                (directory, false) => format!("{directory}/{name}"),
            };
            let absolute = self.absolute(&candidate).ok_or(())?;
            match self.host.file(&absolute) {
                Presence::Exists(node) => {
                    let is_file = node.content().is_some();
                    if is_file && self.host.changes_mode(&node.path()) {
                        return Err(());
                    }
                    if is_file && node.allows(&self.host.user().credentials, Access::Execute) {
                        return Ok(Some(candidate));
                    }
                }
                Presence::Missing => {}
                Presence::Unknown => return Err(()),
            }
        }
        Ok(None)
    }

    /// `exit` and `return`.
    pub(super) fn leave(&mut self, name: &str, arguments: &[Value]) -> Flow {
        if let Some(status) = arguments.first() {
            let number = status.known().and_then(|it| it.parse::<i64>().ok());
            self.state.status = match number.map(|it| it.rem_euclid(256)) {
                Some(0) => Status::Success,
                Some(number) => Status::Failure(u8::try_from(number).ok()),
                None => Status::Unknown,
            };
        }
        match name {
            "exit" => Flow::Exit,
            _ if self.callers > 0 => Flow::Return,
            // Outside of functions, bash goes on, and others end.
            _ if self.bash => self.ends(Status::Failure(None)),
            _ => Flow::Exit,
        }
    }

    /// What a trap runs is looked at for what it starts.
    pub(super) fn trap(&mut self, arguments: &[Value]) -> Flow {
        let is_from_outside = |it: &Value| {
            let name = it.known().unwrap_or_default().to_uppercase();
            FROM_OUTSIDE.contains(&name.strip_prefix("SIG").unwrap_or(&name))
        };
        if let [Value::Unknown(_), signals @ ..] = arguments
            && signals.iter().all(is_from_outside)
        {
            self.state.traps = true;
            return self.ends(Status::Success);
        }
        let Some(texts) = texts(arguments) else {
            self.gap("`trap`");
            return self.ends(Status::Unknown);
        };
        let (action, signals) = match texts.as_slice() {
            [] | ["-l" | "-p", ..] => {
                self.write_unknown();
                return self.ends(Status::Success);
            }
            ["--", action, signals @ ..] | [action, signals @ ..] => (action.to_string(), signals),
        };
        let action = action
            .strip_prefix('-')
            .filter(|it| it.is_empty())
            .unwrap_or(&action);
        for signal in signals {
            let signal = signal.to_uppercase();
            match signal.strip_prefix("SIG").unwrap_or(&signal) {
                "EXIT" | "0" => {
                    self.state.at_exit = action.into();
                    continue;
                }
                name if FROM_OUTSIDE.contains(&name) => {}
                _ if action.is_empty() => {}
                _ => self.gap(format!("a trap for {signal}")),
            }
        }
        if !action.is_empty() && !signals.is_empty() {
            let (line, shown) = (self.line, self.text.clone());
            self.in_subshell(|shell| shell.run_text(action));
            (self.line, self.text) = (line, shown);
            self.state.traps |= signals.iter().any(|it| !matches!(*it, "EXIT" | "0"));
        }
        self.ends(Status::Success)
    }
}
