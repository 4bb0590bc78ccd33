//! The loader that a program names as its interpreter, with its built-in directories and cache.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;

use super::abi::Abi;
use super::builtin::BuiltIn;
use super::cache::Cache;
use super::hwcaps::{CpuLevel, GlibcVersion, Hwcaps};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_base::limits::{Limit, Usage};
use imgcheck_elf::ElfFacts;
use imgcheck_image::{Credentials, Node, RootFilesystem};

/// `EM_386`, `EM_X86_64`, `EM_AARCH64`.
pub(crate) const EM_386: u16 = 3;
pub(crate) const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// `LD_SO_CACHE` and the list of preloaded libraries of a glibc with the usual prefix (sysdeps/generic/dl-cache.h, elf/rtld.c).
pub(crate) const CACHE: &str = "/etc/ld.so.cache";
const PRELOAD: &str = "/etc/ld.so.preload";

/// The C library that a loader belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    /// The GNU C library.
    Glibc,
    /// musl, as in Alpine Linux.
    Musl,
}

/// A library of the host's driver, which is mounted when the container starts and is not expected in an image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLibrary {
    /// Its SONAME.
    pub name: String,
    /// The prefix of its symbols, which an upper-case letter follows; empty if unknown.
    #[serde(default)]
    pub symbols: String,
}

impl HostLibrary {
    /// Whether a symbol has the library's prefix.
    pub(crate) fn defines(&self, symbol: &str) -> bool {
        !self.symbols.is_empty()
            && symbol
                .strip_prefix(&self.symbols)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    }
}

/// The bounds of the work that all processes of an image cause together. Clones share what was used.
#[derive(Debug, Clone, Default)]
pub struct ProcessBudget {
    /// The bounds.
    pub bounds: Bounds,
    /// What was used of the limits that count for all processes.
    usage: Usage,
}

impl From<Bounds> for ProcessBudget {
    /// Nothing was used yet.
    fn from(bounds: Bounds) -> Self {
        ProcessBudget {
            bounds,
            usage: Usage::default(),
        }
    }
}

/// The loader as the command: `ld.so [OPTION]… PROGRAM` (elf/rtld.c, `dl_main`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The path of the loader.
    pub loader: String,
    /// The path of the program, as it is given, but absolute: links in it are not followed for `$ORIGIN`.
    pub program: String,
    /// Names of objects whose DT_RPATH and DT_RUNPATH do not count (`--inhibit-rpath`). The name of the program is empty.
    pub inhibit_rpath: Vec<String>,
    /// The cache does not count (`--inhibit-cache`).
    pub inhibits_cache: bool,
}

/// The loader of an image for one machine, with the environment of the process.
#[derive(Debug, Clone)]
pub struct System<'r> {
    /// The files of the image.
    pub root: &'r RootFilesystem<'r>,
    /// The C library whose rules apply.
    pub libc: Libc,
    /// `e_machine` of programs and libraries.
    pub machine: u16,
    /// Class of programs and libraries: 32 or 64.
    pub class: u8,
    /// Release of glibc; `None` for musl, or if `libc.so.6` does not contain it.
    pub glibc: Option<GlibcVersion>,
    /// The environment of the process.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the process.
    pub working_directory: String,
    /// Who runs the process: files that the user may not read are passed over.
    pub user: Credentials,
    /// Libraries of the host's driver: an object that needs one loads as if it were there.
    pub host_libraries: Vec<HostLibrary>,
    /// The kernel sets AT_SECURE: the loader trusts neither LD_* nor `$ORIGIN` (ld.so(8), "Secure-execution mode").
    pub(crate) is_secure: bool,
    /// How the loader itself is the command; `None` if the kernel starts it for the program.
    pub(crate) command: Option<Rc<Command>>,
    /// What bounds the work of the loader.
    pub budget: ProcessBudget,
    /// The program, as errors name it.
    pub subject: String,
    /// Used in place of an unknown program.
    pub(crate) plain_program: ElfFacts,
    /// The directories that are searched last, in order.
    pub(crate) default_directories: Vec<String>,
    hwcaps: Option<Hwcaps>,
    subdirectories: Vec<String>,
    cache: Option<Rc<Cache>>,
    /// The path of the cache.
    pub(crate) cache_path: String,
    /// The path of the list of preloaded libraries.
    pub(crate) preload_path: String,
    /// The value of `$LIB`.
    pub(crate) lib: String,
    /// The value of `$PLATFORM`.
    pub(crate) platform: &'static str,
}

impl<'r> System<'r> {
    /// The loader that runs a program. `None` if the program is linked statically, or if its interpreter is outside the system's
    /// directories and does not tell what is built into it.
    pub fn of(
        root: &'r RootFilesystem<'r>,
        program: &ElfFacts,
        environment: BTreeMap<String, String>,
        working_directory: &str,
    ) -> Option<Self> {
        let interpreter = program.interpreter.as_deref()?;
        let name = name_of(interpreter);
        let libc = match name.starts_with("ld-musl-") {
            true => Libc::Musl,
            false => Libc::Glibc,
        };
        let loader = root.resolve(interpreter).ok();
        let built_in = match libc {
            Libc::Glibc => loader.and_then(|it| BuiltIn::of(it.elf()?)),
            Libc::Musl => None,
        };
        if built_in.is_none() && !loader.is_none_or(is_standard) {
            return None;
        }
        let (platform, tuple, lib64) = match (program.machine, program.class) {
            (EM_X86_64, _) => ("x86_64", "x86_64-linux-gnu", "lib64"),
            (EM_AARCH64, _) => ("aarch64", "aarch64-linux-gnu", "lib64"),
            (EM_386, _) => ("i686", "i386-linux-gnu", "lib"),
            _ => ("", "", "lib64"),
        };
        let mut system = System {
            root,
            libc,
            machine: program.machine,
            class: program.class,
            glibc: None,
            environment,
            working_directory: working_directory.to_owned(),
            user: Credentials::default(),
            host_libraries: Vec::new(),
            is_secure: false,
            command: None,
            budget: ProcessBudget::default(),
            subject: "the loader model".to_owned(),
            plain_program: ElfFacts::default(),
            default_directories: Vec::new(),
            hwcaps: None,
            subdirectories: Vec::new(),
            cache: None,
            cache_path: CACHE.to_owned(),
            preload_path: PRELOAD.to_owned(),
            lib: lib64.to_owned(),
            platform,
        };
        match libc {
            Libc::Musl => system.default_directories = musl_directories(root, name),
            Libc::Glibc => system.set_up_glibc(built_in, tuple, lib64),
        }
        Some(system)
    }

    /// The loader in secure-execution mode, which ignores the variables LD_* except, for libraries that it trusts, LD_PRELOAD
    /// (elf/rtld.c, `process_envvars`; ldso/dynlink.c, `__dls3`).
    #[must_use]
    pub fn in_secure_mode(mut self) -> Self {
        let kept = (self.libc == Libc::Glibc).then_some("LD_PRELOAD");
        self.environment
            .retain(|name, _| !name.starts_with("LD_") || Some(name.as_str()) == kept);
        self.is_secure = true;
        self
    }

    /// The loader as the command. LD_LIBRARY_PATH and LD_PRELOAD are those of the environment.
    #[must_use]
    pub fn by_command(mut self, command: Command) -> Self {
        if command.inhibits_cache {
            self.cache = None;
        }
        self.command = Some(command.into());
        self
    }

    /// Whether the search path of an object does not count.
    pub(crate) fn inhibits_path(&self, name: &str) -> bool {
        let command = self.command.as_ref();
        command.is_some_and(|it| it.inhibit_rpath.iter().any(|listed| listed == name))
    }

    /// The loader of a plain program for a machine; the interpreter is the one that the image has.
    pub fn of_machine(
        root: &'r RootFilesystem<'r>,
        (machine, class): (u16, u8),
        environment: BTreeMap<String, String>,
        working_directory: &str,
    ) -> Option<Self> {
        let musl = ["x86_64", "aarch64", "i386"].map(|arch| format!("/lib/ld-musl-{arch}.so.1"));
        let has_libc = |path: &str| root.resolve(path).is_ok();
        let is_glibc =
            has_libc("/lib64/ld-linux-x86-64.so.2") || has_libc("/lib/ld-linux-aarch64.so.1");
        let musl = musl.into_iter().find(|path| !is_glibc && has_libc(path));
        let program = ElfFacts {
            machine,
            class,
            interpreter: Some(musl.unwrap_or_else(|| "/lib64/ld.so".to_owned())),
            ..ElfFacts::default()
        };
        System::of(root, &program, environment, working_directory)
    }

    /// Directories, release, cache and processor-specific subdirectories of a glibc.
    fn set_up_glibc(&mut self, built_in: Option<BuiltIn>, tuple: &str, lib64: &str) {
        let libc = match built_in {
            Some(built_in) => self.take_built_in(built_in),
            None => self.standard_directories(tuple, lib64),
        };
        let release = libc.and_then(|node| GlibcVersion::of_library(node.name(), node.elf()?));
        self.glibc = release.or(self.glibc);
        // glibc ignores a cache that it cannot read.
        let cache = self.root.resolve(&self.cache_path).ok();
        let cache = cache.and_then(Node::bytes);
        self.cache = cache
            .and_then(|bytes| Cache::parse(bytes).ok())
            .map(Rc::new);
        self.set_level(CpuLevel::default());
    }

    /// What the bytes of the loader say. Returns the C library in its directories.
    fn take_built_in(&mut self, built_in: BuiltIn) -> Option<Node<'r>> {
        built_in.lib().clone_into(&mut self.lib);
        self.cache_path = built_in.cache;
        self.preload_path = built_in.preload;
        self.default_directories = built_in.directories;
        self.glibc = built_in.release;
        let mut directories = self.default_directories.iter();
        directories.find_map(|it| self.root.resolve(&format!("{it}/libc.so.6")).ok())
    }

    /// Debian and its descendants configure glibc with multiarch directories, others with `lib64`; the directory of the C library
    /// itself tells which (`SYSTEM_DIRS` of elf/dl-load.c, which elf/gen-trusted-dirs.awk generates from `slibdir`). Returns the C
    /// library.
    fn standard_directories(&mut self, tuple: &str, lib64: &str) -> Option<Node<'r>> {
        let multiarch = format!("lib/{tuple}");
        let libc = |directory: &str| self.root.resolve(&format!("/{directory}/libc.so.6")).ok();
        let (lib, libc) = match libc(&multiarch) {
            Some(file) if !tuple.is_empty() => (multiarch, Some(file)),
            _ => (lib64.to_owned(), libc(lib64).or_else(|| libc("usr/lib"))),
        };
        let mut directories = vec![format!("/{lib}"), format!("/usr/{lib}")];
        if lib != lib64 || lib == "lib" {
            directories.extend(["/lib".to_owned(), "/usr/lib".to_owned()]);
            directories.dedup();
        }
        self.default_directories = directories;
        self.lib = lib;
        libc
    }

    /// The subdirectories for a processor. A C library that does not tell its release is assumed to be new.
    fn set_level(&mut self, level: CpuLevel) {
        let glibc = self.glibc.unwrap_or(GlibcVersion::ASSUMED);
        let abi = Abi::of(self.machine, self.class);
        self.hwcaps = abi.map(|abi| Hwcaps::new(abi, glibc, level));
        let hwcaps = self.hwcaps.as_ref();
        self.subdirectories = hwcaps.map(Hwcaps::subdirectories).unwrap_or_default();
    }

    /// The loader on a host with another processor, or with another cache.
    #[must_use]
    pub fn on(&self, level: CpuLevel, cache: Option<Rc<Cache>>) -> Self {
        let mut system = self.clone();
        system.set_level(level);
        let has_cache = !system.inhibits_cache();
        system.cache = cache.or(system.cache).filter(|_| has_cache);
        system
    }

    /// Whether the level of the processor decides where the loader searches.
    pub fn has_levels(&self) -> bool {
        self.libc == Libc::Glibc && self.machine == EM_X86_64
    }

    /// Whether the loader reads the cache that `ldconfig` writes.
    pub fn uses_system_cache(&self) -> bool {
        self.libc == Libc::Glibc && self.cache_path == CACHE && !self.inhibits_cache()
    }

    fn inhibits_cache(&self) -> bool {
        self.command.as_ref().is_some_and(|it| it.inhibits_cache)
    }

    /// The path that the cache has for a name; it may lead nowhere.
    pub(crate) fn cached(&self, name: &str) -> Option<&str> {
        let entry = self.cache.as_ref()?.lookup(name, self.hwcaps.as_ref()?)?;
        Some(&entry.path)
    }

    /// The subdirectories for certain processors that are searched before each directory.
    pub(crate) fn subdirectories(&self) -> &[String] {
        &self.subdirectories
    }

    /// Whether the search path of an object counts for the objects that it needs, too: DT_RPATH, unless DT_RUNPATH replaces it;
    /// both with musl.
    pub(crate) fn has_inherited_path(&self, elf: &ElfFacts) -> bool {
        match self.libc {
            Libc::Glibc => elf.rpath.is_some() && elf.runpath.is_none(),
            Libc::Musl => elf.rpath.is_some() || elf.runpath.is_some(),
        }
    }

    /// Whether a library comes from the host's driver.
    pub(crate) fn is_host_provided(&self, name: &str) -> bool {
        self.host_libraries
            .iter()
            .any(|library| library.name == name)
    }

    /// The needed libraries that come from the host's driver.
    pub(crate) fn host_libraries_of(&self, needed: &[String]) -> Vec<&HostLibrary> {
        let libraries = self.host_libraries.iter();
        libraries
            .filter(|library| needed.contains(&library.name))
            .collect()
    }

    /// Checks a value against a limit.
    pub(crate) fn check(&self, limit: Limit, value: u64) -> Result<()> {
        self.budget.bounds.check(limit, value, &self.subject)
    }

    /// Uses more of a limit that counts for all processes of the image together.
    pub(crate) fn spend(&self, limit: Limit, more: u64) -> Result<()> {
        self.check(limit, self.budget.usage.add(limit, more))
    }

    /// A variable of the process; like the loader, takes an empty one as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    /// Makes a path absolute that may be relative to the working directory.
    pub(crate) fn absolute(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}/{path}", self.working_directory.trim_end_matches('/')),
        }
    }
}

/// Whether a loader is in one of the system's directories.
fn is_standard(loader: Node) -> bool {
    let path = loader.path();
    path.rsplit_once('/').is_none_or(|(directory, _)| {
        let inside = directory.strip_prefix("/usr").unwrap_or(directory);
        let name = inside.strip_prefix("/lib").unwrap_or("/other");
        matches!(name, "" | "64" | "32" | "x32") || name.ends_with("-linux-gnu")
    })
}

/// The directories of `/etc/ld-musl-ARCH.path`, else the built-in ones (musl ldso/dynlink.c, `load_library`).
fn musl_directories(root: &RootFilesystem, interpreter: &str) -> Vec<String> {
    let file = interpreter.replace(".so.1", ".path");
    let text = root
        .resolve(&format!("/etc/{file}"))
        .ok()
        .and_then(Node::text);
    text.unwrap_or("/lib:/usr/local/lib:/usr/lib")
        .split([':', '\n'])
        .filter(|directory| !directory.is_empty())
        .map(str::to_owned)
        .collect()
}
