//! Where a library is searched for, and which file is found (glibc elf/dl-load.c: `_dl_map_object`, `open_path`, `open_verify`).

use std::collections::HashMap;
use std::rc::Rc;

use super::directories::{DirectoryList, KnownDirectories};
use super::object::{Object, ObjectId, Reason, SearchPath, SearchedDirectory};
use super::system::{Libc, System};
use super::tokens::Origin;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_elf::{ElfFacts, Refusal};
use imgcheck_image::Content;
use imgcheck_image::{Access, Node};

/// DF_1_NODEFLIB: the default directories are not searched for this object.
const DF_1_NODEFLIB: u64 = 0x800;
/// S_ISUID.
const SET_USER_ID: u32 = 0o4000;

/// The result of a search.
pub(crate) enum Answer<'r> {
    Found(LibraryFile<'r>),
    /// The loader takes this file and then cannot use it.
    Broken {
        path: String,
        /// The loader's message.
        problem: String,
    },
    Nothing,
}

/// A file that answers.
pub(crate) struct LibraryFile<'r> {
    pub node: Node<'r>,
    pub elf: &'r ElfFacts,
    pub path: String,
    pub reason: Reason,
}

/// What `open_verify` says about a file of the right name.
enum Verified<'r> {
    Usable(&'r ElfFacts),
    /// It is for a different machine or class; the search continues.
    OtherMachine,
    Broken(String),
}

/// One request for a name without a slash.
struct Request<'a, 'r> {
    name: &'a str,
    objects: &'a [Object<'r>],
    requester: ObjectId,
    searched: Vec<SearchedDirectory>,
}

/// The library search of one process.
pub(crate) struct Search<'r> {
    system: &'r System<'r>,
    library_path: DirectoryList,
    defaults: DirectoryList,
    /// DT_RUNPATH or DT_RPATH of objects.
    own: HashMap<ObjectId, DirectoryList>,
    /// Cache lookups, which are slow in a damaged cache.
    cached: HashMap<String, Option<&'r str>>,
    /// Directories that were looked in.
    lookups: u64,
    cache_name: Rc<str>,
    directories: KnownDirectories<'r>,
    /// Only set-user-ID files in directories answer, not the cache: libraries that are preloaded in secure-execution mode
    /// (`__RTLD_SECURE` in `open_path` and `_dl_map_object`).
    pub only_set_user_id: bool,
}

impl<'r> Search<'r> {
    /// The search of a process that `program` started.
    pub fn new(system: &'r System<'r>, program: &str) -> Self {
        let origin = Origin {
            directory: program.rsplit_once('/').map_or("/", |(origin, _)| origin),
            is_program: true,
        };
        let library_path = system.variable("LD_LIBRARY_PATH");
        Search {
            system,
            library_path: library_path.map_or_else(DirectoryList::default, |value| {
                DirectoryList::parse(system, value, &[':', ';'], origin)
            }),
            defaults: DirectoryList::default_of(system),
            own: HashMap::new(),
            cached: HashMap::new(),
            lookups: 0,
            cache_name: system.cache_path.as_str().into(),
            directories: KnownDirectories::new(system),
            only_set_user_id: false,
        }
    }

    /// The file at a path.
    pub fn by_path(&self, path: &str) -> Answer<'r> {
        let path_of = self.system.absolute(path);
        match self.system.root.resolve_as(&path_of, &self.system.user) {
            Ok(node) => self
                .answer(node, path.to_owned(), Reason::Path)
                .unwrap_or(Answer::Nothing),
            Err(_) => Answer::Nothing,
        }
    }

    /// The library at a path, which the user must be allowed to read.
    pub fn library_by_path(&self, path: &str) -> Answer<'r> {
        match self.by_path(path) {
            Answer::Found(file) if !self.may_open(file.node) => Answer::Nothing,
            answer => answer,
        }
    }

    /// The file that answers when an object requests a name without a slash, and the directories that were searched before.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn by_name(
        &mut self,
        name: &str,
        objects: &[Object<'r>],
        requester: ObjectId,
    ) -> Result<(Answer<'r>, Vec<SearchedDirectory>)> {
        let mut request = Request {
            name,
            objects,
            requester,
            searched: Vec::new(),
        };
        let answer = match self.system.libc {
            Libc::Glibc => self.glibc(&mut request)?,
            Libc::Musl => self.musl(&mut request)?,
        };
        Ok((answer.unwrap_or(Answer::Nothing), request.searched))
    }

    /// Forgets the objects from this one on.
    pub fn forget(&mut self, from: ObjectId) {
        self.own.retain(|id, _| *id < from);
    }

    /// The order of `_dl_map_object`.
    fn glibc(&mut self, request: &mut Request<'_, 'r>) -> Result<Option<Answer<'r>>> {
        let requester = &request.objects[request.requester];
        let runpath = requester.elf.runpath.is_some();
        if !runpath {
            for id in inherited_paths(request.objects, request.requester) {
                let source = SearchPath::Rpath(request.objects[id].path.as_str().into());
                let answer = self.in_own_path(request, id, &source)?;
                if answer.is_some() {
                    return Ok(answer);
                }
            }
        }
        let library_path = self.library_path.clone();
        let answer = self.in_list(request, &library_path, &SearchPath::LibraryPath)?;
        if answer.is_some() {
            return Ok(answer);
        }
        if runpath {
            let source = SearchPath::Runpath(requester.path.as_str().into());
            let answer = self.in_own_path(request, request.requester, &source)?;
            if answer.is_some() {
                return Ok(answer);
            }
        }
        let no_defaults = requester.elf.flags_1 & DF_1_NODEFLIB != 0;
        let answer = match self.only_set_user_id {
            true => None,
            false => self.in_cache(request, no_defaults),
        };
        if answer.is_some() || no_defaults {
            return Ok(answer);
        }
        let defaults = self.defaults.clone();
        self.in_list(request, &defaults, &SearchPath::Default)
    }

    /// LD_LIBRARY_PATH comes first, search paths are inherited from all objects of the chain, and there is no cache
    /// (ldso/dynlink.c, `load_library`).
    fn musl(&mut self, request: &mut Request<'_, 'r>) -> Result<Option<Answer<'r>>> {
        let library_path = self.library_path.clone();
        let answer = self.in_list(request, &library_path, &SearchPath::LibraryPath)?;
        if answer.is_some() {
            return Ok(answer);
        }
        for id in inherited_paths(request.objects, request.requester) {
            let source = SearchPath::Runpath(request.objects[id].path.as_str().into());
            let answer = self.in_own_path(request, id, &source)?;
            if answer.is_some() {
                return Ok(answer);
            }
        }
        let defaults = self.defaults.clone();
        self.in_list(request, &defaults, &SearchPath::Default)
    }

    /// Searches the DT_RUNPATH of an object, else its DT_RPATH.
    fn in_own_path(
        &mut self,
        request: &mut Request<'_, 'r>,
        id: ObjectId,
        source: &SearchPath,
    ) -> Result<Option<Answer<'r>>> {
        let list = match self.own.get(&id) {
            Some(list) => list.clone(),
            None => {
                let object = &request.objects[id];
                let name = if id == 0 { "" } else { object.path.as_str() };
                if self.system.inhibits_path(name) {
                    return Ok(None);
                }
                let Some(text) = object.elf.runpath.as_ref().or(object.elf.rpath.as_ref()) else {
                    return Ok(None);
                };
                let list = DirectoryList::parse(self.system, text, &[':'], Origin::of(object));
                self.own.insert(id, list.clone());
                list
            }
        };
        self.in_list(request, &list, source)
    }

    /// `_dl_load_cache_lookup`; with DF_1_NODEFLIB, entries in the default directories do not count.
    fn in_cache(&mut self, request: &mut Request<'_, 'r>, no_defaults: bool) -> Option<Answer<'r>> {
        let system = self.system;
        let path = match self.cached.get(request.name) {
            Some(path) => *path,
            None => {
                let path = system.cached(request.name);
                self.cached.insert(request.name.to_owned(), path);
                path
            }
        }?;
        let in_default = |directory: &String| {
            path.strip_prefix(directory.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if no_defaults && system.default_directories.iter().any(in_default) {
            return None;
        }
        let node = system.root.resolve_as(path, &system.user).ok();
        let reason = Reason::Search(SearchPath::Cache);
        let answer = node.and_then(|node| self.answer(node, path.to_owned(), reason));
        if answer.is_none() {
            request.searched.push(SearchedDirectory {
                directory: self.cache_name.clone(),
                search_path: SearchPath::Cache,
                wrong_machine: node.is_some(),
            });
        }
        answer
    }

    /// `open_path`.
    fn in_list(
        &mut self,
        request: &mut Request<'_, 'r>,
        list: &DirectoryList,
        search_path: &SearchPath,
    ) -> Result<Option<Answer<'r>>> {
        for directory in list.directories.iter() {
            self.count_lookup()?;
            let mut wrong_machine = false;
            for (place, node) in self.directories.of(directory).iter() {
                let Some(file) = node.lookup(request.name) else {
                    continue;
                };
                let is_set = file.mode().is_some_and(|mode| mode & SET_USER_ID != 0);
                if self.only_set_user_id && !is_set {
                    continue;
                }
                let path = format!("{place}/{}", request.name);
                let reason = Reason::Search(search_path.clone());
                match self.answer(file, path, reason) {
                    None => wrong_machine = true,
                    answer => return Ok(answer),
                }
            }
            request.searched.push(SearchedDirectory {
                directory: directory.clone(),
                search_path: search_path.clone(),
                wrong_machine,
            });
        }
        list.check_end(self.system)?;
        Ok(None)
    }

    fn count_lookup(&mut self) -> Result<()> {
        self.lookups += 1;
        if self.lookups.is_multiple_of(1024) {
            self.system.budget.bounds.cancellation.check()?;
        }
        self.system.spend(Limit::LoaderLookups, 1)
    }

    /// What a file of the right name answers; `None` if it is for a different machine.
    fn answer(&self, node: Node<'r>, path: String, reason: Reason) -> Option<Answer<'r>> {
        let is_library = !matches!(reason, Reason::Path);
        if is_library && !self.may_open(node) {
            return None;
        }
        match self.verify(node) {
            Verified::OtherMachine => None,
            Verified::Broken(problem) => Some(Answer::Broken { path, problem }),
            Verified::Usable(elf) => Some(Answer::Found(LibraryFile {
                node,
                elf,
                path,
                reason,
            })),
        }
    }

    /// Whether the user may open a file. In a search, the loader passes over the others (`open_path`).
    fn may_open(&self, node: Node) -> bool {
        node.allows(&self.system.user, Access::Read)
    }

    /// `open_verify`.
    fn verify(&self, node: Node<'r>) -> Verified<'r> {
        let broken = |problem: &str| Verified::Broken(problem.to_owned());
        match node.content() {
            Some(Content::Elf(elf))
                if (elf.class, elf.machine) != (self.system.class, self.system.machine) =>
            {
                Verified::OtherMachine
            }
            Some(Content::Elf(elf)) => match elf.refusal.and_then(Refusal::message) {
                None => Verified::Usable(elf),
                Some(problem) => broken(problem),
            },
            Some(Content::BrokenElf { problem, refusal }) => {
                match refusal.and_then(Refusal::message) {
                    Some(message) => broken(message),
                    // The loader maps it, and the process dies when it touches the missing part.
                    None => Verified::Broken(format!("Bus error ({problem})")),
                }
            }
            Some(_) => broken(
                Refusal::of_other_file(node.size())
                    .message()
                    .unwrap_or("invalid ELF header"),
            ),
            None if node.is_directory() => broken("cannot read file data: Is a directory"),
            None => broken("cannot read file data"),
        }
    }
}

/// The objects whose inherited search paths count for a requester: its own, those up the chain of the objects that need it, and
/// at last the program's.
fn inherited_paths<'o>(
    objects: &'o [Object],
    requester: ObjectId,
) -> impl Iterator<Item = ObjectId> + 'o {
    let owner = |id: ObjectId| objects[id].path_owner;
    let above = move |id: &ObjectId| owner(objects[*id].loader?);
    let mut is_last = false;
    let chain = std::iter::successors(owner(requester), above);
    chain
        .chain(owner(0))
        .take_while(move |&id| !std::mem::replace(&mut is_last, id == 0))
}
