//! Simple commands: assignments, redirections, and what runs (POSIX.1-2024, Shell Command Language, 2.9.1).

use std::rc::Rc;

use super::builtins;
use super::interpreter::{Flow, Shell};
use super::state::{Contents, Function, Sink, Variable};
use super::syntax::{AssignedValue, Assignment, Expansion, Piece, Redirect, Target, Word};
use crate::process::{Input, Process};
use crate::value::{Cause, Status, Value};
use imgcheck_base::lexical::name_of;

/// What redirections do.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Redirected {
    /// The standard output goes elsewhere.
    pub is_output: bool,
    /// A file may not open, and then the command does not run.
    pub may_fail: bool,
    /// A file certainly does not open.
    pub fails: bool,
}

impl Shell<'_, '_> {
    pub(super) fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        redirects: &[Redirect],
    ) -> Flow {
        let (line, text) = (self.line, self.text.clone());
        self.early_error = false;
        let is_plain = words.is_empty();
        let arguments = self.expand_arguments(words);
        if is_plain {
            self.state.status = Status::Success;
        }
        let values: Vec<(usize, Contents)> = assignments
            .iter()
            .enumerate()
            .map(|(index, assignment)| {
                let contents = self.assigned(&assignment.value);
                if is_plain {
                    self.assign(&assignment.name, contents.clone(), assignment.append);
                }
                (index, contents)
            })
            .collect();
        let input = self.input.clone();
        let redirected = self.redirects(redirects);
        (self.line, self.text) = (line, text);
        if std::mem::take(&mut self.early_error) {
            self.state.status = Status::Failure(None);
            return Flow::Exit;
        }
        if redirected.fails {
            let name = arguments.first().and_then(Value::known);
            let is_special = name.is_some_and(builtins::is_special);
            self.input = input;
            self.state.status = Status::Failure(None);
            return match self.posix && is_special {
                true => Flow::Exit,
                false => Flow::Next,
            };
        }
        let is_bare_exec = arguments.len() == 1 && arguments[0].known() == Some("exec");
        let output = self.state.output.clone();
        if redirected.is_output {
            self.state.output = Sink::Dropped;
        }
        let flow = match arguments.is_empty() {
            true => {
                if !is_plain {
                    self.assign_all(assignments, values);
                }
                Flow::Next
            }
            false => {
                // Without a command, `exec "$@"` starts the one that the user of the container gives.
                if is_bare_exec && words.len() > 1 {
                    self.external(Vec::new(), true);
                }
                self.with_assignments(assignments, values, arguments)
            }
        };
        if redirected.is_output {
            self.state.output = output;
        }
        self.input = match is_bare_exec {
            true => self.input.rest(),
            false => input,
        };
        if redirected.may_fail && flow == Flow::Next {
            self.state.status = self.state.status.or(Status::Failure(None));
        }
        flow
    }

    /// The assignments of a command whose words expand to nothing.
    fn assign_all(&mut self, assignments: &[Assignment], values: Vec<(usize, Contents)>) {
        for (index, contents) in values {
            let Assignment { name, append, .. } = &assignments[index];
            self.assign(name, contents, *append);
        }
        self.state.status = Status::Success;
    }

    /// The arguments of a command. Those of `export` and the like are not split if they are assignments.
    fn expand_arguments(&mut self, words: &[Word]) -> Vec<Value> {
        let declares = words.first().and_then(Word::plain).is_some_and(|name| {
            matches!(name, "export" | "readonly" | "local")
                || (self.bash && matches!(name, "declare" | "typeset"))
        });
        if !declares {
            return self.expand_fields(words);
        }
        let mut arguments = Vec::new();
        for word in words {
            match word.is_assignment() {
                false => arguments.extend(self.expand_fields(std::slice::from_ref(word))),
                true => {
                    let value = self.expand_text(word);
                    // Old versions of dash split it.
                    let splits = |text: &str| text.contains([' ', '\t', '\n', '*', '?', '[']);
                    let may_split = !self.bash && word.has_unquoted_expansion();
                    arguments.push(match value.known().is_some_and(splits) && may_split {
                        true => Value::Many(self.command_cause()),
                        false => value,
                    });
                }
            }
        }
        arguments
    }

    pub(super) fn assigned(&mut self, value: &AssignedValue) -> Contents {
        match value {
            AssignedValue::Text(word) => Contents::Text(self.expand_text(word)),
            AssignedValue::Array(words) => Contents::Array(self.expand_fields(words)),
            AssignedValue::Element(subscript) => {
                self.arithmetic(subscript);
                Contents::Array(vec![Value::Many(self.command_cause())])
            }
        }
    }

    /// Runs a command with variables that are set for it.
    fn with_assignments(
        &mut self,
        assignments: &[Assignment],
        values: Vec<(usize, Contents)>,
        arguments: Vec<Value>,
    ) -> Flow {
        let name = arguments[0].known().map(str::to_owned);
        let persists = self.posix && name.is_some_and(|name| builtins::is_special(&name));
        let mut before: Vec<(Rc<str>, Option<Variable>)> = Vec::new();
        for (index, contents) in values {
            let Assignment { name, append, .. } = &assignments[index];
            let old = self.state.variables.get(name.as_str()).cloned();
            before.push((name.as_str().into(), old));
            self.assign(name, contents, *append);
            self.export(name, true);
        }
        let flow = self.dispatch(arguments);
        if persists && !before.is_empty() {
            // Shells disagree whether the variable is exported then.
            self.gap("a variable that is set for a special built-in command");
        }
        self.state.restore(before);
        flow
    }

    fn dispatch(&mut self, arguments: Vec<Value>) -> Flow {
        let name = match &arguments[0] {
            Value::Known(name) => name.clone(),
            Value::Unknown(_) | Value::Many(_) => {
                self.gap(format!("what `{}` runs", self.text));
                self.state.status = Status::Unknown;
                self.write_unknown();
                return Flow::Next;
            }
        };
        if !(self.posix && builtins::is_special(&name))
            && let Some(function) = self.state.functions.get(&*name).cloned()
        {
            return self.call(&function, &arguments[1..]);
        }
        match builtins::find(&name, self.bash) {
            Some(builtin) => builtin(self, &name, &arguments[1..]),
            None => {
                self.external(arguments, false);
                Flow::Next
            }
        }
    }

    pub(super) fn call(&mut self, function: &Function, arguments: &[Value]) -> Flow {
        let body = match function {
            Function::Known(body) => body.clone(),
            Function::Unknown(cause) => {
                self.host.gap(&cause.clone());
                self.state.status = Status::Unknown;
                return Flow::Next;
            }
        };
        let outer = std::mem::replace(&mut self.state.positional, arguments.to_vec());
        self.hidden.push(Vec::new());
        let loops = std::mem::take(&mut self.loops);
        let flow = self.until_return(|shell| {
            let flow = shell.command(&body);
            shell.loops = loops;
            flow
        });
        let hidden = self.hidden.pop().unwrap_or_default();
        self.state.restore(hidden);
        self.state.positional = outer;
        flow
    }

    /// Runs what `return` ends: a function or a file.
    pub(super) fn until_return(&mut self, run: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let escapes = std::mem::take(&mut self.escapes);
        self.callers += 1;
        let flow = run(self);
        self.callers -= 1;
        let flow = match flow {
            Flow::Return => Flow::Next,
            flow => flow,
        };
        let flow = self.rejoin(flow, |escape| match escape {
            Flow::Return => None,
            other => Some(other),
        });
        self.escapes.extend(escapes);
        flow
    }

    /// Runs a program.
    pub(super) fn external(&mut self, arguments: Vec<Value>, replaces: bool) {
        let cause = self.command_cause();
        self.check_call(&arguments);
        let process = Process {
            arguments,
            environment: self.environment(),
            directory: self.state.directory.clone(),
            user: self.user.clone(),
            chain: self.chain.clone(),
            depth: self.depth,
            input: self.input.clone(),
            loader: None,
        };
        // In a subshell, only that is replaced.
        let replaces = replaces && self.early.is_none();
        let outcome = self.host.run(process, replaces, &cause);
        self.state.status = outcome.status;
        match outcome.output {
            Some(text) => self.write(&text),
            None if outcome.is_number && self.state.output.text() == Some("") => {
                self.state.output = Sink::Number;
            }
            None => self.write_unknown(),
        }
    }

    /// What only matters for programs: signals, and how dash reads PATH.
    fn check_call(&mut self, arguments: &[Value]) {
        let name = arguments.first().and_then(Value::known).unwrap_or_default();
        let name = name_of(name);
        if self.state.traps && matches!(name, "kill" | "pkill" | "killall" | "timeout") {
            self.gap("a signal to a shell with traps");
        }
        if !self.bash
            && let Some(Value::Known(path)) = self.variable_value("PATH").ok().flatten()
            && path.contains('%')
        {
            self.gap("a `%` in PATH");
        }
    }

    /// Writes to the standard output.
    pub(super) fn write(&mut self, text: &str) {
        let fits = self.spend(text.len() / 256);
        if self.state.output == Sink::Number {
            self.state.output = Sink::Captured(None);
        }
        if let Sink::Captured(captured) = &mut self.state.output {
            match captured {
                Some(all) if fits && all.len() < (1 << 20) => all.push_str(text),
                captured => *captured = None,
            }
        }
    }

    /// Writes something unknown.
    pub(super) fn write_unknown(&mut self) {
        if self.state.output != Sink::Dropped {
            self.state.output = Sink::Captured(None);
        }
    }

    pub(super) fn redirects(&mut self, redirects: &[Redirect]) -> Redirected {
        self.redirecting = true;
        let redirected = self.each_redirect(redirects);
        self.redirecting = false;
        redirected
    }

    fn each_redirect(&mut self, redirects: &[Redirect]) -> Redirected {
        let mut redirected = Redirected::default();
        for redirect in redirects {
            let is_input =
                redirect.operator.starts_with('<') && redirect.descriptor.is_none_or(|it| it == 0);
            if is_input {
                self.input = Input::Unknown;
            }
            let is_output = redirect.operator.contains('>');
            let stdout = redirect.operator.starts_with('&')
                || redirect.descriptor.map_or(is_output, |it| it == 1);
            redirected.is_output |= stdout;
            let target = match &redirect.target {
                Target::Here(body) => {
                    let text = body.get().map(|it| self.expand_text(it));
                    if is_input {
                        self.input = Input::from(text.as_ref().and_then(Value::known));
                    }
                    continue;
                }
                Target::Word(word) => {
                    let target = self.expand_text(word);
                    // `> >(…)` writes to a pipe.
                    if let [Piece::Expansion { kind, .. }] = word.pieces.as_slice()
                        && matches!(kind, Expansion::Process(_))
                    {
                        continue;
                    }
                    target
                }
            };
            let is_descriptor = redirect.operator.ends_with('&')
                && target
                    .known()
                    .is_some_and(|it| it == "-" || it.bytes().all(|byte| byte.is_ascii_digit()));
            if is_input && redirect.operator == "<<<" {
                let text = target.known().map(|it| format!("{it}\n"));
                self.input = Input::from(text.as_deref());
            }
            // Output that goes from one descriptor to the standard output may be captured.
            if is_descriptor || redirect.operator == "<<<" {
                if redirect.descriptor.is_some_and(|it| it > 2) {
                    self.write_unknown();
                }
                continue;
            }
            if target.known() == Some("/dev/null") {
                if is_input {
                    self.input = Input::from(Some(""));
                }
                continue;
            }
            redirected.may_fail = true;
            if is_output {
                let cause: Rc<Cause> = self.command_cause();
                let path = match &target {
                    Value::Known(path) => match self.absolute(path) {
                        Some(path) => Value::from(path),
                        None => Value::Unknown(cause.clone()),
                    },
                    unknown => unknown.clone(),
                };
                match path.known().is_some_and(|it| self.host.refuses_write(it)) {
                    true => redirected.fails = true,
                    false => self.host.write(&path, &cause),
                }
            }
        }
        redirected
    }
}
