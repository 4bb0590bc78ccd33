//! How a shell starts: its options, the files it reads first, and its script (bash manual, "Invoking Bash" and "Bash Startup Files";
//! dash(1), "Invocation").

use std::collections::BTreeMap;
use std::rc::Rc;

use super::host::{Host, MissingFile, Outcome, Presence};
use super::interpreter::{Shell, Source};
use super::parser::Until;
use super::state::{Attribute, Contents, Options, Sink, State, Variable, option_name};
use super::syntax::Word;
use crate::process::{Input, Process};
use crate::value::{Cause, Status, Value};

/// What a shell is started to do.
#[derive(Debug)]
pub struct ShellStart {
    /// Whether it is bash.
    pub bash: bool,
    /// Whether it is bash under the name `sh`, or a shell that is not bash.
    pub posix: bool,
    script: Script,
    zero: Value,
    positional: Vec<Value>,
    options: Options,
    interactive: bool,
    login: bool,
    reads_files: bool,
}

#[derive(Debug)]
enum Script {
    File(Value),
    Text(Value),
    /// It reads commands from its standard input.
    Input,
}

impl ShellStart {
    /// Reads the arguments of a shell; an error says which option is not understood.
    pub fn new(process: &Process, bash: bool, posix: bool) -> Result<Self, String> {
        let (zero, mut rest) = process.arguments.split_first().ok_or("no arguments")?;
        let mut start = ShellStart {
            bash,
            posix,
            script: match &process.input {
                Input::Known(text) => Script::Text(text.as_ref().into()),
                Input::Inherited | Input::Unknown => Script::Input,
            },
            zero: zero.clone(),
            positional: Vec::new(),
            options: Options::default(),
            interactive: false,
            login: zero.known().is_some_and(|it| it.starts_with('-')),
            reads_files: true,
        };
        let (has_text, reads_input) = start.take_options(&mut rest)?;
        let is_unclear = rest.first().is_some_and(|it| matches!(it, Value::Many(_)));
        if is_unclear && !has_text {
            return Err("the arguments of a shell".to_owned());
        }
        if has_text {
            let (text, behind) = rest.split_first().ok_or("the option -c of a shell")?;
            start.script = Script::Text(text.clone());
            if let Some((zero, behind)) = behind.split_first() {
                start.zero = zero.clone();
                start.positional = behind.to_vec();
            }
        } else if reads_input || rest.is_empty() {
            start.positional = rest.to_vec();
        } else if let Some((file, behind)) = rest.split_first() {
            start.script = Script::File(file.clone());
            start.zero = file.clone();
            start.positional = behind.to_vec();
        }
        if start.reads_input() && process.input == Input::Unknown {
            return Err("commands that it reads from a pipe or a file".to_owned());
        }
        Ok(start)
    }

    /// Takes the options off the arguments. Whether the script is an argument (`-c`), and whether it is on the standard input (`-s`).
    fn take_options(&mut self, rest: &mut &[Value]) -> Result<(bool, bool), String> {
        let (mut has_text, mut reads_input) = (false, false);
        while let Some((first, behind)) = rest.split_first() {
            let Some(text) = first.known() else {
                break;
            };
            if text == "--" || text == "-" {
                *rest = behind;
                break;
            }
            let Some(letters) = text.strip_prefix(['-', '+']) else {
                break;
            };
            let on = text.starts_with('-');
            *rest = behind;
            match letters {
                "-login" => self.login = true,
                "-norc" | "-noprofile" => self.reads_files = false,
                "-posix" => self.posix = true,
                long if long.starts_with('-') => {
                    return Err(format!("the option {text} of a shell"));
                }
                letters => {
                    for letter in letters.chars() {
                        match option_name(letter, rest).as_str() {
                            known if self.options.set(known, on) => {}
                            "c" => has_text = on,
                            "l" => self.login = on,
                            "i" => self.interactive = on,
                            "s" => reads_input = on,
                            "v" | "h" | "m" | "B" | "b" | "pipefail" | "E" | "T" => {}
                            _ => return Err(format!("the option {text} of a shell")),
                        }
                    }
                }
            }
        }
        Ok((has_text, reads_input))
    }

    /// Whether it reads commands from its standard input: it is the program that runs.
    pub fn reads_input(&self) -> bool {
        matches!(self.script, Script::Input)
    }
}

/// Runs a shell. `replaces`: no other program runs when it ends.
pub fn run<'r>(
    host: &mut dyn Host<'r>,
    start: ShellStart,
    process: Process,
    replaces: bool,
    cause: &Rc<Cause>,
) -> Outcome {
    let mut shell = shell(host, &start, process, replaces, cause);
    shell.check_environment();
    shell.read_startup_files(&start);
    let error = match &start.script {
        Script::Input => None,
        Script::Text(Value::Known(text)) => shell.run_script(text),
        Script::File(Value::Known(path)) => shell.run_file(path),
        Script::Text(unknown) | Script::File(unknown) => {
            let own = shell.command_cause();
            shell.host.gap(unknown.cause().unwrap_or(&own));
            shell.state.status = Status::Unknown;
            None
        }
    };
    shell.exits();
    let mut status = shell.state.status;
    for (_, state) in std::mem::take(&mut shell.escapes) {
        status = status.or(state.status);
    }
    if let Some(Some(early)) = shell.early {
        status = status.or(early);
    }
    let last = error.unwrap_or_else(|| shell.command_cause());
    let output = match shell.state.output {
        Sink::Captured(output) if shell.early.flatten().is_none() => output,
        _ => None,
    };
    Outcome {
        status,
        output,
        is_number: false,
        last: Some(last),
    }
}

/// A shell before its first command.
fn shell<'h, 'r>(
    host: &'h mut dyn Host<'r>,
    start: &ShellStart,
    process: Process,
    replaces: bool,
    cause: &Cause,
) -> Shell<'h, 'r> {
    let state = State {
        variables: variables(&process),
        functions: BTreeMap::new(),
        positional: start.positional.clone(),
        directory: process.directory.clone(),
        options: start.options,
        status: Status::Success,
        traps: false,
        at_exit: "".into(),
        output: Sink::Captured(Some(String::new())),
    };
    let source = Source {
        path: cause.path.as_str().into(),
        layer: cause.layer,
    };
    Shell {
        host,
        state,
        bash: start.bash,
        posix: start.posix,
        interactive: start.interactive,
        zero: start.zero.clone(),
        user: process.user,
        chain: process.chain,
        input: process.input.rest(),
        source,
        early_error: false,
        redirecting: false,
        lenient: 0,
        escapes: Vec::new(),
        hidden: Vec::new(),
        early: (!replaces).then_some(None),
        loops: 0,
        callers: 0,
        depth: process.depth,
        line: cause.line,
        text: cause.what.trim_matches('`').into(),
    }
}

/// The variables that a shell takes from its environment, and those it sets.
fn variables(process: &Process) -> BTreeMap<Rc<str>, Variable> {
    let mut variables = BTreeMap::new();
    // IFS is not imported.
    for (name, setting) in process
        .environment
        .iter()
        .filter(|(name, _)| &***name != "IFS")
    {
        let variable = Variable {
            contents: Some(Contents::Text(setting.value.clone())),
            exported: true,
            attribute: Attribute::None,
            from: setting.from.clone(),
        };
        variables.insert(name.clone(), variable);
    }
    let directory = Variable {
        contents: Some(Contents::Text(process.directory.clone())),
        exported: true,
        attribute: Attribute::None,
        from: "".into(),
    };
    variables.insert("PWD".into(), directory);
    variables
}

impl Shell<'_, '_> {
    /// Variables of the environment that change how a shell reads scripts.
    fn check_environment(&mut self) {
        let names: Vec<Rc<str>> = self.state.variables.keys().cloned().collect();
        for name in names {
            let value = self.variable_value(&name).ok().flatten();
            self.check_special(&name, value.as_ref());
        }
    }

    fn read_startup_files(&mut self, start: &ShellStart) {
        if !start.reads_files {
            return;
        }
        let home = |name: &str| format!("~/{name}");
        let own: Vec<String> = match start.bash && !start.posix {
            true => [".bash_profile", ".bash_login", ".profile"]
                .map(home)
                .to_vec(),
            false => vec![home(".profile")],
        };
        if start.login {
            self.read_startup_file("/etc/profile");
            for file in own {
                if self.read_startup_file(&file) {
                    break;
                }
            }
        } else if start.interactive && start.bash && !start.posix {
            self.read_startup_file("/etc/bash.bashrc");
            self.read_startup_file("~/.bashrc");
        }
        let variable = match (start.bash && !start.posix, start.interactive) {
            (true, false) => Some("BASH_ENV"),
            (false, true) => Some("ENV"),
            _ => None,
        };
        let value = variable.and_then(|name| self.variable_value(name).ok().flatten());
        match value {
            Some(Value::Known(text)) if !text.is_empty() => match self.expanded_text(&text) {
                Some(path) => {
                    self.read_startup_file(&path);
                }
                None => self.gap(format!("the file in {}", variable.unwrap_or_default())),
            },
            Some(value) => {
                if let Some(cause) = value.cause().cloned() {
                    self.host.gap(&cause);
                }
            }
            None => {}
        }
    }

    /// The text of BASH_ENV or ENV, expanded.
    fn expanded_text(&mut self, text: &str) -> Option<String> {
        let extglob = self.state.options.extglob;
        let mut parser = super::parser::Parser::new(text, self.bash, extglob);
        let word: Word = parser.word(Until::End, false).ok()?;
        self.expand_text(&word).known().map(str::to_owned)
    }

    /// Reads a file if it exists.
    fn read_startup_file(&mut self, path: &str) -> bool {
        let path = match path.strip_prefix("~/") {
            None => path.to_owned(),
            Some(rest) => match self.variable_value("HOME").ok().flatten() {
                Some(Value::Known(home)) => format!("{home}/{rest}"),
                Some(_) => {
                    self.gap("the startup files of a shell");
                    return false;
                }
                None => return false,
            },
        };
        let Some(absolute) = self.absolute(&path) else {
            return false;
        };
        if matches!(self.host.file(&absolute), Presence::Missing) {
            return false;
        }
        let bash = self.bash;
        let posix = std::mem::replace(&mut self.posix, false);
        self.text = format!(". {absolute}").into();
        self.source(".", &[absolute.into()]);
        (self.bash, self.posix) = (bash, posix);
        true
    }

    /// Runs the file of a script, up to a syntax error.
    fn run_file(&mut self, name: &str) -> Option<Rc<Cause>> {
        let Some(mut path) = self.absolute(name) else {
            self.gap(format!("the script {name} in an unknown directory"));
            self.state.status = Status::Unknown;
            return None;
        };
        // bash looks for it in PATH, too.
        if self.bash
            && !name.contains('/')
            && matches!(self.host.file(&path), Presence::Missing)
            && let Some(found) = self.sourced_path(name)
        {
            path = found;
        }
        if matches!(self.host.file(&path), Presence::Missing) {
            self.lacks_script(name, &path);
            return None;
        }
        match self.host.text(&path) {
            Ok((text, layer)) => {
                self.source = Source {
                    path: path.as_str().into(),
                    layer,
                };
                self.run_script(text)
            }
            Err(problem) => {
                self.gap(format!("the script {name}, {problem},"));
                self.state.status = Status::Unknown;
                None
            }
        }
    }

    /// The shell ends, because its script does not exist.
    fn lacks_script(&mut self, name: &str, path: &str) {
        let message = match self.bash {
            true => format!("bash: {name}: No such file or directory"),
            false => format!("sh: 0: cannot open {name}: No such file"),
        };
        let shell = self.chain.last();
        let shell = shell.map(|step| step.path.clone()).unwrap_or_default();
        let cause = self.command_cause();
        self.host.add_missing_file(MissingFile {
            kind: "script",
            name,
            path,
            message,
            shell,
            cause,
        });
        self.state.status = Status::Failure(None);
    }
}
