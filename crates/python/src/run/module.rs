//! The modules of an interpreter.

use std::collections::HashMap;
use std::sync::Arc;

use super::failure::{Failure, Place};
use crate::facts::ModuleFacts;

/// A module of an interpreter.
#[derive(Debug, Clone)]
pub struct Module<F> {
    /// Its name: `torch.nn`.
    pub name: String,
    /// How the module is loaded.
    pub kind: ModuleKind,
    /// Its file; `None` for one that has none.
    pub file: Option<F>,
    /// The facts of its source, if it has one that was read.
    pub facts: Option<Arc<ModuleFacts>>,
    /// The directories of its submodules; `None` if it is no package.
    pub path: Option<Vec<F>>,
    /// Whether it is one of the standard library.
    pub is_standard: bool,
    /// The first import of it.
    pub imported_by: Place,
    /// How far its import is.
    pub(super) state: State,
}

/// How a module is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// A source, which is executed.
    Source,
    /// A source of the standard library, which is not.
    Standard,
    /// Directories without `__init__`.
    Namespace,
    /// An extension module or a compiled one, one of the interpreter, or one that another module provides. What it binds is unknown; what it
    /// imports is known if it has facts.
    Opaque,
}

/// How far the import of a module is.
#[derive(Debug, Clone)]
pub(super) enum State {
    Running,
    Done,
    /// With how often anything changed that decides about imports.
    Failed(Arc<Failure>, usize),
    Unknown,
}

impl<F> Module<F> {
    pub(super) fn new(
        name: &str,
        kind: ModuleKind,
        file: Option<F>,
        facts: Option<Arc<ModuleFacts>>,
    ) -> Self {
        let mut module = Module {
            name: name.to_owned(),
            kind,
            file,
            facts,
            path: None,
            is_standard: false,
            imported_by: Place::default(),
            state: State::Done,
        };
        if module.is_executed() {
            module.state = State::Running;
        }
        module
    }

    /// Whether its source is executed. That of an extension module must be known.
    pub(super) fn is_executed(&self) -> bool {
        let is_read = |it: &Arc<ModuleFacts>| it.unread.is_none();
        match self.kind {
            ModuleKind::Source => true,
            ModuleKind::Opaque => self.facts.as_ref().is_some_and(is_read),
            ModuleKind::Standard | ModuleKind::Namespace => false,
        }
    }

    /// Whether it has a source that should be executed and was not examined.
    pub fn is_unread(&self) -> bool {
        let is_read = |it: &Arc<ModuleFacts>| it.unread.is_none();
        self.kind == ModuleKind::Source && !self.facts.as_ref().is_some_and(is_read)
    }

    /// Whether it changes where modules are found.
    pub fn changes_search(&self) -> bool {
        self.facts
            .as_ref()
            .is_some_and(|it| it.changes_search || it.adds_finders)
    }

    /// Why its import certainly fails.
    pub fn failure(&self) -> Option<&Arc<Failure>> {
        match &self.state {
            State::Failed(failure, _) => Some(failure),
            _ => None,
        }
    }
}

/// Where a module is.
pub(super) enum Located<F> {
    Module(Module<F>),
    /// It may be found or not.
    Unknown,
    /// It is certainly not found.
    Absent,
}

/// Modules by name, in the order in which they were added.
pub(super) struct Table<F> {
    modules: Vec<Module<F>>,
    places: HashMap<String, usize>,
}

impl<F> Default for Table<F> {
    fn default() -> Self {
        Table {
            modules: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<F> Table<F> {
    pub fn get(&self, name: &str) -> Option<&Module<F>> {
        self.modules.get(*self.places.get(name)?)
    }

    pub fn insert(&mut self, name: &str, module: Module<F>) {
        self.places.insert(name.to_owned(), self.modules.len());
        self.modules.push(module);
    }

    pub fn set(&mut self, name: &str, state: State) {
        let place = self.places.get(name);
        if let Some(module) = place.and_then(|at| self.modules.get_mut(*at)) {
            module.state = state;
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.places.remove(name);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Module<F>> {
        let is_current =
            |(at, module): &(usize, &Module<F>)| self.places.get(&module.name) == Some(at);
        let modules = self.modules.iter().enumerate();
        modules.filter(is_current).map(|(_, module)| module)
    }
}
