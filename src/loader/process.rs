//! One process: a program that starts, and what it opens afterwards.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::fault::Fault;
use super::hwcaps::GlibcVersion;
use super::object::{Object, ObjectId, Reason, Tried};
use super::relocate;
use super::search::{Answer, Found, Search};
use super::system::{EM_386, EM_X86_64, Family, System};
use crate::image::FileIdentity;

/// DF_BIND_NOW of DT_FLAGS and DF_1_NOW of DT_FLAGS_1: all symbols of the object are bound when it is loaded.
const BIND_NOW: u64 = 0x8;
const BIND_NOW_1: u64 = 0x1;
/// Objects of one process; real ones have some hundred.
const OBJECTS: usize = 20_000;
/// Libraries that are told to be missing together; behind them nothing more is loaded.
const FAULTS: usize = 1000;
/// From this release on, a library that asks for an executable stack can no longer be opened (glibc 2.41 release notes).
const STACKS_STAY: GlibcVersion = GlibcVersion::new(2, 41);

/// How something is opened (dlopen(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// RTLD_GLOBAL.
    pub global: bool,
    /// RTLD_LAZY: functions are looked up when they are first called.
    pub lazy: bool,
}

/// Why something could not be loaded.
#[derive(Debug)]
pub struct Failure<'r> {
    /// What is wrong: the first is what the loader reports, for it stops there; the others would come next.
    pub faults: Vec<Fault>,
    /// What had been loaded for it, and is unloaded again.
    pub discarded: Vec<Object<'r>>,
}

/// A running program, as far as the loader is concerned.
pub struct Process<'r> {
    system: &'r System<'r>,
    objects: Vec<Object<'r>>,
    /// The object that answers to each path, SONAME and name that was asked for (`_dl_name_match_p`).
    names: HashMap<String, ObjectId>,
    files: HashMap<FileIdentity, ObjectId>,
    /// The objects whose symbols everyone finds, in order (the search list of the main program, with what RTLD_GLOBAL added).
    global: Vec<ObjectId>,
    search: Search<'r>,
    warnings: Vec<Fault>,
}

impl<'r> Process<'r> {
    /// Starts a program: it, what is preloaded, and all they need. `path` is the one that it is started by.
    ///
    /// # Errors
    /// What the loader would say instead of starting it.
    pub fn start(system: &'r System<'r>, path: &str) -> Result<Self, Failure<'r>> {
        let mut process = Process {
            system,
            objects: Vec::new(),
            names: HashMap::new(),
            files: HashMap::new(),
            global: Vec::new(),
            search: Search::new(system, path),
            warnings: Vec::new(),
        };
        match process.load_program(path) {
            Ok(()) => Ok(process),
            Err(faults) => Err(Failure {
                faults,
                discarded: process.objects,
            }),
        }
    }

    fn load_program(&mut self, path: &str) -> Result<(), Vec<Fault>> {
        let found = match self.search.by_path(path) {
            Answer::Found(found) => found,
            answer => return Err(vec![fault(answer, path, None, Vec::new())]),
        };
        let reason = Reason::Executable;
        let program = self.add(Found { reason, ..found }, path, None, None, Vec::new());
        // `$ORIGIN` of the program is where it really is (elf/dl-origin.c: the link `/proc/self/exe`).
        self.objects[program].path = self.objects[program].node.path();
        let mut roots = vec![program];
        for request in self.preloads() {
            match self.map(&request, program, None) {
                Ok(id) => {
                    self.objects[id].loader = None;
                    self.objects[id].reason = Reason::Preload;
                    roots.push(id);
                }
                // A library that cannot be preloaded is passed over with a message (rtld.c, `do_preload`).
                Err(fault) => self.warnings.push(fault),
            }
        }
        self.global = self.map_needed(&roots)?;
        self.add_interpreter();
        for object in &mut self.objects {
            object.at_start = true;
            object.global = true;
        }
        let all = self.global.clone();
        self.check(&all, true)
    }

    /// The objects to load before all others, from the environment and from `/etc/ld.so.preload`.
    fn preloads(&self) -> Vec<String> {
        let mut names = Vec::new();
        let listed = self.system.variable("LD_PRELOAD").unwrap_or_default();
        names.extend(listed.split([' ', ':']));
        if self.system.family == Family::Glibc {
            let file = self.system.root.resolve("/etc/ld.so.preload").ok();
            let text = file.and_then(|file| file.text()).unwrap_or_default();
            let lines = text
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default());
            names.extend(lines.flat_map(|line| line.split([' ', '\t', ':', ','])));
        }
        let names = names.into_iter().filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// The loader stands in the order where it is first needed; a program that does not need it by name has it last.
    fn add_interpreter(&mut self) {
        let interpreter = self
            .objects
            .iter()
            .any(|it| it.reason == Reason::Interpreter);
        if let Some(path) = self.objects[0].elf.interpreter.clone()
            && !interpreter
            && let Answer::Found(found) = self.search.by_path(&path)
        {
            let reason = Reason::Interpreter;
            self.add(Found { reason, ..found }, &path, None, None, Vec::new());
        }
    }

    /// Opens a library as dlopen does, on behalf of `caller`, whose DT_RPATH or DT_RUNPATH counts for a name without a slash.
    ///
    /// # Errors
    /// Why it fails; then nothing of it stays loaded.
    pub fn open(
        &mut self,
        request: &str,
        caller: ObjectId,
        mode: Mode,
    ) -> Result<ObjectId, Failure<'r>> {
        let before = self.objects.len();
        match self.try_open(request, caller, mode, before) {
            Ok(id) => Ok(id),
            Err(faults) => {
                let discarded = self.objects.split_off(before);
                self.names.retain(|_, id| *id < before);
                self.files.retain(|_, id| *id < before);
                self.search.forget(before);
                self.objects.iter_mut().for_each(|it| it.forget(before));
                Err(Failure { faults, discarded })
            }
        }
    }

    fn try_open(
        &mut self,
        request: &str,
        caller: ObjectId,
        mode: Mode,
        before: usize,
    ) -> Result<ObjectId, Vec<Fault>> {
        // musl searches on behalf of the program, whoever asks.
        let caller = match self.system.family {
            Family::Glibc => caller,
            Family::Musl => 0,
        };
        let id = self
            .map(request, caller, None)
            .map_err(|fault| vec![fault])?;
        if id >= before {
            self.objects[id].loader = None;
        }
        if self.objects[id].search_list.is_empty() {
            let list = self.map_needed(&[id])?;
            self.objects[id].search_list = list;
            for new in before..self.objects.len() {
                self.objects[new].scopes = vec![id];
            }
            let new: Vec<ObjectId> = (before..self.objects.len()).collect();
            self.check(&new, !mode.lazy)?;
            self.extend_scopes(id, before);
        }
        if mode.global && !self.objects[id].global {
            for id in self.objects[id].search_list.clone() {
                if !std::mem::replace(&mut self.objects[id].global, true) {
                    self.global.push(id);
                }
            }
        }
        Ok(id)
    }

    /// What was opened before and belongs to a new search list, too, finds the symbols of that list from then on
    /// (dl-open.c, `resize_scopes`).
    fn extend_scopes(&mut self, root: ObjectId, before: usize) {
        for id in self.objects[root].search_list.clone() {
            let object = &mut self.objects[id];
            if id < before && !object.at_start && !object.scopes.contains(&root) {
                object.scopes.push(root);
            }
        }
    }

    /// Maps all that some objects need, breadth first, and gives the list (dl-deps.c, `_dl_map_object_deps`). Goes on behind a
    /// library that is missing, so that all missing ones are known.
    fn map_needed(&mut self, roots: &[ObjectId]) -> Result<Vec<ObjectId>, Vec<Fault>> {
        let mut list = roots.to_vec();
        let mut listed: HashSet<ObjectId> = roots.iter().copied().collect();
        let mut faults = Vec::new();
        let mut next = 0;
        while let Some(&id) = list.get(next) {
            next += 1;
            let elf = self.objects[id].elf;
            let mut needed = Vec::new();
            let mut asked = HashSet::new();
            for name in elf.needed.iter().filter(|name| asked.insert(*name)) {
                if faults.len() >= FAULTS {
                    return Err(faults);
                }
                match self.map(name, id, Some(id)) {
                    Ok(dependency) => {
                        needed.push(dependency);
                        if listed.insert(dependency) {
                            list.push(dependency);
                        }
                    }
                    Err(Fault::Missing { name, .. }) if self.system.is_host_provided(&name) => {}
                    Err(fault) => {
                        let is_limit = matches!(fault, Fault::Limit { .. });
                        faults.push(fault);
                        if is_limit {
                            return Err(faults);
                        }
                    }
                }
            }
            self.objects[id].needed = needed;
        }
        match faults.is_empty() {
            true => Ok(list),
            false => Err(faults),
        }
    }

    /// The object that answers a request, loaded if it is not yet (dl-load.c, `_dl_map_object`). `needed_by` is the object whose
    /// DT_NEEDED it is; `requester` the one on whose behalf the search goes.
    fn map(
        &mut self,
        request: &str,
        requester: ObjectId,
        needed_by: Option<ObjectId>,
    ) -> Result<ObjectId, Fault> {
        let origin = self.objects[requester].origin();
        let name = self.system.expand(request, origin);
        let name = name.unwrap_or_else(|| request.to_owned());
        if let Some(id) = self.loaded(&name) {
            return Ok(id);
        }
        let (answer, searched) = match name.contains('/') {
            true => (self.search.by_path(&name), Vec::new()),
            false => self.search.by_name(&name, &self.objects, requester),
        };
        match answer {
            Answer::Found(found) if self.refused(&found).is_some() => Err(Fault::Broken {
                problem: self.refused(&found).unwrap_or_default().to_owned(),
                path: found.path,
                name,
                needed_by: needed_by.map(|id| self.objects[id].path.clone()),
            }),
            Answer::Found(found) if self.objects.len() < OBJECTS => {
                Ok(self.add(found, &name, needed_by, Some(requester), searched))
            }
            answer => {
                let needed_by = needed_by.map(|id| self.objects[id].path.clone());
                let answer = match answer {
                    Answer::Found(_) => Answer::Limit("the process has 20000 objects"),
                    answer => answer,
                };
                Err(fault(answer, &name, needed_by, searched))
            }
        }
    }

    /// Why a file cannot be loaded as a library; a program that runs already can be named all the same.
    fn refused(&self, found: &Found) -> Option<&'static str> {
        let known = found
            .node
            .identity()
            .is_some_and(|file| self.files.contains_key(&file));
        let refusal = found.elf.refusal_as_library().filter(|_| !known)?;
        refusal.message()
    }

    /// The loaded object that answers to a name: one that was asked for by it, or whose SONAME it is.
    fn loaded(&mut self, name: &str) -> Option<ObjectId> {
        if let Some(&id) = self.names.get(name) {
            return Some(id);
        }
        // The loader itself is there before everything else, and gets its place in the order when it is first asked for.
        let path = self.objects[0].elf.interpreter.as_deref()?;
        let is_interpreter = match self.system.family {
            Family::Glibc => path.rsplit('/').next() == name.rsplit('/').next(),
            Family::Musl => is_part_of_musl(name),
        };
        if !is_interpreter {
            return None;
        }
        let Answer::Found(found) = self.search.by_path(path) else {
            return None;
        };
        let path = path.to_owned();
        let reason = Reason::Interpreter;
        let id = self.add(Found { reason, ..found }, &path, None, None, Vec::new());
        self.names.entry(name.to_owned()).or_insert(id);
        Some(id)
    }

    /// Adds a file, unless it is loaded already under another name.
    fn add(
        &mut self,
        found: Found<'r>,
        request: &str,
        loader: Option<ObjectId>,
        requester: Option<ObjectId>,
        searched: Vec<Tried>,
    ) -> ObjectId {
        let id = self.objects.len();
        let known = found
            .node
            .identity()
            .and_then(|file| match self.files.entry(file) {
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
        let path = self.system.absolute(&found.path);
        self.names.entry(path.clone()).or_insert(id);
        // musl knows a library by the name that it was searched for, not by its SONAME (ldso/dynlink.c, `load_library`).
        if self.system.family == Family::Glibc
            && let Some(soname) = &found.elf.soname
        {
            self.names.entry(soname.clone()).or_insert(id);
        }
        let own = match self.system.family {
            Family::Glibc => found.elf.rpath.is_some() && found.elf.runpath.is_none(),
            Family::Musl => found.elf.rpath.is_some() || found.elf.runpath.is_some(),
        };
        let bearer = match own {
            true => Some(id),
            false => loader.and_then(|loader| self.objects[loader].bearer),
        };
        self.objects.push(Object {
            bearer,
            node: found.node,
            elf: found.elf,
            path,
            loader,
            requester,
            request: request.to_owned(),
            reason: found.reason,
            searched,
            at_start: false,
            global: false,
            scopes: Vec::new(),
            search_list: Vec::new(),
            needed: Vec::new(),
            bound: false,
        });
        id
    }

    /// Versions and symbols of new objects, in the loader's order: it stops at the first step that finds a fault.
    fn check(&mut self, new: &[ObjectId], now: bool) -> Result<(), Vec<Fault>> {
        self.check_stacks(new)?;
        if self.system.family == Family::Glibc {
            let faults = relocate::unmet_versions(self, new);
            if !faults.is_empty() {
                return Err(faults);
            }
        }
        let at_start = new.first() == Some(&0);
        let bind_now = self.system.variable("LD_BIND_NOW").is_some();
        for &id in new {
            let elf = self.objects[id].elf;
            let own = elf.flags & BIND_NOW != 0 || elf.flags_1 & BIND_NOW_1 != 0;
            self.objects[id].bound = own || bind_now || (now && !at_start);
        }
        let faults = relocate::undefined_at_load(self, new);
        match faults.is_empty() {
            true => Ok(()),
            false => Err(faults),
        }
    }

    fn check_stacks(&self, new: &[ObjectId]) -> Result<(), Vec<Fault>> {
        let refused = self
            .system
            .glibc
            .is_some_and(|release| release >= STACKS_STAY);
        let at_start = new.first() == Some(&0);
        // Without PT_GNU_STACK the default of x86 holds, which is an executable one (sysdeps/x86_64/stackinfo.h).
        let by_default = matches!(self.system.machine, EM_386 | EM_X86_64);
        let asks = |object: &&Object| object.elf.executable_stack.unwrap_or(by_default);
        // It is executable already if the program or what it started with asks for that, or the tunable does.
        let tunables = self.system.variable("GLIBC_TUNABLES").unwrap_or_default();
        let is_executable = self
            .objects
            .iter()
            .any(|it| it.at_start && it.elf.executable_stack == Some(true))
            || tunables.contains("glibc.rtld.execstack=2");
        let object = new.iter().map(|&id| &self.objects[id]).find(asks);
        match object {
            Some(object) if refused && !at_start && !is_executable => {
                Err(vec![Fault::ExecutableStack {
                    object: object.path.clone(),
                }])
            }
            _ => Ok(()),
        }
    }

    /// The object that answers to a name.
    pub fn named(&self, name: &str) -> Option<&Object<'r>> {
        self.names.get(name).map(|&id| &self.objects[id])
    }

    /// The place of an object in the order of loading.
    pub fn id_of(&self, object: &Object) -> Option<ObjectId> {
        self.files.get(&object.node.identity()?).copied()
    }

    /// Everything loaded, in order.
    pub fn objects(&self) -> &[Object<'r>] {
        &self.objects
    }

    /// The objects whose symbols everyone finds.
    pub(super) fn global_scope(&self) -> &[ObjectId] {
        &self.global
    }

    /// Libraries that were to be preloaded and could not be.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// Functions that nothing defines, of objects that look them up when they are first called.
    pub fn undefined_calls(&self) -> Vec<Fault> {
        relocate::undefined_calls(self)
    }

    /// The rules and files that this process lives with.
    pub fn system(&self) -> &'r System<'r> {
        self.system
    }
}

/// The names of libraries that musl's loader is itself (ldso/dynlink.c, `load_library`).
fn is_part_of_musl(name: &str) -> bool {
    const PARTS: [&str; 7] = ["c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."];
    let part = name.strip_prefix("lib");
    part.is_some_and(|part| PARTS.iter().any(|own| part.starts_with(own)))
}

fn fault(answer: Answer, name: &str, needed_by: Option<String>, searched: Vec<Tried>) -> Fault {
    let name = name.to_owned();
    match answer {
        Answer::Broken(path, problem) => Fault::Broken {
            name,
            path,
            problem,
            needed_by,
        },
        Answer::Limit(limit) => Fault::Limit {
            name,
            needed_by,
            limit,
        },
        Answer::Found(_) | Answer::Nothing => Fault::Missing {
            name,
            needed_by,
            searched,
        },
    }
}
