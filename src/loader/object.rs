//! What a process has loaded.

use std::rc::Rc;

use crate::elf::ElfFacts;
use crate::image::Node;

/// Position in the order of loading.
pub type ObjectId = usize;

/// A file that is mapped into a process (glibc `struct link_map`, include/link.h).
#[derive(Debug, Clone)]
pub struct Object<'r> {
    /// The file.
    pub node: Node<'r>,
    /// What it says of itself.
    pub elf: &'r ElfFacts,
    /// The path that it was loaded by (`l_name`); `$ORIGIN` is its directory, whatever the path leads to.
    pub path: String,
    /// Who needs it; `None` for the executable, for preloaded objects and for what was opened at run time (`l_loader`).
    pub loader: Option<ObjectId>,
    /// Who asked for it: as `loader`, and for an opened object the one that opened it.
    pub requester: Option<ObjectId>,
    /// What it was asked for as.
    pub request: String,
    /// Why this file answered.
    pub reason: Reason,
    /// The directories that were looked in before, in order.
    pub searched: Vec<Tried>,
    /// Loaded when the program started, not by dlopen.
    pub at_start: bool,
    /// Its symbols are found by every object (`RTLD_GLOBAL`, and everything loaded at the start).
    pub global: bool,
    /// The objects whose search lists its own symbols are looked up in, besides the global scope (`l_scope`).
    pub scopes: Vec<ObjectId>,
    /// What was opened together with it, breadth first, itself first (`l_searchlist`); empty unless it was opened by name.
    pub search_list: Vec<ObjectId>,
    /// The objects that its DT_NEEDED entries lead to.
    pub needed: Vec<ObjectId>,
    /// All its symbols were bound when it was loaded.
    pub bound: bool,
    /// It, or the nearest one up the chain of `loader`, whose own search path counts for what it needs.
    pub(super) bearer: Option<ObjectId>,
}

impl Object<'_> {
    /// Forgets the objects from this one on. What was opened with one of them was not opened.
    pub(super) fn forget(&mut self, from: ObjectId) {
        self.needed.retain(|id| *id < from);
        if self.search_list.iter().any(|id| *id >= from) {
            self.search_list.clear();
        }
    }

    /// The directory that `$ORIGIN` stands for.
    pub(super) fn origin(&self) -> &str {
        match self.path.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((directory, _)) => directory,
            None => ".",
        }
    }
}

/// Where a directory that is searched comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// DT_RPATH of an object, by the path of that object.
    Rpath(Rc<str>),
    /// The environment variable LD_LIBRARY_PATH.
    LibraryPath,
    /// DT_RUNPATH of the object that asks, by its path.
    Runpath(Rc<str>),
    /// `/etc/ld.so.cache`.
    Cache,
    /// The directories built into the loader, or those of musl's path file.
    Default,
}

/// Why a file answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is the program.
    Executable,
    /// It is the loader itself, which PT_INTERP names.
    Interpreter,
    /// LD_PRELOAD or `/etc/ld.so.preload` names it.
    Preload,
    /// It was asked for by path.
    Path,
    /// It was found.
    Found(Source),
}

/// One place that was looked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The directory, or for the cache its path.
    pub place: Rc<str>,
    /// Where the directory comes from.
    pub source: Source,
    /// A file of the right name was there, and was passed over because it is for another machine or class.
    pub wrong_machine: bool,
}
