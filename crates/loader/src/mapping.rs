//! Mapping objects and what they need (glibc elf/dl-load.c, `_dl_map_object`; elf/dl-deps.c).

use std::collections::HashSet;
use std::collections::hash_map::Entry;

use super::fault::Fault;
use super::object::{Object, ObjectId, Reason, SearchedDirectory};
use super::process::Process;
use super::search::{Answer, LibraryFile};
use super::system::Libc;
use super::tokens::Origin;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_elf::Refusal;

/// DF_1_NOOPEN: `dlopen` refuses the library, and one that needs it.
const DF_1_NOOPEN: u64 = 0x40;

/// Missing libraries of one request that are reported. ld.so itself reports the first one only.
const REPORTED_FAULTS: usize = 1000;

impl<'r> Process<'r> {
    /// Maps everything that some objects need, breadth first, and returns the search list (`_dl_map_object_deps`). Goes on after
    /// a missing library, so that all missing ones are reported.
    pub(crate) fn map_needed(
        &mut self,
        roots: &[ObjectId],
    ) -> Result<Result<Vec<ObjectId>, Vec<Fault>>> {
        let mut list = roots.to_vec();
        let mut listed: HashSet<ObjectId> = roots.iter().copied().collect();
        let mut faults = Vec::new();
        let mut next = 0;
        while let Some(&id) = list.get(next) {
            next += 1;
            let elf = self.objects[id].elf;
            let mut needed = Vec::new();
            let mut requested = HashSet::new();
            for name in elf.needed.iter().filter(|name| requested.insert(*name)) {
                if faults.len() >= REPORTED_FAULTS {
                    return Ok(Err(faults));
                }
                match self.map(name, id, Some(id))? {
                    Ok(dependency) => {
                        needed.push(dependency);
                        if listed.insert(dependency) {
                            list.push(dependency);
                        }
                    }
                    Err(Fault::Missing { name, .. }) if self.system.is_host_provided(&name) => {}
                    Err(fault) => faults.push(fault),
                }
            }
            self.objects[id].needed = needed;
        }
        Ok(match faults.is_empty() {
            true => Ok(list),
            false => Err(faults),
        })
    }

    /// The object that answers a request, loaded if it is not yet (`_dl_map_object`). The search is on behalf of `requester`;
    /// `needed_by` is the object with the DT_NEEDED entry, `None` for dlopen.
    pub(crate) fn map(
        &mut self,
        request: &str,
        requester: ObjectId,
        needed_by: Option<ObjectId>,
    ) -> Result<Result<ObjectId, Fault>> {
        let origin = Origin::of(&self.objects[requester]);
        let name = self.system.expand(request, origin);
        let name = name.unwrap_or_else(|| request.to_owned());
        if let Some(id) = self.loaded(&name) {
            return Ok(Ok(id));
        }
        let (answer, searched) = match name.contains('/') {
            true => (self.search.library_by_path(&name), Vec::new()),
            false => self.search.by_name(&name, &self.objects, requester)?,
        };
        let answer = match answer {
            Answer::Found(file) => match self.refusal(&file) {
                None => {
                    let before = self.objects.len();
                    let id = self.add(file, &name, needed_by, Some(requester), searched);
                    let new = (self.objects.len() - before) as u64;
                    self.system.spend(Limit::LoaderObjects, new)?;
                    return Ok(Ok(id));
                }
                Some(problem) => Answer::Broken {
                    path: file.path,
                    problem: problem.to_owned(),
                },
            },
            answer => answer,
        };
        self.system.spend(Limit::LoaderFaults, 1)?;
        let needed_by = needed_by.map(|id| self.objects[id].path.clone());
        Ok(Err(fault_of(answer, &name, needed_by, searched)))
    }

    /// Why a file cannot be loaded as a library. A program that is running already can still be requested by name.
    fn refusal(&self, file: &LibraryFile) -> Option<&'static str> {
        let identity = file.node.identity();
        let is_loaded = identity.is_some_and(|file| self.files.contains_key(&file));
        let is_opened = self.objects[0].at_start && self.system.libc == Libc::Glibc;
        let no_open = is_opened && file.elf.flags_1 & DF_1_NOOPEN != 0;
        let refusal = file.elf.refusal_as_library();
        let refusal = refusal.or(no_open.then_some(Refusal::NoOpen));
        refusal.filter(|_| !is_loaded)?.message()
    }

    /// The loaded object that answers to a name.
    fn loaded(&mut self, name: &str) -> Option<ObjectId> {
        if let Some(&id) = self.names.get(name) {
            return Some(id);
        }
        // The loader is mapped before everything else, and gets its place in load order when it is first requested.
        let path = self.interpreter()?;
        let is_interpreter = match self.system.libc {
            Libc::Glibc => path.rsplit('/').next() == name.rsplit('/').next(),
            Libc::Musl => is_built_into_musl(name),
        };
        if !is_interpreter {
            return None;
        }
        let Answer::Found(file) = self.search.by_path(path) else {
            return None;
        };
        let path = path.to_owned();
        let reason = Reason::Interpreter;
        let id = self.add(
            LibraryFile { reason, ..file },
            &path,
            None,
            None,
            Vec::new(),
        );
        self.names.entry(name.to_owned()).or_insert(id);
        Some(id)
    }

    /// Adds a file, unless it is loaded already under a different name.
    pub(crate) fn add(
        &mut self,
        file: LibraryFile<'r>,
        request: &str,
        loader: Option<ObjectId>,
        requester: Option<ObjectId>,
        searched: Vec<SearchedDirectory>,
    ) -> ObjectId {
        let id = self.objects.len();
        let identity = file.node.identity();
        let known = identity.and_then(|file| match self.files.entry(file) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(id);
                None
            }
        });
        let id = known.unwrap_or(id);
        self.names.entry(request.to_owned()).or_insert(id);
        if known.is_some() {
            return id;
        }
        let path = self.system.absolute(&file.path);
        self.names.entry(path.clone()).or_insert(id);
        // musl knows a library by the requested name, not by its SONAME (ldso/dynlink.c, `load_library`).
        if self.system.libc == Libc::Glibc
            && let Some(soname) = &file.elf.soname
        {
            self.names.entry(soname.clone()).or_insert(id);
        }
        let path_owner = match self.system.has_inherited_path(file.elf) {
            true => Some(id),
            false => loader.and_then(|loader| self.objects[loader].path_owner),
        };
        self.objects.push(Object {
            loader,
            requester,
            request: request.to_owned(),
            searched,
            path_owner,
            ..Object::new(file.node, file.elf, path, file.reason)
        });
        id
    }
}

/// The fault of a request that no usable file answers.
pub(crate) fn fault_of(
    answer: Answer,
    name: &str,
    needed_by: Option<String>,
    searched: Vec<SearchedDirectory>,
) -> Fault {
    let name = name.to_owned();
    match answer {
        Answer::Broken { path, problem } => Fault::Broken {
            name,
            path,
            problem,
            needed_by,
        },
        Answer::Found(_) | Answer::Nothing => Fault::Missing {
            name,
            needed_by,
            searched,
        },
    }
}

/// Whether musl's loader itself answers to a name (ldso/dynlink.c, `load_library`).
fn is_built_into_musl(name: &str) -> bool {
    const BUILT_IN: [&str; 7] = ["c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."];
    let name = name.strip_prefix("lib");
    name.is_some_and(|name| BUILT_IN.iter().any(|own| name.starts_with(own)))
}
