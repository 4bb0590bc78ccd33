//! The objects that a process has mapped.

use std::rc::Rc;

use imgcheck_elf::ElfFacts;
use imgcheck_image::Node;

/// Index of an object in load order.
pub type ObjectId = usize;

/// A file that is mapped into a process (glibc `struct link_map`, include/link.h).
#[derive(Debug, Clone)]
pub struct Object<'r> {
    /// The mapped file.
    pub node: Node<'r>,
    /// Its ELF facts.
    pub elf: &'r ElfFacts,
    /// The path by which it was loaded (`l_name`). `$ORIGIN` is the directory of this path, even if the path is a link.
    pub path: String,
    /// The object that needs it (`l_loader`); `None` for the program, preloaded objects and the target of a dlopen.
    pub loader: Option<ObjectId>,
    /// The object that requested it: `loader`, or the caller of dlopen.
    pub requester: Option<ObjectId>,
    /// The name by which it was requested.
    pub request: String,
    /// Why this file answered.
    pub reason: Reason,
    /// The directories that were searched before, in order.
    pub searched: Vec<SearchedDirectory>,
    /// Loaded at program start rather than by dlopen.
    pub at_start: bool,
    /// Every object finds its symbols (RTLD_GLOBAL, and everything loaded at program start).
    pub global: bool,
    /// The objects whose search lists its own symbols are looked up in, after the global scope (`l_scope`).
    pub scopes: Vec<ObjectId>,
    /// Itself and its dependencies, breadth first (`l_searchlist`); empty unless it was the target of a dlopen.
    pub search_list: Vec<ObjectId>,
    /// The objects that its DT_NEEDED entries resolve to.
    pub needed: Vec<ObjectId>,
    /// All its symbols were bound when it was loaded.
    pub bound: bool,
    /// The object, this one or the nearest up the chain of `loader`, whose inherited search path counts for what it needs.
    pub(crate) path_owner: Option<ObjectId>,
}

impl<'r> Object<'r> {
    /// An object that nothing requested.
    pub(crate) fn new(node: Node<'r>, elf: &'r ElfFacts, path: String, reason: Reason) -> Self {
        Object {
            node,
            elf,
            path,
            loader: None,
            requester: None,
            request: String::new(),
            reason,
            searched: Vec::new(),
            at_start: false,
            global: false,
            scopes: Vec::new(),
            search_list: Vec::new(),
            needed: Vec::new(),
            bound: false,
            path_owner: None,
        }
    }

    /// Removes references to the objects from this one on. If one of them was in the search list, the dlopen is undone as well.
    pub(crate) fn forget(&mut self, from: ObjectId) {
        self.needed.retain(|id| *id < from);
        if self.search_list.iter().any(|id| *id >= from) {
            self.search_list.clear();
        }
    }

    /// The value of `$ORIGIN`.
    pub(crate) fn origin(&self) -> &str {
        match self.path.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((directory, _)) => directory,
            None => ".",
        }
    }
}

/// The search path that a directory belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPath {
    /// DT_RPATH of the object with this path.
    Rpath(Rc<str>),
    /// The environment variable LD_LIBRARY_PATH.
    LibraryPath,
    /// DT_RUNPATH of the requesting object, which has this path.
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
    /// It is the loader itself, the program's PT_INTERP.
    Interpreter,
    /// LD_PRELOAD or `/etc/ld.so.preload` lists it.
    Preload,
    /// It was requested by path.
    Path,
    /// It was found in a search path.
    Search(SearchPath),
}

/// A directory that was searched without success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedDirectory {
    /// The directory, or the path of the cache.
    pub directory: Rc<str>,
    /// The search path that lists it.
    pub search_path: SearchPath,
    /// It holds a file of the requested name for a different machine or class, which was skipped.
    pub wrong_machine: bool,
}
