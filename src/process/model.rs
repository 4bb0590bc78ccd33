//! Which processes an image has, and each of them played.
//!
//! The packages of an environment are imported in one process, PyTorch first: those who use several import it first, and the
//! others rely on what it has loaded. Frameworks that bring all of their own (`process` in their tables) are used alone, so they
//! get a process of their own, with nothing of PyTorch loaded.

use std::collections::BTreeSet;

use super::executables;
use super::facts::Import;
use super::knowledge::Knowledge;
use super::opens;
use super::python::{Interpreter, Setting};
use super::run::Run;
use super::setting::Imports;
use crate::image::{Node, RootFilesystem};
use crate::launch::Launch;
use crate::loader::{Process, System};
use crate::stack::sites::Sites;
use crate::stack::{Environment, Labels, Stack};

/// The programs of an image that are modelled, not yet started.
#[derive(Debug)]
pub struct Programs<'r, 'k> {
    root: &'r RootFilesystem<'r>,
    knowledge: &'k Knowledge,
    programs: Vec<Program<'r>>,
    /// How many more there are.
    left_out: usize,
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
    setting: Setting,
    /// The packages that are imported, in order.
    packages: Vec<String>,
}

/// One process that was played.
pub struct ModelledProcess<'s> {
    /// As [`super::facts::ProcessFacts::name`].
    pub name: String,
    /// Whether it is the process that the image starts.
    pub main: bool,
    /// The executable.
    pub executable: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    /// `image` or the path of a script; empty if LD_LIBRARY_PATH is not set.
    pub library_path_from: String,
    /// The loader.
    pub system: &'s System<'s>,
    /// The directories that Python imports from.
    pub sites: Sites,
    /// The packages that were imported, in order.
    pub imports: Vec<Import>,
    /// What happened.
    pub run: Run<'s>,
}

/// The processes of an image, played.
pub struct Model<'s> {
    pub(super) root: &'s RootFilesystem<'s>,
    pub(super) knowledge: &'s Knowledge,
    /// The processes, the one that the image starts first.
    pub processes: Vec<ModelledProcess<'s>>,
    /// How many more programs the image has that are not modelled.
    pub left_out: usize,
}

impl<'r, 'k> Programs<'r, 'k> {
    /// The programs of an image. `launch` says what the image starts, `stack` its Python environments and what is installed.
    pub fn of(
        root: &'r RootFilesystem<'r>,
        launch: &Launch,
        stack: &Stack,
        knowledge: &'k Knowledge,
    ) -> Self {
        let mut programs = Vec::new();
        let imports = Imports::of(root, launch, stack, knowledge);
        let labels = Labels::of(&stack.environments);
        for environment in &stack.environments {
            let setting = imports.setting(root, environment);
            let label = (!programs.is_empty()).then(|| labels.label(environment));
            programs.extend(pythons(
                root,
                launch,
                environment,
                &setting,
                knowledge,
                label,
            ));
        }
        let found = executables::find(root, knowledge, launch);
        for path in found.paths {
            let is_command = launch.executable.as_deref() == Some(path.as_str());
            let Some(system) = system(root, &path, launch, knowledge) else {
                continue;
            };
            let program = Program {
                name: path.clone(),
                main: is_command,
                path,
                environment: String::new(),
                library_path_from: launch.library_path_from.clone(),
                system,
                setting: Setting::default(),
                packages: Vec::new(),
            };
            programs.push(program);
        }
        if programs
            .iter()
            .any(|program| program.main && program.environment.is_empty())
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
            left_out: found.left_out,
        }
    }

    /// Plays them all.
    pub fn model(&self) -> Model<'_> {
        Model {
            root: self.root,
            knowledge: self.knowledge,
            processes: self
                .programs
                .iter()
                .map(|program| play(self.root, self.knowledge, program))
                .collect(),
            left_out: self.left_out,
        }
    }
}

fn play<'s>(
    root: &'s RootFilesystem<'s>,
    knowledge: &'s Knowledge,
    program: &'s Program<'s>,
) -> ModelledProcess<'s> {
    let run = Run::start(Process::start(&program.system, &program.path));
    let mut interpreter = Interpreter::new(root, knowledge, &program.setting, run);
    let starts = interpreter.run.process.is_some();
    for package in program.packages.iter().filter(|_| starts) {
        if let Some(plan) = knowledge.plan(package) {
            interpreter.import(plan);
        }
    }
    interpreter.first_uses();
    let Interpreter {
        mut run, imports, ..
    } = interpreter;
    opens::follow(&mut run, knowledge, &program.setting);
    ModelledProcess {
        name: program.name.clone(),
        main: program.main,
        executable: program.path.clone(),
        environment: program.environment.clone(),
        library_path_from: program.library_path_from.clone(),
        system: &program.system,
        sites: program.setting.path.iter().collect(),
        imports,
        run,
    }
}

/// The processes of one environment: that of most packages, and one for each framework that is used alone. `label` is what it is
/// called; `None` for that of the image's process.
fn pythons<'r>(
    root: &'r RootFilesystem<'r>,
    launch: &Launch,
    environment: &Environment,
    setting: &Setting,
    knowledge: &Knowledge,
    label: Option<String>,
) -> Vec<Program<'r>> {
    let installed = |name: &str| setting.installed.contains_key(name);
    let packages = knowledge.packages().filter(|plan| !plan.companion);
    let packages: Vec<_> = packages.filter(|plan| installed(&plan.package)).collect();
    let mut kinds: Vec<&str> = packages.iter().map(|plan| plan.process.as_str()).collect();
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    kinds.sort_by_key(|kind| !kind.is_empty());

    let main = label.is_none();
    let mut programs: Vec<Program> = Vec::new();
    for kind in kinds {
        let Some(system) = system(root, &environment.interpreter, launch, knowledge) else {
            return programs;
        };
        let mut about = Vec::new();
        about.extend(label.as_deref());
        about.extend((!programs.is_empty()).then_some(kind));
        let name = match about.is_empty() {
            true => "python".to_owned(),
            false => format!("python ({})", about.join(", ")),
        };
        let own = packages.iter().filter(|plan| plan.process == kind);
        programs.push(Program {
            name,
            main,
            path: environment.interpreter.clone(),
            environment: environment.prefix.clone(),
            library_path_from: launch.library_path_from.clone(),
            system,
            setting: setting.clone(),
            packages: own.map(|plan| plan.package.clone()).collect(),
        });
    }
    programs
}

fn system<'r>(
    root: &'r RootFilesystem<'r>,
    program: &str,
    launch: &Launch,
    knowledge: &Knowledge,
) -> Option<System<'r>> {
    let elf = root.resolve(program).ok().and_then(Node::elf)?;
    let environment = launch.environment.clone();
    let mut system = System::of(root, elf, environment, &launch.working_directory)?;
    system.host_libraries = knowledge.host.clone();
    Some(system)
}
