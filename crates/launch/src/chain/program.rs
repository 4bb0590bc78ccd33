//! Executes a file that is not a script: a shell, conda, a wrapper, or a program at which the way ends.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Chain, Next};
use crate::knowledge::Effect;
use crate::mpi;
use crate::outputs::output;
use crate::overlay::Overlay;
use crate::process::Process;
use crate::program::Program;
use crate::shell::{Outcome, ShellStart};
use crate::step::Step;
use crate::value::{Cause, Status, Value};
use crate::wrapper::{self, WrapperContext};
use imgcheck_base::lexical::name_of;

/// The program that is executed.
struct Executed<'p> {
    path: &'p str,
    executable: &'p str,
    /// The name that says what it does.
    name: &'p str,
    cause: &'p Rc<Cause>,
}

impl Chain<'_, '_> {
    pub(super) fn execute_program(
        &mut self,
        process: Process,
        cause: &Rc<Cause>,
        path: &str,
        executable: &str,
        name: &str,
    ) -> Next {
        let program = Executed {
            path,
            executable,
            name,
            cause,
        };
        if self.knowledge.is_restricted(name) {
            self.note(cause, &format!("starts {path}, a restricted shell"));
            return self.end_at(&program, process, false);
        }
        if let Some(next) = self.execute_shell(&program, &process) {
            return next;
        }
        if let Some(outcome) = self.ask_conda(&process, cause, path, executable, name) {
            return Next::Ended(outcome);
        }
        let first = process.arguments.get(1).and_then(Value::known);
        if self.refuses_root(&program, &process) {
            self.push_started(&program, process, true);
            let status = Status::Failure(Some(1));
            return Next::Ended(Outcome::known(status, String::new()));
        }
        if let Some(wrapper) = self.knowledge.wrapper(name, first) {
            return self.execute_wrapper(&program, wrapper, process);
        }
        let harmless = self.knowledge.harmless(name);
        if let Some(row) = harmless
            && let Some(outcome) = self.fails(row, name, &process, cause)
        {
            self.push_started(&program, process, true);
            return Next::Ended(outcome);
        }
        let is_harmless = harmless.is_some_and(|row| self.stays_harmless(row, &process, cause));
        let outcome = match is_harmless {
            true => self.harmless_outcome(name, &process),
            false => Outcome::unknown(),
        };
        self.push_started(&program, process, is_harmless);
        Next::Ended(outcome)
    }

    /// Runs a shell; `None` if the program is not a shell, or reads its commands from standard input.
    fn execute_shell(&mut self, program: &Executed, process: &Process) -> Option<Next> {
        self.knowledge.shell(program.name)?;
        // What `sh` leads to decides which shell it is.
        let bash = self.knowledge.shell(name_of(program.executable));
        let bash = bash.unwrap_or(false);
        let posix = !bash || program.name == "sh";
        let outcome = match ShellStart::new(process, bash, posix) {
            Ok(start) if start.reads_input() => return None,
            Ok(start) => self.run_shell(start, process.clone(), program.path, program.cause),
            Err(problem) => {
                self.note(program.cause, &format!("starts a shell with {problem}"));
                Outcome::unknown()
            }
        };
        Some(Next::Ended(outcome))
    }

    /// Notes that `mpirun` refuses to run as root.
    fn refuses_root(&mut self, program: &Executed, process: &Process) -> bool {
        // A user that a manifest leaves open counts as root elsewhere.
        let is_root = self.user.id == Some(0) && self.overlay.user.as_deref() != Some("");
        let has_file = |path: &str| self.root.resolve(path).is_ok();
        if !is_root || !mpi::refuses_root(process, program.executable, has_file) {
            return false;
        }
        self.note_refusal_of_root(program.path, program.executable, program.cause);
        true
    }

    fn execute_wrapper(
        &mut self,
        program: &Executed,
        wrapper: &crate::knowledge::Wrapper,
        mut process: Process,
    ) -> Next {
        let before = process.clone();
        if wrapper.effect == Effect::Mpi && *self.overlay != Overlay::default() {
            let problem = format!(
                "starts programs with {}, perhaps on other hosts",
                program.path
            );
            self.note(program.cause, &problem);
            return self.end_at(program, before, false);
        }
        let notes = RefCell::default();
        let context = WrapperContext {
            root: self.root,
            knowledge: self.knowledge,
            cause: program.cause,
            notes: &notes,
            executable: program.executable,
            is_unknown: &|path| self.is_unknown(path),
        };
        let applied = wrapper::apply(wrapper, &mut process, &context);
        for note in notes.take() {
            self.note(program.cause, &note);
        }
        match applied {
            Ok(true) => {
                let step = Step::of(program.path, program.cause);
                process.chain.push(Rc::new(step));
                Next::Program(process)
            }
            Ok(false) => self.end_at(program, before, true),
            Err(problem) => {
                let path = program.path;
                self.note(
                    program.cause,
                    &format!("starts another program through {path}: {problem}"),
                );
                self.end_at(program, before, false)
            }
        }
    }

    /// What a program leaves that does not change what runs.
    fn harmless_outcome(&self, name: &str, process: &Process) -> Outcome {
        let output = self.of_files(|files| output(name, process, files));
        let (status, output) = match output {
            Some((status, text)) => (status, Some(text)),
            None => (Status::Unknown, None),
        };
        Outcome {
            is_number: self.knowledge.writes_number(name, &process.arguments),
            status,
            output,
            last: None,
        }
    }

    /// The way ends at this program.
    fn end_at(&mut self, program: &Executed, process: Process, is_harmless: bool) -> Next {
        self.push_started(program, process, is_harmless);
        Next::Ended(Outcome::unknown())
    }

    fn push_started(&mut self, program: &Executed, process: Process, is_harmless: bool) {
        self.started.push(Program {
            path: program.path.to_owned(),
            executable: program.executable.to_owned(),
            process,
            is_main: self.is_main,
            is_harmless,
            failure: None,
            cause: program.cause.clone(),
        });
    }
}
