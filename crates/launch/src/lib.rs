//! What a container of an image starts: its command with the environment, working directory and user that the command gets.
//!
//! The image configuration gives the defaults (OCI image specification, `config.md`). An [`Overlay`] replaces parts of it, as a
//! Pod's `command`, `args` and `env` do. From there, [`Launch`] follows what is executed to the program that finally runs: `#!` lines,
//! shell scripts, wrappers such as `tini` and `env`. What it does not understand is a [`Gap`].

mod chain;
mod choice;
mod conda;
mod effects;
mod facts;
mod failure;
mod first_process;
mod interpreter_line;
mod knowledge;
mod loader_command;
mod locate;
mod mpi;
mod options;
mod outputs;
mod overlay;
mod permissions;
mod process;
mod program;
mod projects;
mod sed;
pub mod shell;
mod step;
mod sudo;
mod user;
mod value;
mod wrapper;
mod written;

use std::collections::BTreeMap;
use std::rc::Rc;

use oci_spec::image::ImageConfiguration;

use imgcheck_base::gap::Gap;
use imgcheck_base::lexical::{directory_of, is_below};
use imgcheck_image::{RootFilesystem, configuration};

use chain::Chain;
use choice::choose;
pub use facts::{Change, LaunchFacts};
pub use failure::StartFailure;
use first_process::first_process;
pub use knowledge::Knowledge;
pub use loader_command::LoaderCommand;
use locate::DEFAULT_PATH;
pub use overlay::{ConfigMapFile, ConfigMapVolume, Overlay, known_user};
pub use process::Input;
use process::Process;
use program::Program;
use shell::{Host, Outcome};
pub use step::Step;
pub use user::User;
use user::{GROUP, PASSWD};
pub use value::UNKNOWN;
use value::{Cause, Value};
use written::Holds;

/// The variable whose origin is reported.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// What a container of an image starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// Entry point and arguments, as the image configuration and the overlay give them.
    pub command: Vec<String>,
    /// The arguments of the program that finally runs, its name first. An argument that is unknown is left out.
    pub arguments: Vec<String>,
    /// All arguments: `--rank=` for an option with an unknown value, and [`UNKNOWN`] for one that is unknown as a whole.
    pub words: Vec<String>,
    /// The environment of that program, without variables whose values are unknown.
    pub environment: BTreeMap<String, String>,
    /// The environment that the container starts with, before any script: what NVIDIA's container toolkit reads.
    pub container_environment: BTreeMap<String, String>,
    /// Who sets LD_LIBRARY_PATH: `image`, `overlay`, or the path of the script or wrapper; empty if it is not set.
    pub library_path_from: String,
    /// What the program reads from its standard input.
    pub input: Input,
    /// The working directory of the program, an absolute path.
    pub working_directory: String,
    /// User and group as the image configuration writes them; empty for root.
    pub user: User,
    /// The path that the program is executed by. A link is not followed: Python finds its environment by this path.
    pub program: Option<String>,
    /// The file that the path leads to.
    pub executable: Option<String>,
    /// The programs and scripts on the way, in order.
    pub chain: Vec<Step>,
    /// The variables that decide what is loaded, and that differ from the image configuration.
    pub changes: Vec<Change>,
    /// What is not understood.
    pub gaps: Vec<Gap>,
    /// The script that has `ldconfig` write the loader's cache anew, as a gap for an image whose cache that changes.
    pub refreshes_cache: Option<Gap>,
    /// Why the container certainly does not run its program.
    pub failures: Vec<StartFailure>,
    /// The dynamic loader, if that is the command which runs the program. The variables that its options stand for are in `environment`.
    pub loader: Option<LoaderCommand>,
    /// Files that arguments name, without options, and that neither the image has nor a volume at their paths brings.
    pub missing_operands: Vec<MissingOperand>,
    /// Paths of files that arguments name, without options, and that the image does not have before its scripts write them.
    pub written_operands: Vec<String>,
    /// Paths of files whose texts are needed to follow the command, and were not captured.
    pub missing_texts: Vec<String>,
}

/// A file that an argument names, and that the image does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingOperand {
    /// Its absolute path.
    pub path: String,
    /// No volume may bring it, not even through a link.
    pub is_certain: bool,
}

impl Launch {
    /// What a container of the image starts when its caller replaces what `overlay` says.
    pub fn of(
        root: &RootFilesystem,
        config: &ImageConfiguration,
        overlay: &Overlay,
        knowledge: &Knowledge,
    ) -> Self {
        let (first, command, user) = first_process(root, config, overlay);
        let mut chain = Chain::new(root, knowledge, overlay, &first, user.clone());
        chain.image_volumes = configuration::volumes(config).to_vec();
        let cause = Rc::new(Cause {
            path: String::new(),
            layer: None,
            line: 0,
            what: "ENTRYPOINT and CMD".to_owned(),
            is_number: false,
            option: String::new(),
        });
        let outcome = match first.arguments.is_empty() {
            true => Outcome::unknown(),
            false => chain.run(first.clone(), true, &cause),
        };
        let program = choose(&mut chain);
        chain.check_end(&outcome, program.as_ref());
        let mut launch = Launch {
            command,
            user,
            ..Launch::default()
        };
        let last = program.as_ref().map_or(&first, |it| &it.process);
        let before = configuration::environment(config);
        let changes = facts::changes(&before, &last.environment, |it| knowledge.is_relevant(it));
        launch.changes = changes;
        launch.fill(&mut chain, program, &first);
        let volumes = configuration::volumes(config);
        let is_mounted = |path: &str| volumes.iter().any(|volume| is_below(path, volume));
        launch
            .failures
            .retain(|it| it.kind != "missing" || !is_mounted(&it.subject));
        launch
    }

    /// Takes over the program that runs, and what is unknown of it.
    fn fill(&mut self, chain: &mut Chain, program: Option<Program>, first: &Process) {
        let started = first.environment.iter();
        self.container_environment = started
            .filter_map(|(name, it)| Some((name.to_string(), it.value.known()?.to_owned())))
            .collect();
        let process = program.as_ref().map_or(first, |it| &it.process);
        self.fill_environment(chain, process, first);
        if let Some(cause) = process.directory.cause() {
            let what = format!("the working directory after {}", cause.what);
            chain.gap(&Cause {
                what,
                ..(**cause).clone()
            });
        }
        let directory = process.directory.known().or(first.directory.known());
        let directory = directory.unwrap_or("/");
        let real = chain.root.resolve(directory);
        self.working_directory = real.map_or(directory.to_owned(), |it| it.path());
        if *process.user != *self.user.written {
            self.user = User::of(chain.root, &process.user);
        }
        self.words = process.arguments.iter().map(Value::word).collect();
        let known = process.arguments.iter().filter_map(Value::known);
        self.arguments = known.map(str::to_owned).collect();
        self.input = process.input.clone();
        self.missing_operands = self.missing_operands(chain);
        self.written_operands = self.written_operands(chain);
        self.check_arguments(chain, process);
        self.check_written(chain);
        self.check_home(chain);
        self.loader = process.loader.as_deref().cloned();
        self.failures = self.failures(chain, program.as_ref());
        if let Some(program) = program.as_ref().filter(|it| !it.path.is_empty()) {
            self.program = Some(program.path.clone());
            self.executable = Some(program.executable.clone());
        }
        self.chain = process.chain.iter().map(|it| (**it).clone()).collect();
        self.refreshes_cache = chain.refreshes_cache.take();
        self.gaps = std::mem::take(&mut chain.gaps);
        self.missing_texts = std::mem::take(&mut chain.missing_texts)
            .into_iter()
            .collect();
    }

    /// Takes over the variables that are known, and notes those that decide what is loaded and are not.
    fn fill_environment(&mut self, chain: &mut Chain, process: &Process, first: &Process) {
        for (name, setting) in &process.environment {
            let value = match &setting.value {
                Value::Known(text) => text.to_string(),
                Value::Unknown(cause) | Value::Many(cause) => {
                    if !chain.knowledge.is_relevant(name) {
                        continue;
                    }
                    let what = format!("the value of {name} after {}", cause.what);
                    chain.gap(&Cause {
                        what,
                        ..(**cause).clone()
                    });
                    match first.variable(name) {
                        Some(before) => before.to_owned(),
                        None => continue,
                    }
                }
            };
            if &**name == LIBRARY_PATH && !value.is_empty() {
                self.library_path_from = setting.from.to_string();
            }
            self.environment.insert(name.to_string(), value);
        }
        for shells in ["_", "SHLVL", "OLDPWD", "PWD"] {
            self.environment.remove(shells);
        }
    }

    /// Arguments behind the script of an interpreter do not decide what is loaded; the others do.
    fn check_arguments(&self, chain: &mut Chain, process: &Process) {
        for argument in process.arguments.iter().skip(1) {
            match argument {
                Value::Known(text) if !text.starts_with('-') => return,
                Value::Known(_) => {}
                Value::Unknown(cause) | Value::Many(cause) => {
                    let cause = cause.clone();
                    chain.gap(&cause);
                    return;
                }
            }
        }
    }

    /// The absolute paths of the arguments without options that the image does not have.
    fn absent_operands(&self, chain: &Chain) -> impl Iterator<Item = String> {
        let operands = self.arguments.iter().skip(1);
        let operands = operands.filter(|it| !it.starts_with('-'));
        let operands = operands.map(|it| self.absolute(it));
        operands.filter(|it| chain.root.resolve(it).is_err())
    }

    fn written_operands(&self, chain: &Chain) -> Vec<String> {
        let may_be_mounted = |it: &str| {
            let mut volumes = chain.image_volumes.iter();
            chain.overlay.hides(it) || volumes.any(|volume| is_below(it, volume))
        };
        let absent = self.absent_operands(chain);
        let absent = absent.filter(|_| !chain.overlay.other_volumes);
        absent
            .filter(|it| chain.is_unknown(it) && !may_be_mounted(it))
            .collect()
    }

    fn missing_operands(&self, chain: &Chain) -> Vec<MissingOperand> {
        let absent = self.absent_operands(chain);
        let missing = absent.filter(|it| !chain.is_unknown(it));
        let operand = |path: String| MissingOperand {
            is_certain: !chain.overlay.other_volumes
                && !chain.is_unknown(&chain.root.destination(&path)),
            path,
        };
        missing.map(operand).collect()
    }

    /// Files that scripts write into directories from which code is loaded.
    fn check_written(&self, chain: &mut Chain) {
        let mut found = Vec::new();
        for (location, holds) in self.code_locations(chain) {
            let real = chain.root.destination(&location);
            for path in [location, real] {
                let is_data = |it: &str| chain.knowledge.has_data_name(it);
                if let Some((path, cause)) = chain.written.inside(&path, holds, is_data) {
                    found.push(Cause {
                        what: format!("{path}, which {} writes,", cause.what),
                        ..(**cause).clone()
                    });
                }
            }
        }
        for cause in found {
            chain.gap(&cause);
        }
    }

    /// Without HOME, Python looks for the home directory in `/etc/passwd`.
    fn check_home(&self, chain: &mut Chain) {
        if self.environment.contains_key("HOME") {
            return;
        }
        if let Some(cause) = chain.written.writer_of(PASSWD).cloned() {
            chain.note(
                &cause,
                &format!("writes {PASSWD}, which decides the home directory of the program"),
            );
        }
    }

    /// Why nothing runs, if that is certain.
    fn failures(&self, chain: &mut Chain, program: Option<&Program>) -> Vec<StartFailure> {
        let is_decided = ![PASSWD, GROUP].iter().any(|it| chain.overlay.hides(it));
        let user = is_decided.then(|| User::refusal(chain.root, &chain.first_user));
        let user = user.flatten().map(StartFailure::of_user);
        let of_program = program.and_then(|it| it.failure.clone());
        let of_program = of_program.filter(|_| chain.gaps.is_empty());
        let others = chain.failure.take().into_iter().chain(of_program);
        user.into_iter().chain(others).collect()
    }

    /// Where the program and its libraries and modules come from, and what counts there.
    fn code_locations(&self, chain: &Chain) -> Vec<(String, Holds)> {
        let parent = |path: &str| directory_of(path).to_owned();
        let mut locations = vec![(self.working_directory.clone(), Holds::Modules)];
        for program in [&self.program, &self.executable].into_iter().flatten() {
            let directory = parent(program);
            // An environment of Python is above the directory of its programs.
            let prefix = parent(&directory);
            locations.push((directory, Holds::Programs));
            locations.extend((prefix != "/").then_some((prefix, Holds::Programs)));
        }
        let operands = self.arguments.iter().skip(1);
        for operand in operands.filter(|it| !it.starts_with('-')) {
            let path = self.absolute(operand);
            if let Ok(node) = chain.root.resolve(&path) {
                locations.push((parent(&node.path()), Holds::Modules));
                locations.push((parent(&path), Holds::Modules));
            }
        }
        for (name, value) in &self.environment {
            let holds = match name.as_str() {
                "PATH" => Holds::Programs,
                "HOME" => {
                    locations.push((format!("{value}/.local"), Holds::Programs));
                    continue;
                }
                name if chain.knowledge.is_relevant(name) => Holds::Modules,
                _ => continue,
            };
            let paths = value.split([':', ';', ' ']).filter(|it| !it.is_empty());
            locations.extend(paths.map(|it| (self.absolute(it), holds)));
        }
        locations
    }

    /// What reports say of it.
    pub fn facts(&self) -> LaunchFacts {
        LaunchFacts {
            command: self.command.clone(),
            chain: self.chain.clone(),
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            working_directory: self.working_directory.clone(),
            user: self.user.written.to_string(),
            changes: self.changes.clone(),
        }
    }

    /// A path that may be relative to the working directory.
    pub fn absolute(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}/{path}", self.working_directory.trim_end_matches('/')),
        }
    }

    /// A variable of the environment; empty if it is not set.
    pub fn variable(&self, name: &str) -> &str {
        self.environment.get(name).map_or("", String::as_str)
    }

    /// HOME of the program, or where it is not set the home directory that `/etc/passwd` names.
    pub fn home(&self) -> &str {
        self.environment.get("HOME").unwrap_or(&self.user.home)
    }

    /// The absolute directories of a variable such as PATH or PYTHONPATH.
    pub fn directories(&self, variable: &str) -> impl Iterator<Item = &str> {
        let list = match variable {
            "PATH" => self
                .environment
                .get("PATH")
                .map_or(DEFAULT_PATH, String::as_str),
            other => self.variable(other),
        };
        list.split(':').filter(|it| it.starts_with('/'))
    }

    /// The path of the program that runs, and its arguments.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let program = self.program.as_deref();
        let known = program.is_some();
        let arguments = self.arguments.iter().skip(usize::from(known));
        program
            .into_iter()
            .chain(arguments.flat_map(move |it| it.split_whitespace()))
    }
}
