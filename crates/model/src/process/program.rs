//! One program of an image, and the process that it becomes.

use std::rc::Rc;

use super::facts::Import;
use super::first_uses;
use super::installed::PythonSetup;
use super::interpreter::Interpreter;
use super::knowledge::Knowledge;
use super::playback::Playback;
use crate::stack::sites::Sites;
use imgcheck_base::error::Result;
use imgcheck_image::RootFilesystem;
use imgcheck_loader::{Process, System};

/// One program and the loader that starts it.
#[derive(Debug, Clone)]
pub(super) struct Program<'r> {
    pub name: String,
    pub main: bool,
    pub path: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    pub library_path_from: String,
    pub system: Rc<System<'r>>,
    pub setup: PythonSetup,
    /// The packages to import, in order.
    pub packages: Vec<String>,
}

/// One process, played.
pub struct ModeledProcess<'s> {
    /// Same as [`super::facts::ProcessFacts::name`].
    pub name: String,
    /// The image starts this process.
    pub main: bool,
    /// Path of the program.
    pub executable: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    /// Same as [`imgcheck_launch::Launch::library_path_from`].
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

impl ModeledProcess<'_> {
    /// Whether the loader finds everything that the program needs at its start.
    pub fn starts(&self) -> bool {
        self.playback.process.is_some()
    }
}

impl Program<'_> {
    /// Plays the process: its start, the imports of its packages, and what they load when they are first used.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn play<'s>(
        &'s self,
        root: &'s RootFilesystem<'s>,
        knowledge: &'s Knowledge,
    ) -> Result<ModeledProcess<'s>> {
        let playback = Playback::new(Process::start(&self.system, &self.path)?);
        let starts = playback.process.is_some();
        let mut interpreter = Interpreter::new(root, knowledge, &self.setup, playback);
        for package in self.packages.iter().filter(|_| starts) {
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
        first_uses::follow(&mut playback, knowledge, &self.setup)?;
        if let Some(process) = &playback.process {
            playback.undefined_calls = process.undefined_calls()?;
        }
        Ok(ModeledProcess {
            name: self.name.clone(),
            main: self.main,
            executable: self.path.clone(),
            environment: self.environment.clone(),
            library_path_from: self.library_path_from.clone(),
            system: &self.system,
            sites: self.setup.path.iter().collect(),
            imports,
            playback,
        })
    }
}
