//! The state of one process.

use std::collections::HashMap;

use super::fault::Fault;
use super::object::{Object, ObjectId};
use super::search::Search;
use super::system::System;
use imgcheck_image::FileIdentity;

/// A running program, as the loader sees it.
pub struct Process<'r> {
    pub(crate) system: &'r System<'r>,
    pub(crate) objects: Vec<Object<'r>>,
    /// The object that answers to each path, SONAME and requested name (`_dl_name_match_p`).
    pub(crate) names: HashMap<String, ObjectId>,
    pub(crate) files: HashMap<FileIdentity, ObjectId>,
    /// The global scope in search order: the search list of the program, and what RTLD_GLOBAL added.
    pub(crate) global: Vec<ObjectId>,
    pub(crate) search: Search<'r>,
    pub(crate) warnings: Vec<Fault>,
}

impl<'r> Process<'r> {
    /// A process that has mapped nothing.
    pub(crate) fn empty(system: &'r System<'r>, program: &str) -> Self {
        Process {
            system,
            objects: Vec::new(),
            names: HashMap::new(),
            files: HashMap::new(),
            global: Vec::new(),
            search: Search::new(system, program),
            warnings: Vec::new(),
        }
    }

    /// The object that answers to a name.
    pub fn named(&self, name: &str) -> Option<&Object<'r>> {
        self.names.get(name).map(|&id| &self.objects[id])
    }

    /// The index of an object in load order.
    pub fn id_of(&self, object: &Object) -> Option<ObjectId> {
        self.files.get(&object.node.identity()?).copied()
    }

    /// The mapped objects in load order.
    pub fn objects(&self) -> &[Object<'r>] {
        &self.objects
    }

    /// The objects whose symbols every object finds.
    pub(crate) fn global_scope(&self) -> &[ObjectId] {
        &self.global
    }

    /// Libraries that could not be preloaded.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// The loader, the files and the environment of the process.
    pub fn system(&self) -> &'r System<'r> {
        self.system
    }
}
