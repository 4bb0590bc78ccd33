//! What an interpreter needs of a file system.

use std::hash::Hash;
use std::sync::Arc;

use super::failure::Lacking;
use crate::facts::ModuleFacts;

/// The directories and modules of a file system.
pub trait Files {
    /// A file or directory. The same one is always equal.
    type File: Copy + Eq + Hash;

    /// What Python finds for a module in a directory: a package, else a file.
    fn find(&self, directory: Self::File, name: &str) -> Option<Found<Self::File>>;

    /// The facts of a source; `None` if it was not read.
    fn facts(&self, file: Self::File) -> Option<Arc<ModuleFacts>>;

    /// Whether the user certainly may not read a source, and no compiled file takes its place.
    fn is_unreadable(&self, _source: Self::File) -> bool {
        false
    }

    /// What the loader certainly lacks to load the file of an extension module.
    fn unloadable(&self, _module: &str, _extension: Self::File) -> Option<Lacking> {
        None
    }

    /// What the loader certainly lacks for `dlopen` of a name.
    fn unopenable(&self, _name: &str) -> Option<Lacking> {
        None
    }
}

/// What a directory has for the name of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<F> {
    /// A package: its directory and its `__init__`.
    Package(F, Source<F>),
    /// A module in one file.
    Module(Source<F>),
    /// A directory without `__init__`.
    Directory(F),
}

/// The file of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<F> {
    /// A `.py` file.
    Text(F),
    /// An extension module, or one that is compiled.
    Binary(F),
    /// An extension module, and the source beside it that it is compiled from (mypyc, Cython).
    Compiled(F, F),
}

impl<F: Copy + Eq> Source<F> {
    pub(super) fn has(self, file: F) -> bool {
        match self {
            Source::Text(it) | Source::Binary(it) => it == file,
            Source::Compiled(one, other) => one == file || other == file,
        }
    }
}
