//! The loader that a program's interpreter is, and what is built into it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::abi::Abi;
use super::cache::Cache;
use super::hwcaps::{CpuLevel, GlibcVersion, Hwcaps};
use crate::elf::ElfFacts;
use crate::image::{Node, RootFilesystem};

/// `EM_386`, `EM_X86_64`, `EM_AARCH64`.
pub(super) const EM_386: u16 = 3;
pub(super) const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// Linux takes no path of this length or more (`include/uapi/linux/limits.h`).
const PATH_MAX: usize = 4096;

/// Which C library a loader belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The GNU C library.
    Glibc,
    /// musl, as in Alpine Linux.
    Musl,
}

/// A library that the driver of the host brings when the container starts: none is expected in an image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLibrary {
    /// The name that it is asked for by.
    pub name: String,
    /// What its symbols begin with, before an upper-case letter; empty if that is not known.
    #[serde(default)]
    pub symbols: String,
}

impl HostLibrary {
    /// Whether a symbol has the library's prefix.
    pub(super) fn defines(&self, symbol: &str) -> bool {
        !self.symbols.is_empty()
            && symbol
                .strip_prefix(&self.symbols)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    }
}

/// The loader of an image for one machine, with the process environment that it looks at.
#[derive(Debug)]
pub struct System<'r> {
    /// The files.
    pub root: &'r RootFilesystem<'r>,
    /// Whose rules hold.
    pub family: Family,
    /// `e_machine` of the programs it loads.
    pub machine: u16,
    /// 32 or 64.
    pub class: u8,
    /// Release of glibc; `None` for musl or if its `libc.so.6` does not tell.
    pub glibc: Option<GlibcVersion>,
    /// The environment of the process.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the process.
    pub working_directory: String,
    /// What the host brings: an object that needs it loads as if it were there.
    pub host_libraries: Vec<HostLibrary>,
    /// Directories that are searched last, in order.
    pub(super) default_directories: Vec<String>,
    hwcaps: Option<Hwcaps>,
    cache: Option<Cache>,
    /// What `$LIB` stands for.
    pub(super) lib: String,
    /// What `$PLATFORM` stands for.
    pub(super) platform: &'static str,
}

impl<'r> System<'r> {
    /// The loader that runs a program; `None` if the program names no interpreter (it is linked statically), or one of a C library
    /// that is installed beside the system's, whose directories and index are not known (Nix, glibc on Alpine).
    pub fn of(
        root: &'r RootFilesystem<'r>,
        program: &ElfFacts,
        environment: BTreeMap<String, String>,
        working_directory: &str,
    ) -> Option<Self> {
        let interpreter = program.interpreter.as_deref()?;
        let name = interpreter.rsplit('/').next().unwrap_or_default();
        let family = match name.starts_with("ld-musl-") {
            true => Family::Musl,
            false => Family::Glibc,
        };
        if !is_standard(root, interpreter) {
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
            family,
            machine: program.machine,
            class: program.class,
            glibc: None,
            environment,
            working_directory: working_directory.to_owned(),
            host_libraries: Vec::new(),
            default_directories: Vec::new(),
            hwcaps: None,
            cache: None,
            lib: lib64.to_owned(),
            platform,
        };
        match family {
            Family::Musl => system.default_directories = musl_directories(root, name),
            Family::Glibc => system.glibc_directories(tuple, lib64),
        }
        Some(system)
    }

    /// Debian and its descendants configure glibc with the multiarch directories, others with `lib64`; where the C library itself
    /// lies tells which. (`SYSTEM_DIRS` of elf/dl-load.c, made by elf/gen-trusted-dirs.awk from the configured `slibdir`.)
    fn glibc_directories(&mut self, tuple: &str, lib64: &str) {
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
        self.glibc = libc.and_then(|node| GlibcVersion::of_library(node.name(), node.elf()?));
        // A cache that cannot be read is passed over.
        let cache = self.root.resolve("/etc/ld.so.cache").ok();
        self.cache = cache
            .and_then(Node::bytes)
            .and_then(|bytes| Cache::parse(bytes).ok());
        // A C library that does not tell its release is taken for a new one.
        let glibc = self.glibc.unwrap_or(GlibcVersion::new(2, 40));
        let abi = Abi::of(self.machine, self.class);
        self.hwcaps = abi.map(|abi| Hwcaps::new(abi, glibc, CpuLevel::default()));
    }

    /// The path that the cache has for a name; whether it leads anywhere is not known.
    pub(super) fn cached(&self, name: &str) -> Option<&str> {
        let entry = self.cache.as_ref()?.lookup(name, self.hwcaps.as_ref()?)?;
        Some(&entry.path)
    }

    /// Subdirectories that are searched before each directory, for the processors that hosts are taken to have.
    pub(super) fn subdirectories(&self) -> Vec<String> {
        let hwcaps = self.hwcaps.as_ref();
        hwcaps.map(Hwcaps::subdirectories).unwrap_or_default()
    }

    /// Whether the host brings a library.
    pub(super) fn is_host_provided(&self, name: &str) -> bool {
        self.host_libraries
            .iter()
            .any(|library| library.name == name)
    }

    /// Those of the needed libraries that come from the host.
    pub(super) fn of_host(&self, needed: &[String]) -> Vec<&HostLibrary> {
        let libraries = self.host_libraries.iter();
        libraries
            .filter(|library| needed.contains(&library.name))
            .collect()
    }

    /// A variable of the process; an empty one counts as unset, as for the loader.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    /// Replaces `$ORIGIN`, `$LIB` and `$PLATFORM` (ld.so(8), "Dynamic string tokens"); `None` for what is longer than a path can be.
    pub(super) fn expand(&self, text: &str, origin: &str) -> Option<String> {
        let tokens = [
            ("ORIGIN", origin),
            ("LIB", self.lib.as_str()),
            ("PLATFORM", self.platform),
        ];
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            if expanded.len() >= PATH_MAX {
                return None;
            }
            let token = tokens.iter().find_map(|(name, value)| {
                let braced = after
                    .strip_prefix('{')
                    .and_then(|it| it.strip_prefix(name)?.strip_prefix('}'));
                let plain = after
                    .strip_prefix(name)
                    .filter(|rest| rest.is_empty() || rest.starts_with('/'));
                Some((*value, braced.or(plain)?))
            });
            match token {
                Some((value, behind)) => {
                    expanded.push_str(value);
                    rest = behind;
                }
                None => {
                    expanded.push('$');
                    rest = after;
                }
            }
        }
        expanded.push_str(rest);
        (expanded.len() < PATH_MAX).then_some(expanded)
    }

    /// An absolute path of one that may be relative to the working directory.
    pub(super) fn absolute(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}/{path}", self.working_directory.trim_end_matches('/')),
        }
    }
}

/// Whether an interpreter is the system's own, or is not there.
fn is_standard(root: &RootFilesystem, interpreter: &str) -> bool {
    let path = root.resolve(interpreter).map(Node::path);
    let directory = path.as_deref().ok().and_then(|path| path.rsplit_once('/'));
    directory.is_none_or(|(directory, _)| {
        let inside = directory.strip_prefix("/usr").unwrap_or(directory);
        let name = inside.strip_prefix("/lib").unwrap_or("/other");
        matches!(name, "" | "64" | "32" | "x32") || name.ends_with("-linux-gnu")
    })
}

/// `/etc/ld-musl-ARCH.path` if it is there, else what is built in (musl ldso/dynlink.c, `load_library`).
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
