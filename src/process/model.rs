//! Which processes an image has, and what each of them loads.
//!
//! The packages of an environment are imported in one process, PyTorch first: programs that use several packages import it first,
//! and the other packages rely on what it has loaded. Frameworks that bring everything themselves (`process` in their tables) are
//! used alone, so each gets a process of its own, without PyTorch.

use std::collections::BTreeSet;

use super::facts::Import;
use super::first_uses;
use super::installed::{PackageIndex, PythonSetup};
use super::interpreter::Interpreter;
use super::knowledge::Knowledge;
use super::plan::Plan;
use super::playback::Playback;
use super::programs;
use crate::error::Result;
use crate::image::{Node, RootFilesystem};
use crate::launch::Launch;
use crate::limits::Limit;
use crate::loader::{Bounds, Process, System};
use crate::stack::sites::Sites;
use crate::stack::{Environment, Labels, Stack};

/// The programs of an image that are modeled, not yet started.
#[derive(Debug)]
pub struct Programs<'r, 'k> {
    root: &'r RootFilesystem<'r>,
    knowledge: &'k Knowledge,
    programs: Vec<Program<'r>>,
    /// The number of programs beyond [`Limit::Programs`].
    left_out: usize,
}

/// What the programs of one image are started with.
struct Context<'c, 'r> {
    root: &'r RootFilesystem<'r>,
    launch: &'c Launch,
    knowledge: &'c Knowledge,
    bounds: &'c Bounds,
}

/// One program and the loader that starts it.
#[derive(Debug)]
struct Program<'r> {
    name: String,
    main: bool,
    path: String,
    /// Prefix of the Python environment; empty for other programs.
    environment: String,
    library_path_from: String,
    system: System<'r>,
    setup: PythonSetup,
    /// The packages to import, in order.
    packages: Vec<String>,
}

/// One process, played.
pub struct ModeledProcess<'s> {
    /// As [`super::facts::ProcessFacts::name`].
    pub name: String,
    /// The image starts this process.
    pub main: bool,
    /// Path of the program.
    pub executable: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    /// As [`Launch::library_path_from`].
    pub library_path_from: String,
    /// The loader.
    pub system: &'s System<'s>,
    /// The directories that Python imports from.
    pub sites: Sites,
    /// The packages that were imported, in order.
    pub imports: Vec<Import>,
    /// What happened.
    pub playback: Playback<'s>,
}

/// The processes of an image, played.
pub struct Model<'s> {
    pub(super) root: &'s RootFilesystem<'s>,
    pub(super) knowledge: &'s Knowledge,
    /// The processes, the one that the image starts first.
    pub processes: Vec<ModeledProcess<'s>>,
    /// The number of programs that are not modeled.
    pub left_out: usize,
}

impl<'r, 'k> Programs<'r, 'k> {
    /// The programs of an image. `launch` says what the image starts, `stack` which Python environments it has.
    pub fn of(
        root: &'r RootFilesystem<'r>,
        launch: &Launch,
        stack: &Stack,
        knowledge: &'k Knowledge,
        bounds: &Bounds,
    ) -> Self {
        let context = Context {
            root,
            launch,
            knowledge,
            bounds,
        };
        let mut programs = context.pythons(stack);
        let mut paths = programs::find(root, knowledge, launch);
        let most = usize::try_from(bounds.limits.of(Limit::Programs)).unwrap_or(usize::MAX);
        let left_out = paths.len().saturating_sub(most);
        paths.truncate(most);
        programs.extend(paths.into_iter().filter_map(|path| context.program(path)));
        if programs
            .iter()
            .any(|it| it.main && it.environment.is_empty())
        {
            for program in programs.iter_mut().filter(|it| !it.environment.is_empty()) {
                program.main = false;
            }
            programs.sort_by_key(|program| !program.main);
        }
        Programs {
            root,
            knowledge,
            programs,
            left_out,
        }
    }

    /// Plays all processes.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn model(&self) -> Result<Model<'_>> {
        let programs = self.programs.iter();
        let processes = programs.map(|program| play(self.root, self.knowledge, program));
        Ok(Model {
            root: self.root,
            knowledge: self.knowledge,
            processes: processes.collect::<Result<_>>()?,
            left_out: self.left_out,
        })
    }
}

fn play<'s>(
    root: &'s RootFilesystem<'s>,
    knowledge: &'s Knowledge,
    program: &'s Program<'s>,
) -> Result<ModeledProcess<'s>> {
    let playback = Playback::new(Process::start(&program.system, &program.path)?);
    let starts = playback.process.is_some();
    let mut interpreter = Interpreter::new(root, knowledge, &program.setup, playback);
    for package in program.packages.iter().filter(|_| starts) {
        if let Some(plan) = knowledge.plan(package) {
            interpreter.import(plan)?;
        }
    }
    interpreter.first_uses()?;
    let Interpreter {
        mut playback,
        imports,
        ..
    } = interpreter;
    first_uses::follow(&mut playback, knowledge, &program.setup)?;
    if let Some(process) = &playback.process {
        playback.undefined_calls = process.undefined_calls()?;
    }
    Ok(ModeledProcess {
        name: program.name.clone(),
        main: program.main,
        executable: program.path.clone(),
        environment: program.environment.clone(),
        library_path_from: program.library_path_from.clone(),
        system: &program.system,
        sites: program.setup.path.iter().collect(),
        imports,
        playback,
    })
}

impl<'r> Context<'_, 'r> {
    /// The processes of all Python environments, the main one first.
    fn pythons(&self, stack: &Stack) -> Vec<Program<'r>> {
        let index = PackageIndex::of(self.root, self.launch, stack, self.knowledge);
        let labels = Labels::of(&stack.environments);
        let mut programs = Vec::new();
        for environment in &stack.environments {
            let setup = index.setup(self.root, environment);
            let label = (!programs.is_empty()).then(|| labels.label(environment));
            programs.extend(self.of_environment(environment, &setup, label));
        }
        programs
    }

    /// The processes of one environment: one for most packages, and one for each framework that is used alone. `label` names the
    /// environment; `None` for the main one.
    fn of_environment(
        &self,
        environment: &Environment,
        setup: &PythonSetup,
        label: Option<String>,
    ) -> Vec<Program<'r>> {
        let is_installed = |plan: &&Plan| setup.installed.contains_key(&plan.package);
        let packages = self.knowledge.packages().filter(|plan| !plan.companion);
        let packages: Vec<_> = packages.filter(is_installed).collect();
        let mut groups: Vec<&str> = packages.iter().map(|plan| plan.process.as_str()).collect();
        let mut seen = BTreeSet::new();
        groups.retain(|group| seen.insert(*group));
        groups.sort_by_key(|group| !group.is_empty());

        let main = label.is_none();
        let mut programs: Vec<Program> = Vec::new();
        for group in groups {
            let Some(system) = self.system(&environment.interpreter) else {
                return programs;
            };
            let mut details = Vec::new();
            details.extend(label.as_deref());
            details.extend((!programs.is_empty()).then_some(group));
            let name = match details.is_empty() {
                true => "python".to_owned(),
                false => format!("python ({})", details.join(", ")),
            };
            let own = packages.iter().filter(|plan| plan.process == group);
            programs.push(Program {
                name,
                main,
                path: environment.interpreter.clone(),
                environment: environment.prefix.clone(),
                library_path_from: self.launch.library_path_from.clone(),
                system,
                setup: setup.clone(),
                packages: own.map(|plan| plan.package.clone()).collect(),
            });
        }
        programs
    }

    /// A program without Python.
    fn program(&self, path: String) -> Option<Program<'r>> {
        Some(Program {
            name: path.clone(),
            main: self.launch.executable.as_ref() == Some(&path),
            environment: String::new(),
            library_path_from: self.launch.library_path_from.clone(),
            system: self.system(&path)?,
            setup: PythonSetup::default(),
            packages: Vec::new(),
            path,
        })
    }

    fn system(&self, program: &str) -> Option<System<'r>> {
        let elf = self.root.resolve(program).ok().and_then(Node::elf)?;
        let launch = self.launch;
        let environment = launch.environment.clone();
        let mut system = System::of(self.root, elf, environment, &launch.working_directory)?;
        system.host_libraries = self.knowledge.host.clone();
        system.bounds = self.bounds.clone();
        system.subject = format!("the process {program}");
        Some(system)
    }
}
