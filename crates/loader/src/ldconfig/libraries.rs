//! Finds the libraries in one directory, like `search_dir` of `ldconfig`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::abi::{Abi, ELF, ELF_LIBC6};
use crate::cache::compare_names;
use imgcheck_elf::ElfFacts;
use imgcheck_image::{Node, RootFilesystem};

/// A directory that `ldconfig` searches.
pub(super) struct SearchDirectory<'r> {
    pub node: Node<'r>,
    /// The path as written to the cache.
    pub path: String,
    /// Its name, if it is a subdirectory of `glibc-hwcaps`.
    pub subdirectory: Option<String>,
    /// Flags for libraries that do not tell their libc, from `=TYPE` behind the directory.
    pub type_flags: Option<u32>,
}

/// A library of a directory: the best file for its SONAME.
pub(super) struct Library<'r> {
    /// The name of the file in the directory.
    pub name: &'r str,
    /// The name that is written to the cache.
    pub soname: String,
    /// The flags of its cache entry.
    pub flags: u32,
    /// The file, with links resolved.
    pub file: Node<'r>,
    is_link: bool,
}

/// The libraries of a directory, one per SONAME. `older` is true for glibc before 2.37.
pub(super) fn libraries<'r>(
    root: &'r RootFilesystem<'r>,
    directory: &SearchDirectory<'r>,
    abi: Abi,
    older: bool,
) -> impl Iterator<Item = Library<'r>> + use<'r> {
    let mut best: BTreeMap<String, Library> = BTreeMap::new();
    for child in directory.node.children() {
        let Some(library) = library(root, directory, child, abi, older) else {
            continue;
        };
        match best.entry(library.soname.clone()) {
            Entry::Vacant(place) => {
                place.insert(library);
            }
            Entry::Occupied(mut place) => {
                if library.replaces(place.get()) {
                    place.insert(library);
                }
            }
        }
    }
    best.into_values()
}

impl Library<'_> {
    /// A file replaces a link; otherwise, the higher version number in the name wins.
    fn replaces(&self, other: &Library) -> bool {
        match (self.is_link, other.is_link) {
            (false, true) => true,
            (true, false) => false,
            _ => compare_names(other.name, self.name).is_lt(),
        }
    }
}

/// The library at a directory entry; `None` if the entry is not a library.
fn library<'r>(
    root: &'r RootFilesystem<'r>,
    directory: &SearchDirectory<'r>,
    child: Node<'r>,
    abi: Abi,
    older: bool,
) -> Option<Library<'r>> {
    let name = child.name();
    let is_link = child.symlink_target().is_some();
    // Below glibc-hwcaps, links count whatever their names.
    let looks_like_one = is_library_name(name) || (is_link && directory.subdirectory.is_some());
    if !looks_like_one || is_temporary(name) {
        return None;
    }
    let file = match is_link {
        true => root.resolve(&child.path()).ok()?,
        false => child,
    };
    let facts = file.elf().filter(|facts| is_dynamic(facts))?;
    let mut flags = flags(facts, abi, older)?;
    if let Some(type_flags) = directory.type_flags.filter(|_| flags == ELF) {
        flags = type_flags;
    }
    let soname = facts.soname.as_deref().unwrap_or(name);
    let is_link = is_link && link_is_usual(name, soname);
    Some(Library {
        name,
        soname: if is_link { name } else { soname }.to_owned(),
        flags,
        file,
        is_link,
    })
}

/// Whether a file name is that of a library or loader (`_dl_is_dso`).
fn is_library_name(name: &str) -> bool {
    let library = (name.starts_with("lib") || name.starts_with("ld-")) && name.contains(".so");
    library || name.starts_with("ld.so.") || name.starts_with("ld64.so.")
}

/// Whether a file name is that of a temporary file of a package manager or prelink.
fn is_temporary(name: &str) -> bool {
    let length = name.len();
    let prelink = ".#prelink#.";
    name.ends_with(".#prelink#")
        || length
            .checked_sub(prelink.len() + "XXXXXX".len())
            .and_then(|start| name.get(start..))
            .is_some_and(|end| end.starts_with(prelink))
        || name.contains(';')
        || name.ends_with(".dpkg-new")
        || name.ends_with(".dpkg-tmp")
}

/// Whether the file is a shared object with a non-empty dynamic section. Separate debugging information has no dynamic section in the
/// file.
fn is_dynamic(facts: &ElfFacts) -> bool {
    const ET_DYN: u16 = 3;
    let says_something = facts.soname.is_some()
        || !facts.needed.is_empty()
        || !facts.exports.is_empty()
        || !facts.imports.is_empty();
    facts.object_type == ET_DYN && says_something
}

/// The flags of a library's cache entry; `None` if this system's `ldconfig` does not support its architecture
/// (`process_elf_file`).
fn flags(facts: &ElfFacts, system: Abi, older: bool) -> Option<u32> {
    match (system, facts.machine, facts.class) {
        // On AArch64, ldconfig checks only the class.
        (Abi::Aarch64, _, 64) => Some(Abi::Aarch64.cache_flags()),
        // The floating-point ABI (FLAG_ARM_LIBHF) is in a field that the facts lack; distributions use only this one.
        (Abi::Aarch64, _, _) => Some(0x0900 | ELF_LIBC6),
        (_, machine, class) => match Abi::of(machine, class)? {
            Abi::Aarch64 => None,
            Abi::I386 if older && !names_libc6(facts) => Some(ELF),
            abi => Some(abi.cache_flags()),
        },
    }
}

/// Whether the dependencies or the loader of a 32-bit x86 library show that it is for glibc.
fn names_libc6(facts: &ElfFacts) -> bool {
    const INTERPRETERS: [&str; 4] = [
        "/lib/ld-linux.so.2",
        "/libx32/ld-linux-x32.so.2",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-x86-64.so.2",
    ];
    let needs = |name: &String| matches!(name.as_str(), "libc.so.6" | "libm.so.6");
    let interpreter = facts.interpreter.as_deref();
    facts.needed.iter().any(needs) || interpreter.is_some_and(|path| INTERPRETERS.contains(&path))
}

/// Whether a link is named like the SONAME of its target, or is the linker's (`libfoo.so` for `libfoo.so.1`). `ldconfig` treats any other
/// link as a file.
fn link_is_usual(name: &str, soname: &str) -> bool {
    name == soname || (name.ends_with(".so") && soname.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries() {
        for name in [
            "libc.so.6",
            "ld-2.31.so",
            "ld.so.1",
            "ld64.so.2",
            "libfoo.so-gdb.py",
        ] {
            assert!(is_library_name(name), "{name}");
        }
        for name in ["foo.so", "libfoo.a", "ld.so", "ld.gold", "Xlib.so"] {
            assert!(!is_library_name(name), "{name}");
        }
        for name in [
            "libc.so.6.#prelink#",
            "libc.so.6.#prelink#.aB3dEf",
            "libc.so.6.dpkg-new",
            "libc.so.6;5f",
        ] {
            assert!(is_temporary(name), "{name}");
        }
        assert!(!is_temporary("libprelink.so.1"));
    }

    #[test]
    fn links() {
        assert!(link_is_usual("libfoo.so.1", "libfoo.so.1"));
        assert!(link_is_usual("libfoo.so", "libfoo.so.1"));
        assert!(!link_is_usual("libfoo.so.2", "libfoo.so.1"));
        assert!(!link_is_usual("libbar.so", "libfoo.so.1"));
    }
}
