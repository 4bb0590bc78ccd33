//! A shell that runs a script on the files of an image, which decide its conditions.
//!
//! What is not understood becomes a gap.

use std::rc::Rc;

use super::host::Host;
use super::state::{Contents, Sink, State};
use super::syntax::{Command, CommandKind, Connective, Item, List, Pipeline};
use crate::process::Input;
use crate::step::Step;
use crate::value::{Cause, Status, Value};

/// The deepest nesting of commands, functions and scripts; each level takes some kilobytes of the stack.
pub(super) const MAX_DEPTH: usize = 60;

/// Where a script continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// Out of this number of loops.
    Break(usize),
    Continue(usize),
    Return,
    Exit,
}

/// The script that runs.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub path: Rc<str>,
    pub layer: Option<usize>,
}

/// A running shell.
pub(super) struct Shell<'h, 'r> {
    pub host: &'h mut dyn Host<'r>,
    pub state: State,
    pub bash: bool,
    /// bash that was started as `sh`, or dash.
    pub posix: bool,
    pub interactive: bool,
    /// `$0`
    pub zero: Value,
    pub user: Rc<str>,
    pub chain: Vec<Rc<Step>>,
    /// What the command at hand reads.
    pub input: Input,
    pub source: Source,
    /// An expansion failed, which ends the script.
    pub early_error: bool,
    /// Within a redirection, which a child expands if the command is a program.
    pub redirecting: bool,
    /// Within a condition, where `set -e` has no effect.
    pub lenient: usize,
    /// Ways that leave a loop, function or script while another way stays.
    pub escapes: Vec<(Flow, State)>,
    /// What `local` hides, for each function that runs.
    pub hidden: Vec<Vec<(Rc<str>, Option<super::state::Variable>)>>,
    /// The status of ways that end a subshell early while another way stays. `None` where the end of the script ends the container.
    pub early: Option<Option<Status>>,
    /// The loops around, within the function that runs.
    pub loops: usize,
    /// The functions and sourced scripts around.
    pub callers: usize,
    pub depth: usize,
    pub line: usize,
    pub text: Rc<str>,
}

impl Shell<'_, '_> {
    /// A cause at the current line.
    pub fn cause(&self, what: impl Into<String>) -> Rc<Cause> {
        Rc::new(Cause {
            path: self.source.path.to_string(),
            layer: self.source.layer,
            line: self.line,
            what: what.into(),
            is_number: false,
            option: String::new(),
        })
    }

    /// The cause of a whole number that is unknown.
    pub fn number(&self, what: impl Into<String>) -> Rc<Cause> {
        let cause = Cause::clone(&self.cause(what));
        Rc::new(Cause {
            is_number: true,
            ..cause
        })
    }

    /// The current command as a cause.
    pub fn command_cause(&self) -> Rc<Cause> {
        self.cause(format!("`{}`", self.text))
    }

    pub fn gap(&mut self, what: impl Into<String>) {
        let cause = self.cause(what);
        self.host.gap(&cause);
    }

    /// Takes steps; false if the budget is exhausted.
    pub fn spend(&mut self, steps: usize) -> bool {
        let (source, line) = (self.source.clone(), self.line);
        let cause = |what: String| {
            Rc::new(Cause {
                path: source.path.to_string(),
                layer: source.layer,
                line,
                what,
                is_number: false,
                option: String::new(),
            })
        };
        self.host.spend(steps, &cause)
    }

    pub fn list(&mut self, list: &List) -> Flow {
        for item in list {
            let flow = self.item(item);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn item(&mut self, item: &Item) -> Flow {
        if item.background {
            self.in_subshell(|shell| shell.and_or(item));
            self.state.status = Status::Success;
            return Flow::Next;
        }
        self.and_or(item)
    }

    fn and_or(&mut self, item: &Item) -> Flow {
        self.links(&item.first, &item.rest)
    }

    /// Pipelines joined by `&&` and `||`.
    fn links(&mut self, first: &Pipeline, rest: &[(Connective, Pipeline)]) -> Flow {
        let mut flow = match rest {
            [] => return self.pipeline(first),
            _ => self.leniently(|shell| shell.pipeline(first)),
        };
        for (index, (connective, pipeline)) in rest.iter().enumerate() {
            if flow != Flow::Next {
                return flow;
            }
            let is_last = index + 1 == rest.len();
            let run = |shell: &mut Self| match is_last {
                true => shell.pipeline(pipeline),
                false => shell.leniently(|shell| shell.pipeline(pipeline)),
            };
            let wanted = *connective == Connective::And;
            flow = match self.state.status.is_success() {
                Some(success) if success == wanted => run(self),
                Some(_) => Flow::Next,
                None => {
                    let cause = self.command_cause();
                    let skipped = match wanted {
                        true => Status::Failure(None),
                        false => Status::Success,
                    };
                    self.either(&cause, run, |shell| {
                        shell.state.status = skipped;
                        Flow::Next
                    })
                }
            };
        }
        flow
    }

    /// Runs something whose failure does not end the script.
    pub fn leniently<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.lenient += 1;
        let result = run(self);
        self.lenient -= 1;
        result
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Flow {
        let mut flow = Flow::Next;
        match pipeline.commands.as_slice() {
            [command] if pipeline.negated => {
                flow = self.leniently(|shell| shell.command(command));
            }
            [command] => flow = self.command(command),
            commands => {
                let outer = self.input.clone();
                let last = commands.len().saturating_sub(1);
                for (index, command) in commands.iter().enumerate() {
                    let output = self.state.output.clone();
                    if index < last {
                        self.state.output = Sink::Captured(Some(String::new()));
                    }
                    self.in_subshell(|shell| shell.leniently(|shell| shell.command(command)));
                    if index < last {
                        let written = std::mem::replace(&mut self.state.output, output);
                        self.input = Input::from(written.text());
                    }
                }
                self.input = outer;
                self.state.status = Status::Unknown;
            }
        }
        if pipeline.negated {
            self.state.status = self.state.status.negated();
            return flow;
        }
        match flow {
            Flow::Next if pipeline.commands.len() == 1 => self.after_command(),
            flow => flow,
        }
    }

    /// `set -e`: a failure ends the script.
    fn after_command(&mut self) -> Flow {
        if !self.state.options.errexit || self.lenient > 0 {
            return Flow::Next;
        }
        match self.state.status.is_success() {
            Some(true) => Flow::Next,
            Some(false) => Flow::Exit,
            None => {
                self.ends_early(Status::Failure(None));
                Flow::Next
            }
        }
    }

    pub fn command(&mut self, command: &Command) -> Flow {
        if self.depth >= MAX_DEPTH {
            self.gap("commands nested too deeply");
            return Flow::Exit;
        }
        if !self.spend(1) {
            return Flow::Exit;
        }
        self.depth += 1;
        self.line = command.line;
        self.text = command.text.clone();
        let flow = self.redirected(command);
        self.depth -= 1;
        flow
    }

    fn redirected(&mut self, command: &Command) -> Flow {
        if let CommandKind::Simple {
            assignments,
            words,
            arrays,
        } = &command.kind
        {
            let values: Vec<Contents> = arrays.iter().map(|it| self.assigned(&it.value)).collect();
            let flow = self.simple(assignments, words, &command.redirects);
            for (array, contents) in arrays.iter().zip(values) {
                self.put(&array.name, contents);
            }
            return flow;
        }
        if matches!(command.kind, CommandKind::Function { .. }) {
            return self.compound(&command.kind);
        }
        // The first command in it may read all.
        let outer = self.input.clone();
        let redirected = self.redirects(&command.redirects);
        self.input = self.input.rest();
        let output = self.state.output.clone();
        if redirected.is_output {
            self.state.output = Sink::Dropped;
        }
        let flow = self.compound(&command.kind);
        if redirected.is_output {
            self.state.output = output;
        }
        self.input = outer;
        if redirected.may_fail && flow == Flow::Next {
            self.state.status = self.state.status.or(Status::Failure(None));
        }
        flow
    }

    fn compound(&mut self, kind: &CommandKind) -> Flow {
        match kind {
            CommandKind::Simple { .. } => Flow::Next,
            CommandKind::Group(list) => self.list(list),
            CommandKind::Subshell(list) => {
                self.in_subshell(|shell| shell.list(list));
                self.after_command()
            }
            CommandKind::If {
                branches,
                otherwise,
            } => self.if_command(branches, otherwise.as_ref()),
            CommandKind::For { name, words, body } => self.for_loop(name, words.as_deref(), body),
            CommandKind::While {
                until,
                condition,
                body,
            } => self.while_loop(*until, condition, body),
            CommandKind::Case { word, arms } => self.case_command(word, arms),
            CommandKind::Function { name, body } => {
                let function = super::state::Function::Known(body.clone());
                self.state.functions.insert(name.clone(), function);
                self.state.status = Status::Success;
                Flow::Next
            }
            CommandKind::Test(tokens) => {
                self.state.status = self.extended_test(tokens);
                Flow::Next
            }
            CommandKind::Arithmetic(text) => {
                self.arithmetic(text);
                self.state.status = Status::Unknown;
                Flow::Next
            }
            CommandKind::Unknown(problem) => {
                self.gap(problem.clone());
                Flow::Exit
            }
        }
    }
}
