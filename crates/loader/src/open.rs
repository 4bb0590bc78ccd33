//! Starting a program and opening libraries (glibc elf/rtld.c, elf/dl-open.c).

use super::fault::{Failure, Fault};
use super::hwcaps::GlibcVersion;
use super::mapping::fault_of;
use super::object::{Object, ObjectId, Reason};
use super::process::Process;
use super::relocate;
use super::search::{Answer, LibraryFile};
use super::system::{EM_386, EM_X86_64, Libc, System};
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;

/// DF_BIND_NOW of DT_FLAGS and DF_1_NOW of DT_FLAGS_1: all symbols of the object are bound when it is loaded.
const DF_BIND_NOW: u64 = 0x8;
const DF_1_NOW: u64 = 0x1;
/// Since this release, dlopen fails for a library that requires an executable stack (glibc 2.41 release notes).
const NO_EXECUTABLE_STACKS: GlibcVersion = GlibcVersion::new(2, 41);

/// The flags of a dlopen (dlopen(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenMode {
    /// RTLD_GLOBAL.
    pub global: bool,
    /// RTLD_LAZY: functions are bound when they are first called.
    pub lazy: bool,
}

impl<'r> Process<'r> {
    /// Starts a program by its path: maps it, preloaded libraries and everything that they need.
    ///
    /// The inner result is a failure of the program that the loader reports instead of starting it.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn start(system: &'r System<'r>, path: &str) -> Result<Result<Self, Failure<'r>>> {
        let given = system.command.as_ref().map_or(path, |it| &it.program);
        let mut process = Process::empty(system, given);
        Ok(match process.load_program(path)? {
            Ok(()) => Ok(process),
            Err(faults) => Err(Failure {
                faults,
                discarded: process.objects,
                first_discarded: 0,
            }),
        })
    }

    fn load_program(&mut self, path: &str) -> Result<Result<(), Vec<Fault>>> {
        let file = match self.search.by_path(path) {
            Answer::Found(file) => file,
            answer => return Ok(Err(vec![fault_of(answer, path, None, Vec::new())])),
        };
        self.system.spend(Limit::LoaderObjects, 1)?;
        let reason = Reason::Executable;
        let program = self.add(LibraryFile { reason, ..file }, path, None, None, Vec::new());
        // `$ORIGIN` of the program is the directory of the real file (elf/dl-origin.c reads the link `/proc/self/exe`).
        self.objects[program].path = match &self.system.command {
            Some(command) => command.program.clone(),
            None => self.objects[program].node.path(),
        };
        let mut roots = vec![program];
        self.search.only_set_user_id = self.system.is_secure;
        for request in self.preloads() {
            match self.map(&request, program, None)? {
                Ok(id) => {
                    self.objects[id].loader = None;
                    self.objects[id].reason = Reason::Preload;
                    roots.push(id);
                }
                // ld.so prints a warning and goes on (elf/rtld.c, `do_preload`).
                Err(fault) => self.warnings.push(fault),
            }
        }
        self.search.only_set_user_id = false;
        self.global = match self.map_needed(&roots)? {
            Ok(list) => list,
            Err(faults) => return Ok(Err(faults)),
        };
        self.add_interpreter();
        for object in &mut self.objects {
            object.at_start = true;
            object.global = true;
        }
        let all = self.global.clone();
        self.check(&all, true)
    }

    /// The libraries that LD_PRELOAD and `/etc/ld.so.preload` list. In secure-execution mode, paths in the variable do not count
    /// (elf/rtld.c, `dso_name_valid_for_suid`).
    fn preloads(&self) -> Vec<String> {
        let listed = self.system.variable("LD_PRELOAD").unwrap_or_default();
        let mut names: Vec<&str> = listed.split([' ', ':']).collect();
        names.retain(|name| !(self.system.is_secure && name.contains('/')));
        if self.system.libc == Libc::Glibc {
            let file = self.system.root.resolve(&self.system.preload_path).ok();
            let text = file.and_then(|file| file.text()).unwrap_or_default();
            let lines = text
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default());
            names.extend(lines.flat_map(|line| line.split([' ', '\t', ':', ','])));
        }
        let names = names.into_iter().filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// The path of the loader: that of the command, or else the one that the program names.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        match &self.system.command {
            Some(command) => Some(&command.loader),
            None => self.objects[0].elf.interpreter.as_deref(),
        }
    }

    /// The loader's place in load order is where it is first needed; it comes last if nothing needs it by name.
    fn add_interpreter(&mut self) {
        let mut reasons = self.objects.iter().map(|it| &it.reason);
        let is_loaded = reasons.any(|reason| *reason == Reason::Interpreter);
        if let Some(path) = self.interpreter().map(str::to_owned)
            && !is_loaded
            && let Answer::Found(file) = self.search.by_path(&path)
        {
            let reason = Reason::Interpreter;
            self.add(
                LibraryFile { reason, ..file },
                &path,
                None,
                None,
                Vec::new(),
            );
        }
    }

    /// Opens a library as dlopen does on behalf of `caller`, whose DT_RPATH or DT_RUNPATH counts for a name without a slash.
    ///
    /// The inner result is a failure of dlopen, after which nothing of the library stays loaded.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn open(
        &mut self,
        request: &str,
        caller: ObjectId,
        mode: OpenMode,
    ) -> Result<Result<ObjectId, Failure<'r>>> {
        self.system.budget.bounds.cancellation.check()?;
        let before = self.objects.len();
        match self.try_open(request, caller, mode, before)? {
            Ok(id) => Ok(Ok(id)),
            Err(faults) => {
                let discarded = self.objects.split_off(before);
                self.names.retain(|_, id| *id < before);
                self.files.retain(|_, id| *id < before);
                self.search.forget(before);
                self.objects.iter_mut().for_each(|it| it.forget(before));
                Ok(Err(Failure {
                    faults,
                    discarded,
                    first_discarded: before,
                }))
            }
        }
    }

    fn try_open(
        &mut self,
        request: &str,
        caller: ObjectId,
        mode: OpenMode,
        before: usize,
    ) -> Result<Result<ObjectId, Vec<Fault>>> {
        // musl searches on behalf of the program, whoever calls dlopen.
        let caller = match self.system.libc {
            Libc::Glibc => caller,
            Libc::Musl => 0,
        };
        let id = match self.map(request, caller, None)? {
            Ok(id) => id,
            Err(fault) => return Ok(Err(vec![fault])),
        };
        if id >= before {
            self.objects[id].loader = None;
        }
        if self.objects[id].search_list.is_empty() {
            let list = match self.map_needed(&[id])? {
                Ok(list) => list,
                Err(faults) => return Ok(Err(faults)),
            };
            self.objects[id].search_list = list;
            let new: Vec<ObjectId> = (before..self.objects.len()).collect();
            for new in &new {
                self.objects[*new].scopes = vec![id];
            }
            if let Err(faults) = self.check(&new, !mode.lazy)? {
                return Ok(Err(faults));
            }
            self.extend_scopes(id, before);
        }
        if mode.global && !self.objects[id].global {
            for id in self.objects[id].search_list.clone() {
                if !std::mem::replace(&mut self.objects[id].global, true) {
                    self.global.push(id);
                }
            }
        }
        Ok(Ok(id))
    }

    /// Objects that were opened before and are in a new search list find the symbols of that list from now on (elf/dl-open.c,
    /// `resize_scopes`).
    fn extend_scopes(&mut self, root: ObjectId, before: usize) {
        for id in self.objects[root].search_list.clone() {
            let object = &mut self.objects[id];
            if id < before && !object.at_start && !object.scopes.contains(&root) {
                object.scopes.push(root);
            }
        }
    }

    /// Checks new objects in the loader's order: executable stacks, versions, symbols. The first step with a fault ends it.
    fn check(&mut self, new: &[ObjectId], now: bool) -> Result<Result<(), Vec<Fault>>> {
        if let Some(fault) = self.executable_stack(new) {
            return Ok(Err(vec![fault]));
        }
        if self.system.libc == Libc::Glibc {
            let faults = relocate::unmet_versions(self, new)?;
            if !faults.is_empty() {
                return Ok(Err(faults));
            }
        }
        let at_start = new.first() == Some(&0);
        let bind_now = self.system.variable("LD_BIND_NOW").is_some();
        for &id in new {
            let elf = self.objects[id].elf;
            let own = elf.flags & DF_BIND_NOW != 0 || elf.flags_1 & DF_1_NOW != 0;
            self.objects[id].bound = own || bind_now || (now && !at_start);
        }
        let faults = relocate::undefined_at_load(self, new)?;
        Ok(match faults.is_empty() {
            true => Ok(()),
            false => Err(faults),
        })
    }

    /// The first object for which dlopen would have to make the stack executable (elf/dl-load.c, `_dl_map_object_from_fd`).
    fn executable_stack(&self, new: &[ObjectId]) -> Option<Fault> {
        let release = self.system.glibc?;
        let at_start = new.first() == Some(&0);
        // The stack is executable already if the program or a library that it started with requires that, or a tunable says so.
        let tunables = self.system.variable("GLIBC_TUNABLES").unwrap_or_default();
        let mut started = self.objects.iter().filter(|it| it.at_start);
        let is_executable = tunables.contains("glibc.rtld.execstack=2")
            || started.any(|it| it.elf.executable_stack == Some(true));
        if release < NO_EXECUTABLE_STACKS || at_start || is_executable {
            return None;
        }
        // Without PT_GNU_STACK, the default of x86 is an executable stack (sysdeps/x86_64/stackinfo.h).
        let default = matches!(self.system.machine, EM_386 | EM_X86_64);
        let requires = |object: &&Object| object.elf.executable_stack.unwrap_or(default);
        let object = new.iter().map(|&id| &self.objects[id]).find(requires)?;
        Some(Fault::ExecutableStack {
            object: object.path.clone(),
        })
    }
}
