//! What the Pythons of an image import, and which imports certainly fail: the program that the image starts, and each package of the tables
//! of processes.
//!
//! The rules of Python are in [`imgcheck_python::run`]; here are the files, the search path and what is said of a failure.

mod explain;
mod extensions;
mod facts;
mod files;
mod knowledge;
mod left_out;
mod listing;
mod loader;
mod prefetch;
mod python;
mod pythons;
mod similar;

use std::sync::Arc;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::limits::Limit;
use imgcheck_base::parallel;
use imgcheck_image::Node;
use imgcheck_python::ModuleFacts;
use imgcheck_python::run::{Interpreter, Outcome, Search};

use crate::stack::{Environment, Labels, PythonProgram};
use explain::Explainer;
pub use facts::{AbsenceReason, ImportFailure, ImportTree, ImportedModule};
use files::ImageFiles;
use knowledge::FirstUse;
pub use knowledge::Knowledge;
use python::{Python, Systems};
pub use pythons::{Pythons, Reader};
use similar::similar;

/// The stack of the thread that plays imports: a chain of imports is a chain of calls.
const STACK: usize = 512 << 20;

/// What was imported.
#[derive(Debug, Clone, Default)]
pub struct Imports<'r> {
    /// The imports that certainly fail, the first of each program.
    pub failures: Vec<ImportFailure>,
    /// What each program imports, if that is kept.
    pub trees: Vec<ImportTree>,
    /// What was not judged.
    pub gaps: Vec<Gap>,
    /// The sources that were read.
    pub read: Vec<(Node<'r>, Arc<ModuleFacts>)>,
    lookups: u64,
}

impl<'r> Pythons<'_, 'r> {
    /// Plays the imports of all environments.
    ///
    /// # Errors
    /// [`Limit::PythonLookups`] is exceeded, a source cannot be read, or a thread with a large stack cannot be started.
    pub fn play(&self, reader: Reader<'_, 'r>) -> Result<Imports<'r>> {
        if self.environments.is_empty() {
            return Ok(Imports::default());
        }
        let played = parallel::on_stack(STACK, || self.play_here(reader));
        let imports = played.map_err(|error| Error::io("the imports of Python", error))??;
        let checked = self
            .bounds
            .limits
            .check(Limit::PythonLookups, imports.lookups);
        checked.map_err(|exceeded| Error::limit("the imports of Python", exceeded))?;
        Ok(imports)
    }

    /// The modules of the packages, and those of their first uses.
    fn modules(&self, environment: &Environment) -> impl Iterator<Item = &str> {
        let versions = self.versions(environment);
        self.packages.iter().flat_map(move |package| {
            let uses = self.knowledge.first_uses(package, versions.as_ref());
            let uses: Vec<_> = uses.flat_map(|it| &it.modules).collect();
            std::iter::once(package).chain(uses).map(String::as_str)
        })
    }

    fn play_here(&self, reader: Reader<'_, 'r>) -> Result<Imports<'r>> {
        let mut imports = Imports::default();
        let labels = Labels::of(self.environments);
        let systems = Systems::of(self);
        let files = ImageFiles::new(self.root, self.user(), reader);
        for environment in self.environments {
            let label = labels.label(environment);
            let Some(python) = Python::of(self, environment, &systems, &files)? else {
                continue;
            };
            if self.reads {
                prefetch::read(&python.files, &python.search, self.modules(environment));
            }
            let run = Run::of(self, &python, &label);
            // A launcher that fails starts no program.
            let launcher = environment.launcher.as_deref();
            let launcher = launcher.map(|it| Python::of(self, it, &systems, &files));
            let launcher = launcher.transpose()?.flatten();
            let known = imports.failures.len();
            if let Some(launcher) = &launcher {
                Run::of(self, launcher, &label).program(&mut imports)?;
            }
            if imports.failures.len() == known {
                run.program(&mut imports)?;
            }
            for package in self.packages {
                run.package(package, &mut imports);
            }
            for python in launcher.iter().chain([&python]) {
                python.check()?;
            }
        }
        imports.gaps.extend(files.unread().map(unread));
        imports.read = files.into_read()?;
        Ok(imports)
    }
}

/// One environment whose imports are played.
#[derive(Clone, Copy)]
struct Run<'p, 'i, 's, 'r> {
    pythons: &'p Pythons<'i, 'r>,
    environment: &'p Environment,
    label: &'p str,
    files: &'p ImageFiles<'s, 'r>,
    search: &'p Search<Node<'r>>,
}

impl<'p, 'i, 's, 'r> Run<'p, 'i, 's, 'r> {
    fn of(pythons: &'p Pythons<'i, 'r>, python: &'p Python<'p, 's, 'r>, label: &'p str) -> Self {
        Run {
            pythons,
            environment: python.environment,
            label,
            files: &python.files,
            search: &python.search,
        }
    }
}

impl<'r> Run<'_, '_, '_, 'r> {
    /// What the image starts.
    fn program(&self, imports: &mut Imports<'r>) -> Result<()> {
        let Some(program) = &self.environment.program else {
            return Ok(());
        };
        if let Some(problem) = &self.environment.not_followed {
            imports
                .gaps
                .push(gap(format!("{problem}, so what it starts was not judged")));
        }
        let mut interpreter = Interpreter::new(self.files, self.search);
        let (name, outcome) = match program {
            PythonProgram::Script(path) => {
                let Ok(node) = self.pythons.root.resolve_as(path, self.pythons.user()) else {
                    let launch = self.pythons.launch;
                    let is_said = launch.gaps.iter().any(|it| it.message.contains(path));
                    if launch.written_operands.contains(path) && !is_said {
                        let why = "a script writes when the container starts";
                        self.add_gap(path, why, imports);
                    }
                    return Ok(());
                };
                let Some(facts) = self.files.script(node) else {
                    return Ok(());
                };
                (path.as_str(), interpreter.run(facts))
            }
            PythonProgram::Code(code) | PythonProgram::Input(Some(code)) => {
                let name = match program {
                    PythonProgram::Code(_) => "-c",
                    _ => "<stdin>",
                };
                let facts = files::parsed(code, name)?;
                if facts.unread.is_some() {
                    // Why Python does not start with `-c` is found there.
                    if name != "-c" {
                        let why = "is not Python that imgcheck understands";
                        self.add_gap("its standard input", why, imports);
                    }
                    return Ok(());
                }
                (name, interpreter.run(Arc::new(facts)))
            }
            PythonProgram::Input(None) => {
                self.add_gap("its standard input", "is not known", imports);
                return Ok(());
            }
            PythonProgram::Module(name) => (name.as_str(), interpreter.run_module(name)),
            PythonProgram::Application(module, name) => {
                (module.as_str(), interpreter.import_attribute(module, name))
            }
        };
        self.note(name, true, &interpreter, &outcome, imports);
        Ok(())
    }

    /// Notes that the program is not known.
    fn add_gap(&self, program: &str, why: &str, imports: &mut Imports<'r>) {
        imports.gaps.push(gap(format!(
            "Python executes {program}, which {why}, so what it imports was not judged"
        )));
    }

    /// A package of the tables, if it is there.
    fn package(&self, package: &str, imports: &mut Imports<'r>) {
        let mut interpreter = Interpreter::new(self.files, self.search);
        if !self.pythons.is_asked && !interpreter.is_there(package) {
            return;
        }
        let outcome = interpreter.import(package);
        let mut late = Vec::new();
        if outcome == Outcome::Imported {
            let versions = self.pythons.versions(self.environment);
            let knowledge = self.pythons.knowledge;
            let rows = knowledge.left_out(package, versions.as_ref());
            late.extend(rows.filter_map(|it| self.left_out(it, &interpreter)));
            let uses = knowledge.first_uses(package, versions.as_ref());
            late.extend(uses.filter_map(|it| self.first_use(package, it, &mut interpreter)));
        }
        self.note(package, false, &interpreter, &outcome, imports);
        late.into_iter().for_each(|it| imports.add(Some(it)));
    }

    /// Why what a function of a package imports at its first use certainly fails.
    fn first_use(
        &self,
        package: &str,
        first: &FirstUse,
        interpreter: &mut Interpreter<ImageFiles<'_, 'r>>,
    ) -> Option<ImportFailure> {
        // One that is absent as a whole is of the table of modules that are left out.
        let mut modules = first.modules.iter();
        if !modules.all(|it| interpreter.is_there(it)) {
            return None;
        }
        let mut outcomes = first.modules.iter().map(|it| interpreter.import(it));
        let failed = outcomes.find(|it| *it != Outcome::Imported)?;
        let failure = self
            .explainer(package, false)
            .outcome(interpreter, &failed)?;
        Some(ImportFailure {
            when: first.when.clone(),
            ..failure
        })
    }

    fn note(
        &self,
        program: &str,
        is_command: bool,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        outcome: &Outcome,
        imports: &mut Imports<'r>,
    ) {
        imports.lookups += interpreter.lookups();
        let explainer = self.explainer(program, is_command);
        let failure = explainer.outcome(interpreter, outcome);
        let is_asked = self.pythons.is_asked;
        if self.pythons.trees && !(is_asked && is_command) {
            let similar = || similar(program, &self.search.path, self.files);
            imports.trees.push(ImportTree {
                failures: failure.iter().map(ImportFailure::shown).collect(),
                similar: is_asked.then(similar).flatten().unwrap_or_default(),
                ..explainer.tree(interpreter)
            });
        }
        imports.add(failure);
    }

    fn explainer<'e>(&'e self, program: &'e str, is_command: bool) -> Explainer<'e, 'e, 'r> {
        Explainer {
            pythons: self.pythons,
            environment: self.environment,
            label: self.label,
            program,
            is_command,
        }
    }
}

fn gap(message: String) -> Gap {
    Gap {
        code: GapCode::LaunchNotUnderstood,
        message,
        path: None,
        layer: None,
    }
}

/// A source that is needed, and that nobody has read: another command was expected when the image was.
fn unread(source: Node) -> Gap {
    let path = source.path();
    let message = format!("{path} was not read with the image, so what it imports was not judged");
    Gap {
        path: Some(path),
        layer: source.layer(),
        ..gap(message)
    }
}

impl Imports<'_> {
    /// Adds a failure, unless another program has the same, or one for the same cause.
    fn add(&mut self, failure: Option<ImportFailure>) {
        let is_known =
            |it: &ImportFailure, known: &ImportFailure| it == known || it.shares_cause(known);
        let is_new = |it: &ImportFailure| !self.failures.iter().any(|known| is_known(it, known));
        self.failures.extend(failure.filter(is_new));
    }
}
