//! Follows what is executed, from the command of a container to the programs that run.

mod by_linux;
mod by_loader;
mod by_shell;
mod end;
mod host;
mod missing;
mod needs;
mod program;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use super::failure::{MissingProgram, StartFailure};
use super::interpreter_line::interpreter;
use super::knowledge::Knowledge;
use super::locate::{Files, Located, locate};
use super::overlay::Overlay;
use super::process::Process;
use super::program::Program;
use super::shell::{self, Host, Outcome, ShellStart};
use super::step::Step;
use super::user::User;
use super::value::{Cause, Status, Value};
use super::written::Written;
use imgcheck_base::gap::Gap;
use imgcheck_base::lexical::{is_below, name_of};
use imgcheck_image::{Access, Node, RootFilesystem};

/// Commands and loops that are run. Entrypoint scripts of people need some hundreds.
const MAX_STEPS: usize = 50_000;
/// Programs that start each other, and scripts in scripts. Linux follows five `#!` lines; wrappers add a few.
const MAX_NESTING: usize = 12;
/// Maximum length of a script, in bytes. Longer ones carry archives.
const MAX_SCRIPT: usize = 256 << 10;
/// Maximum number of gaps to list.
const MAX_GAPS: usize = 32;

/// What is found on the way.
pub(crate) struct Chain<'r, 'k> {
    pub root: &'r RootFilesystem<'r>,
    pub knowledge: &'k Knowledge,
    pub overlay: &'k Overlay,
    pub user: User,
    /// The user of the first process.
    pub first_user: Rc<str>,
    /// The volumes that the image declares.
    pub image_volumes: Vec<String>,
    /// The working directory of the first process, which the container runtime makes.
    first_directory: String,
    pub gaps: Vec<Gap>,
    /// Files whose text is needed and was not read.
    pub missing_texts: BTreeSet<String>,
    pub started: Vec<Program>,
    pub written: Written,
    pub refreshes_cache: Option<Gap>,
    /// Why the container's first process does not start.
    pub failure: Option<StartFailure>,
    /// The programs of scripts that the image does not have.
    missing: Vec<MissingProgram>,
    /// The commands that end a shell because a variable is not set, each with the variable.
    unset: Vec<(Rc<Cause>, String)>,
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
        first: &Process,
        user: User,
    ) -> Self {
        Chain {
            root,
            knowledge,
            overlay,
            first_user: user.written.as_str().into(),
            user,
            image_volumes: Vec::new(),
            first_directory: first.directory.known().unwrap_or_default().to_owned(),
            gaps: Vec::new(),
            missing_texts: BTreeSet::new(),
            started: Vec::new(),
            written: Written::default(),
            refreshes_cache: None,
            failure: None,
            missing: Vec::new(),
            unset: Vec::new(),
            steps: MAX_STEPS,
            nesting: 0,
            is_main: true,
        }
    }

    pub fn is_unknown(&self, path: &str) -> bool {
        self.knowledge.is_of_host(path) || self.overlay.hides(path) || self.written.touches(path)
    }

    /// Whether the container runtime makes a directory that the image does not have: it does so for the working directory, and where it mounts volumes.
    fn is_made(&self, path: &str) -> bool {
        let mounted = self.overlay.volumes.iter().chain(&self.image_volumes);
        let mut made = mounted.chain([&self.first_directory]);
        made.any(|it| is_below(it, path))
    }

    /// Whether the user may certainly not write a file or directory, or make it in the nearest directory above that exists.
    fn refuses_write(&self, path: &str) -> bool {
        let is_open = |it: &str| {
            let mut volumes = self.image_volumes.iter();
            self.is_unknown(it)
                || self.written.changes_mode(it)
                || volumes.any(|above| is_below(it, above))
        };
        let overlay = self.overlay;
        let is_ordinary = self.user.id.is_some_and(|it| it != 0) && !overlay.other_groups;
        let destination = self.root.destination(path);
        if overlay.is_in_config_map(&destination) {
            return true;
        }
        let above = Path::new(&destination).ancestors().filter_map(Path::to_str);
        let nearest = above.clone().find_map(|it| self.root.resolve(it).ok());
        let made = above.take_while(|it| self.root.resolve(it).is_err());
        let is_mounted = overlay.other_volumes || is_open(path) || is_open(&destination);
        if is_mounted || made.into_iter().any(|it| self.is_made(it)) {
            return false;
        }
        if overlay.read_only {
            return true;
        }
        is_ordinary
            && nearest.is_some_and(|it| {
                // Container runtimes make a root directory that no layer lists, for root.
                let is_known = it.mode().is_some() || it.path() == "/";
                is_known
                    && !is_open(&it.path())
                    && !it.allows(&self.user.credentials, Access::Write)
            })
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
        if *process.user != *self.user.written {
            self.user = User::of(self.root, &process.user);
        }
        match self.of_files(|files| locate(files, &process)) {
            Located::Unknown(path) => {
                self.note_unlocated(&process, cause, &name, &path);
                Next::Ended(Outcome::unknown())
            }
            Located::Missing => Next::Ended(self.execute_missing(process, cause, &name)),
            Located::File(path, node) => {
                let program = name_of(&path);
                if self.knowledge.is_installer(program, &process.arguments) {
                    self.note(cause, &format!("starts {path}, which installs packages"));
                }
                self.execute_file(process, cause, &path, node)
            }
        }
    }

    /// A program of the host or of a volume, or one that a script writes.
    fn note_unlocated(&mut self, process: &Process, cause: &Rc<Cause>, name: &str, path: &str) {
        let row = self.knowledge.harmless(name_of(name));
        let row = row.filter(|_| self.knowledge.is_of_host(path));
        if !row.is_some_and(|row| self.stays_harmless(row, process, cause)) {
            self.note(
                cause,
                &format!("starts {path}, which is not decided by the image"),
            );
        }
    }

    fn execute_missing(&mut self, process: Process, cause: &Rc<Cause>, name: &str) -> Outcome {
        if let Some(failure) = self.is_not_allowed(&process, cause) {
            self.failure = Some(failure);
        } else {
            self.add_missing(&process, cause, name);
        }
        if let Some(bash) = self.knowledge.shell(name_of(name))
            && let Ok(start) = ShellStart::new(&process, bash, !bash)
            && self.is_main
            && !start.reads_input()
        {
            return self.run_shell(start, process, name, cause);
        }
        Outcome::known(Status::Failure(Some(127)), String::new())
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
                return self.execute_text(process, cause, path, node);
            };
            if self.knowledge.is_harmless_script(node.name()) {
                return self.execute_program(process, cause, path, &executable, name_of(path));
            }
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
            // Linux does not search PATH: a name is that of a file in the working directory.
            let interpreter = match interpreter.contains('/') {
                true => interpreter.to_owned(),
                false => format!("./{interpreter}"),
            };
            let words = [Some(interpreter.as_str()), argument, Some(path)];
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
        if self.is_refused_by_linux(path, node, cause) {
            return Next::Ended(Outcome::known(Status::Failure(None), String::new()));
        }
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
            return self.execute_loader(row, process, cause, path, node);
        }
        self.execute_program(process, cause, path, &executable, &name)
    }

    /// Whether a program of one name is usually a link to one of another name that does the same: `sh` to `dash`.
    fn is_alias(&self, name: &str, resolved: &str) -> bool {
        let is_shell = |it: &str| self.knowledge.shell(it).is_some();
        name == resolved || (is_shell(name) && is_shell(resolved))
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

    fn push_gap(&mut self, message: String, cause: &Cause) {
        let gap = cause.gap(message);
        if self.gaps.len() < MAX_GAPS && !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}

/// Whether a file may be a script whose text was not captured.
fn is_text_unknown(node: Node) -> bool {
    matches!(node.content(), Some(imgcheck_image::Content::Unread)) && node.size() > 0
}
