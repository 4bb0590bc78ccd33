//! Follows what is executed, from the command of a container to the programs that run.

mod host;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::failure::StartFailure;
use super::interpreter_line::interpreter;
use super::knowledge::Knowledge;
use super::loader_command::{Call, LoaderCommand};
use super::locate::{Files, Located, absolute, locate};
use super::outputs::output;
use super::overlay::Overlay;
use super::process::Process;
use super::program::Program;
use super::shell::{self, Host, Outcome, ShellStart};
use super::step::Step;
use super::user::User;
use super::value::{Cause, Status, Value};
use super::wrapper::{self, WrapperContext};
use super::written::Written;
use crate::gap::Gap;
use crate::image::{Access, Node, RootFilesystem};
use crate::lexical::name_of;

/// Commands and loops that are run. Entrypoint scripts of people need some hundreds.
const MAX_STEPS: usize = 50_000;
/// Programs that start each other, and scripts in scripts. Linux follows five `#!` lines; wrappers add a few.
const MAX_NESTING: usize = 12;
/// The longest script, in bytes. Longer ones carry archives.
const MAX_SCRIPT: usize = 256 << 10;
/// The most gaps that are worth listing.
const MAX_GAPS: usize = 32;

/// What is found on the way.
pub(super) struct Chain<'r, 'k> {
    pub root: &'r RootFilesystem<'r>,
    pub knowledge: &'k Knowledge,
    pub overlay: &'k Overlay,
    pub user: User,
    /// The user of the first process.
    pub first_user: Rc<str>,
    pub gaps: Vec<Gap>,
    /// Files whose text is needed and was not read.
    pub missing_texts: BTreeSet<String>,
    pub started: Vec<Program>,
    pub written: Written,
    pub refreshes_cache: Option<Gap>,
    /// Why the container's first process does not start.
    pub failure: Option<StartFailure>,
    steps: usize,
    nesting: usize,
    /// Whether the process at hand is the container's first one.
    is_main: bool,
}

/// What becomes of a process.
enum Next {
    /// It executes the next program.
    Program(Process),
    Ended(Outcome),
}

impl Outcome {
    pub fn unknown() -> Self {
        Outcome {
            status: Status::Unknown,
            output: None,
            is_number: false,
            last: None,
        }
    }

    pub fn known(status: Status, output: String) -> Self {
        Outcome {
            status,
            output: Some(output),
            is_number: false,
            last: None,
        }
    }
}

impl<'r, 'k> Chain<'r, 'k> {
    pub fn new(
        root: &'r RootFilesystem<'r>,
        knowledge: &'k Knowledge,
        overlay: &'k Overlay,
        user: User,
    ) -> Self {
        Chain {
            root,
            knowledge,
            overlay,
            first_user: user.written.clone(),
            user,
            gaps: Vec::new(),
            missing_texts: BTreeSet::new(),
            started: Vec::new(),
            written: Written::default(),
            refreshes_cache: None,
            failure: None,
            steps: MAX_STEPS,
            nesting: 0,
            is_main: true,
        }
    }

    pub fn is_unknown(&self, path: &str) -> bool {
        self.knowledge.is_of_host(path) || self.overlay.hides(path) || self.written.touches(path)
    }

    /// Asks about the files as the process at hand sees them.
    fn of_files<T>(&self, ask: impl FnOnce(&Files<'r, '_>) -> T) -> T {
        ask(&Files {
            root: self.root,
            user: &self.user,
            written: &self.written,
            is_unknown: &|path| self.is_unknown(path),
        })
    }

    /// Follows one process until it ends.
    fn follow(&mut self, mut process: Process, cause: &Rc<Cause>) -> Outcome {
        for _ in 0..MAX_NESTING {
            match self.execute(process, cause) {
                Next::Program(next) => process = next,
                Next::Ended(outcome) => return outcome,
            }
        }
        self.note(
            cause,
            "starts programs that start programs, too many of them",
        );
        Outcome::unknown()
    }

    /// Executes the program that the first argument names.
    fn execute(&mut self, mut process: Process, cause: &Rc<Cause>) -> Next {
        if let Some(loader) = process.loader.take() {
            return self.execute_by_loader(process, &loader, cause);
        }
        let name = match process.arguments.first() {
            Some(Value::Known(name)) => name.to_string(),
            Some(unknown) => {
                let unknown = unknown.cause().unwrap_or(cause).clone();
                self.gap(&unknown);
                return Next::Ended(Outcome::unknown());
            }
            None => {
                self.started.push(Program {
                    path: String::new(),
                    executable: String::new(),
                    process,
                    is_main: false,
                    is_harmless: true,
                    failure: None,
                    cause: cause.clone(),
                });
                return Next::Ended(Outcome::unknown());
            }
        };
        let own = name_of(&name);
        if process.user != self.user.written {
            self.user = User::of(self.root, &process.user);
        }
        match self.of_files(|files| locate(files, &process)) {
            Located::Unknown(path) => {
                let row = self.knowledge.harmless(own);
                let row = row.filter(|_| self.knowledge.is_of_host(&path));
                if !row.is_some_and(|row| self.stays_harmless(row, &process, cause)) {
                    self.note(
                        cause,
                        &format!("starts {path}, which is not decided by the image"),
                    );
                }
                Next::Ended(Outcome::unknown())
            }
            Located::Missing => {
                if let Some(failure) = self.is_not_allowed(&process, cause) {
                    self.failure = Some(failure);
                } else if self.is_main {
                    self.note(
                        cause,
                        &format!("starts `{name}`, which is not in the image"),
                    );
                }
                if let Some(bash) = self.knowledge.shell(own)
                    && let Ok(start) = ShellStart::new(&process, bash, !bash)
                    && self.is_main
                    && !start.reads_input()
                {
                    return Next::Ended(self.run_shell(start, process, &name, cause));
                }
                Next::Ended(Outcome::known(Status::Failure(Some(127)), String::new()))
            }
            Located::File(path, node) => {
                let is_installer =
                    |it: &Knowledge| it.is_installer(name_of(&path), &process.arguments);
                if is_installer(self.knowledge) {
                    self.note(cause, &format!("starts {path}, which installs packages"));
                }
                self.execute_file(process, cause, &path, node)
            }
        }
    }

    fn execute_file(
        &mut self,
        mut process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node<'r>,
    ) -> Next {
        let executable = node.path();
        if is_text_unknown(node) {
            self.missing_texts.insert(executable.clone());
            self.note(cause, &format!("starts {path}, whose content was not read"));
            return Next::Ended(Outcome::unknown());
        }
        if let Some(text) = node.text() {
            let Some((interpreter, argument)) = interpreter(text) else {
                self.note(cause, &format!("starts {path}, which has no valid #! line"));
                return Next::Ended(Outcome::unknown());
            };
            let is_python = name_of(interpreter).starts_with("python");
            match self.knowledge.is_console_script(name_of(path), text) {
                Some(true) if is_python => {
                    return self.execute_program(process, cause, path, &executable, name_of(path));
                }
                Some(_) => self.note(
                    cause,
                    &format!("starts {path}, which is not the known script of this name"),
                ),
                None => {}
            }
            process.chain.push(Rc::new(Step::of(path, cause)));
            let words = [Some(interpreter), argument, Some(path)];
            let words = words.into_iter().flatten().map(Value::from);
            process.arguments.splice(..1, words);
            return Next::Program(process);
        }
        self.execute_native(process, cause, path, node)
    }

    /// Executes a file that is not a script.
    fn execute_native(
        &mut self,
        mut process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node<'r>,
    ) -> Next {
        let executable = node.path();
        if let Some(failure) = StartFailure::of_variables(node, path, &process) {
            return self.prints(process, cause, path, node, failure);
        }
        let name = process.arguments[0]
            .known()
            .map(name_of)
            .unwrap_or_default();
        let resolved = name_of(&executable);
        let mut name = match self.knowledge.is_multi_call(resolved) || self.is_alias(name, resolved)
        {
            true => name.to_owned(),
            false => resolved.to_owned(),
        };
        if self.knowledge.is_multi_call(&name) && process.arguments.len() > 1 {
            process.arguments.remove(0);
            name = process.arguments[0].known().unwrap_or_default().to_owned();
        }
        if let Some(row) = self.knowledge.loader(resolved) {
            return match LoaderCommand::read(row, path, &process.arguments) {
                Call::Runs(command, arguments) => {
                    process.chain.push(Rc::new(Step::of(path, cause)));
                    process.arguments = arguments;
                    process.loader = Some(Rc::new(command));
                    Next::Program(process)
                }
                Call::Prints(option, said) => {
                    let failure = StartFailure::of_option(node, path, option, said);
                    self.prints(process, cause, path, node, failure)
                }
                Call::Unknown(problem) => {
                    self.note(
                        cause,
                        &format!("starts another program through {path}: {problem}"),
                    );
                    Next::Ended(Outcome::unknown())
                }
            };
        }
        self.execute_program(process, cause, path, &executable, &name)
    }

    /// Ends with a program that only prints something.
    fn prints(
        &mut self,
        process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node,
        failure: StartFailure,
    ) -> Next {
        self.started.push(Program {
            path: path.to_owned(),
            executable: node.path(),
            process,
            is_main: self.is_main,
            is_harmless: true,
            failure: Some(failure),
            cause: cause.clone(),
        });
        Next::Ended(Outcome::unknown())
    }

    /// Executes the program that the dynamic loader is given as the command.
    fn execute_by_loader(
        &mut self,
        mut process: Process,
        loader: &Rc<LoaderCommand>,
        cause: &Rc<Cause>,
    ) -> Next {
        let path = absolute(&loader.program, &process.directory);
        let Some(path) = path.filter(|it| !self.is_unknown(it)) else {
            let program = &loader.program;
            self.note(
                cause,
                &format!("starts {program}, which is not decided by the image"),
            );
            return Next::Ended(Outcome::unknown());
        };
        let node = self.root.resolve_as(&path, &self.user.credentials).ok();
        let readable = node.filter(|it| it.allows(&self.user.credentials, Access::Read));
        let Some(node) = readable.filter(|it| it.elf().is_some()) else {
            let problem = match (readable.and_then(Node::content), node) {
                (Some(_), _) => "invalid ELF header",
                (None, Some(_)) => "cannot open shared object file: Permission denied",
                (None, None) => "cannot open shared object file: No such file or directory",
            };
            let file = node.or(self.root.resolve(&loader.loader).ok());
            let file = file.unwrap_or_else(|| self.root.root());
            let said = format!("{}: {problem}", loader.program);
            let failure =
                StartFailure::of_option(file, &loader.loader, loader.program.clone(), said);
            return self.prints(process, cause, &path, file, failure);
        };
        let is_musl = self.knowledge.loader(name_of(&loader.loader));
        let is_musl = is_musl.is_some_and(|row| row.musl);
        let executable = node.path();
        let is_shell = self.knowledge.shell(name_of(&executable)).is_some();
        let zero = process.arguments[0].known().unwrap_or_default();
        let is_wrapper = self.knowledge.wrapper(name_of(&executable), None).is_some();
        // Programs that the program starts get nothing of it.
        if is_shell || is_wrapper || self.knowledge.is_multi_call(name_of(&executable)) {
            return self.execute_native(process, cause, &path, node);
        }
        if let Some(failure) = StartFailure::of_variables(node, &path, &process) {
            return self.prints(process, cause, &path, node, failure);
        }
        // Python finds its environment by `argv[0]`.
        let mut named = path;
        if loader.renames() && name_of(&executable).starts_with("python") {
            let by_zero = self.of_files(|files| locate(files, &process));
            match by_zero {
                Located::File(path, found) if found.path() == executable => named = path,
                _ => {
                    let what =
                        format!("starts {named} under the name {zero}, which does not lead to it");
                    self.note(cause, &what);
                }
            }
        }
        if let Err(problem) = loader.apply(&mut process, is_musl) {
            self.note(
                cause,
                &format!("starts {named} by {}: {problem}", loader.loader),
            );
        }
        process.loader = Some(loader.clone());
        self.execute_program(process, cause, &named, &executable, name_of(&executable))
    }

    /// Why the container's first program cannot be executed, if the image has it and the user may not.
    fn is_not_allowed(&self, process: &Process, cause: &Cause) -> Option<StartFailure> {
        let path = process.arguments.first()?.known()?;
        if cause.line != 0 || !self.is_main || !path.starts_with('/') || self.is_unknown(path) {
            return None;
        }
        let node = self.root.resolve(path).ok()?;
        let is_file = node.content().is_some() && process.chain.is_empty();
        is_file.then(|| StartFailure::of_permissions(node, path, &self.user.written))
    }

    /// Whether a program of one name is usually a link to one of another name that does the same: `sh` to `dash`.
    fn is_alias(&self, name: &str, resolved: &str) -> bool {
        let is_shell = |it: &str| self.knowledge.shell(it).is_some();
        name == resolved || (is_shell(name) && is_shell(resolved))
    }

    fn execute_program(
        &mut self,
        mut process: Process,
        cause: &Rc<Cause>,
        path: &str,
        executable: &str,
        name: &str,
    ) -> Next {
        let program = |process: Process, is_harmless, is_main| Program {
            path: path.to_owned(),
            executable: executable.to_owned(),
            process,
            is_main,
            is_harmless,
            failure: None,
            cause: cause.clone(),
        };
        if self.knowledge.is_restricted(name) {
            self.note(cause, &format!("starts {path}, a restricted shell"));
            self.started.push(program(process, false, self.is_main));
            return Next::Ended(Outcome::unknown());
        }
        if self.knowledge.shell(name).is_some() {
            // What `sh` leads to decides which shell it is.
            let bash = self.knowledge.shell(name_of(executable)).unwrap_or(false);
            let posix = !bash || name == "sh";
            match ShellStart::new(&process, bash, posix) {
                Ok(start) if start.reads_input() => {}
                Ok(start) => return Next::Ended(self.run_shell(start, process, path, cause)),
                Err(problem) => {
                    self.note(cause, &format!("starts a shell with {problem}"));
                    return Next::Ended(Outcome::unknown());
                }
            }
        }
        if let Some(outcome) = self.ask_conda(&process, cause, path, executable, name) {
            return Next::Ended(outcome);
        }
        let first = process.arguments.get(1).and_then(Value::known);
        if let Some(wrapper) = self.knowledge.wrapper(name, first) {
            let before = process.clone();
            let context = WrapperContext {
                root: self.root,
                knowledge: self.knowledge,
                cause,
                executable,
                is_unknown: &|path| self.is_unknown(path),
            };
            match wrapper::apply(wrapper, &mut process, &context) {
                Ok(true) => {
                    process.chain.push(Rc::new(Step::of(path, cause)));
                    return Next::Program(process);
                }
                Ok(false) => {
                    self.started.push(program(before, true, self.is_main));
                    return Next::Ended(Outcome::unknown());
                }
                Err(problem) => {
                    self.note(
                        cause,
                        &format!("starts another program through {path}: {problem}"),
                    );
                    self.started.push(program(before, false, self.is_main));
                    return Next::Ended(Outcome::unknown());
                }
            }
        }
        let harmless = self.knowledge.harmless(name);
        let is_harmless = harmless.is_some_and(|row| self.stays_harmless(row, &process, cause));
        let outcome = match is_harmless {
            true => {
                let output = self.of_files(|files| output(name, &process, files));
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
            false => Outcome::unknown(),
        };
        self.started
            .push(program(process, is_harmless, self.is_main));
        Next::Ended(outcome)
    }

    fn run_shell(
        &mut self,
        start: ShellStart,
        mut process: Process,
        path: &str,
        cause: &Rc<Cause>,
    ) -> Outcome {
        let is_main = self.is_main;
        process.chain.push(Rc::new(Step::of(path, cause)));
        shell::run(self, start, process, is_main, cause)
    }

    pub fn note(&mut self, cause: &Cause, problem: &str) {
        let start = match cause.line {
            0 => "the command of the container".to_owned(),
            line => format!("line {line}, {},", cause.what),
        };
        self.push_gap(format!("{start} {problem}"), cause);
    }

    /// Notes that the command fails before it starts a program, or that the program is given another one and may start it.
    pub fn check_end(&mut self, outcome: &Outcome, program: Option<&Program>) {
        if !self.gaps.is_empty() || self.failure.is_some() {
            return;
        }
        let program = program.filter(|it| !it.is_harmless);
        if let (Some(false), Some(last), None) =
            (outcome.status.is_success(), &outcome.last, program)
        {
            let cause = last.clone();
            self.note(
                &cause,
                "fails, which ends the script before it starts a program",
            );
        }
        if let Some(program) = program.filter(|it| self.is_given_python(it)) {
            let cause = program.cause.clone();
            let path = &program.path;
            self.note(
                &cause,
                &format!("starts {path}, which is given Python and may start it in its own way"),
            );
        }
    }

    /// Whether a program that is not Python has one in its arguments.
    fn is_given_python(&self, program: &Program) -> bool {
        let name = name_of(&program.executable);
        let is_known = name.contains("python")
            || name.contains("pypy")
            || self.knowledge.shell(name).is_some();
        let is_script = self
            .root
            .resolve(&program.executable)
            .is_ok_and(|it| it.elf().is_none());
        let mut arguments = program.process.arguments.iter().skip(1);
        !is_known && !is_script && arguments.any(|it| it.known().is_some_and(names_python))
    }

    fn push_gap(&mut self, message: String, cause: &Cause) {
        let gap = cause.gap(message);
        if self.gaps.len() < MAX_GAPS && !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}

/// Whether a word of a text is the name or path of a Python: `exec("python3", …)`.
fn names_python(text: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{},;|&=".contains(c);
    let mut words = text.split(ends).map(name_of);
    words.any(|word| {
        let version = word.strip_prefix("python").or(word.strip_prefix("pypy"));
        version.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit() || it == b'.'))
    })
}

/// Whether a file may be a script whose text was not captured.
fn is_text_unknown(node: Node) -> bool {
    matches!(node.content(), Some(crate::layer::Content::Unread)) && node.size() > 0
}
