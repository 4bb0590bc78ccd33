//! Where a program would find libraries, for programs that are not modeled as a process.

use super::object::{Object, ObjectId, Reason};
use super::search::{Answer, Search};
use super::system::System;
use imgcheck_base::error::Result;
use imgcheck_elf::ElfFacts;
use imgcheck_image::Node;

/// Looks up libraries on behalf of a program and of files that it has loaded, without loading anything.
pub struct Lookup<'r> {
    system: &'r System<'r>,
    search: Search<'r>,
    requesters: Vec<Object<'r>>,
}

/// A file that answers to a name.
pub struct Located<'r> {
    /// The file that was found.
    pub node: Node<'r>,
    /// How many directories are searched before.
    pub position: usize,
}

impl<'r> Lookup<'r> {
    /// The requester that every lookup has: the program.
    pub const PROGRAM: ObjectId = 0;

    /// For a program, or, without one, for a program that has no search path of its own.
    pub fn new(system: &'r System<'r>, program: Option<Node<'r>>) -> Self {
        let mut lookup = Lookup {
            system,
            search: Search::new(system, ""),
            requesters: Vec::new(),
        };
        let program = program.and_then(|node| Some((node, node.elf()?)));
        let root = || (system.root.root(), &system.plain_program);
        let (node, elf) = program.unwrap_or_else(root);
        lookup.add(node, elf);
        lookup
    }

    /// Adds a library that the program has loaded and that asks for others.
    pub fn add(&mut self, node: Node<'r>, elf: &'r ElfFacts) -> ObjectId {
        let id = self.requesters.len();
        let own = self.system.has_inherited_path(elf).then_some(id);
        let mut object = Object::new(node, elf, node.path(), Reason::Path);
        object.path_owner = own;
        self.requesters.push(object);
        id
    }

    /// The file that the loader would take for a name without a slash; `None` if it would find none, or one that it cannot use.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn find(&mut self, name: &str, requester: ObjectId) -> Result<Option<Located<'r>>> {
        let (answer, searched) = self.search.by_name(name, &self.requesters, requester)?;
        Ok(match answer {
            Answer::Found(found) => Some(Located {
                node: found.node,
                position: searched.len(),
            }),
            Answer::Broken { .. } | Answer::Nothing => None,
        })
    }
}
