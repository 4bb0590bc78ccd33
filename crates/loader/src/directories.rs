//! The directories of search paths, as they are in the image.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::system::{Libc, System};
use super::tokens::Origin;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_image::Node;

/// A directory and its subdirectories for certain processors, in search order; empty if the directory does not exist.
pub(crate) type Candidates<'r> = Rc<[(Rc<str>, Node<'r>)]>;

/// The directories of one search path.
#[derive(Clone, Default)]
pub(crate) struct DirectoryList {
    pub directories: Rc<[Rc<str>]>,
    /// It has more directories than [`Limit::LoaderDirectories`]; those are left out.
    exceeds: bool,
}

impl DirectoryList {
    /// The directories of a list as the loader reads it: dynamic string tokens are expanded, each directory counts once, and for
    /// glibc an empty element is the working directory (elf/dl-load.c, `fillin_rpath`). musl skips empty elements, and has
    /// separators of its own (ldso/dynlink.c, `path_open`).
    pub fn parse(system: &System, text: &str, separators: &[char], origin: Origin) -> Self {
        let is_musl = system.libc == Libc::Musl;
        let separators = if is_musl { &[':', '\n'] } else { separators };
        let mut elements = text
            .split(separators)
            .filter(|element| !(is_musl && element.is_empty()));
        let most = usize::try_from(system.budget.bounds.limits.of(Limit::LoaderDirectories))
            .unwrap_or(usize::MAX);
        let mut directories: Vec<Rc<str>> = Vec::new();
        let mut known = HashSet::new();
        for element in elements.by_ref().take(most) {
            let Some(expanded) = system.expand(element, origin) else {
                continue;
            };
            let absolute = system.absolute(&expanded);
            let directory: Rc<str> = match absolute.trim_end_matches('/') {
                "" => "/".into(),
                directory => directory.into(),
            };
            if known.insert(Rc::clone(&directory)) {
                directories.push(directory);
            }
        }
        DirectoryList {
            directories: directories.into(),
            exceeds: elements.next().is_some(),
        }
    }

    /// The loader's built-in directories.
    pub fn default_of(system: &System) -> Self {
        let directories = system.default_directories.iter();
        DirectoryList {
            directories: directories.map(|it| it.as_str().into()).collect(),
            exceeds: false,
        }
    }

    /// A search that reaches the end of the list must not go on behind it if the list was cut.
    ///
    /// # Errors
    /// The list has more directories than the limit.
    pub fn check_end(&self, system: &System) -> Result<()> {
        match self.exceeds {
            true => {
                let limit = Limit::LoaderDirectories;
                system.check(
                    limit,
                    system.budget.bounds.limits.of(limit).saturating_add(1),
                )
            }
            false => Ok(()),
        }
    }
}

/// The directories that a process has searched so far.
pub(crate) struct KnownDirectories<'r> {
    system: &'r System<'r>,
    known: HashMap<Rc<str>, Candidates<'r>>,
}

impl<'r> KnownDirectories<'r> {
    pub fn new(system: &'r System<'r>) -> Self {
        KnownDirectories {
            system,
            known: HashMap::new(),
        }
    }

    /// The directories to search for a directory of a search path.
    pub fn of(&mut self, directory: &Rc<str>) -> Candidates<'r> {
        if let Some(known) = self.known.get(directory) {
            return Rc::clone(known);
        }
        let existing = |path: Rc<str>| {
            let node = self.system.root.resolve_as(&path, &self.system.user).ok()?;
            node.is_directory().then_some((path, node))
        };
        let found: Candidates = match existing(Rc::clone(directory)) {
            None => Rc::from([]),
            Some(own) => {
                let subdirectories = self.system.subdirectories().iter();
                let paths = subdirectories.map(|name| format!("{directory}/{name}").into());
                paths.filter_map(existing).chain([own.clone()]).collect()
            }
        };
        self.known.insert(Rc::clone(directory), Rc::clone(&found));
        found
    }
}
