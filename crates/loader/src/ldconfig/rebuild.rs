//! The cache that `ldconfig` would write (`elf/ldconfig.c`, `elf/cache.c`).

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use super::configuration::{Configuration, Directory, MAX_DIRECTORIES, SIMPLER, configuration};
use super::libraries::{Library, SearchDirectory, libraries};
use crate::abi::Abi;
use crate::cache::{Cache, Entry, Format, Hwcap, compare_names};
use crate::hwcaps::{GlibcVersion, older_bit};
use imgcheck_image::{Node, RootFilesystem};

/// The cache that `ldconfig` would write, with its files.
#[derive(Debug)]
pub struct Rebuilt<'r> {
    /// The cache, without a generator.
    pub cache: Cache,
    /// The file of each cache entry. If the path of an entry does not exist, `ldconfig` would create a link to the file.
    pub files: Vec<Node<'r>>,
    /// The configured directories, and the configuration files that could not be read.
    pub configuration: Configuration,
    /// False if a limit was reached before all directories were searched.
    pub complete: bool,
}

/// Directories to search, each once.
struct DirectoryQueue<'r> {
    root: &'r RootFilesystem<'r>,
    known: HashSet<String>,
    directories: Vec<SearchDirectory<'r>>,
}

/// A line of the cache: a library, and the `glibc-hwcaps` directory that contains it.
struct CacheEntry<'r> {
    entry: Entry,
    subdirectory: Option<String>,
    file: Node<'r>,
}

/// The cache that `ldconfig` of this glibc would write in the image, on a system with this ABI.
///
/// The level that a file requires (GNU_PROPERTY_X86_ISA_1_NEEDED, used only below `glibc-hwcaps`) and its minimum kernel are unknown
/// and set to 0. Damaged ELF files are omitted, although `ldconfig` adds those whose damage it does not detect.
pub fn rebuild<'r>(root: &'r RootFilesystem<'r>, abi: Abi, glibc: GlibcVersion) -> Rebuilt<'r> {
    let configuration = configuration(root, abi, glibc);
    let mut queue = DirectoryQueue {
        root,
        known: HashSet::new(),
        directories: Vec::new(),
    };
    for directory in &configuration.directories {
        queue.add_configured(directory, glibc);
    }
    let (found, complete) = queue.search(abi, glibc);
    let (cache, files) = assemble(found);
    Rebuilt {
        cache,
        files,
        complete: complete && configuration.complete,
        configuration,
    }
}

impl<'r> DirectoryQueue<'r> {
    fn add(&mut self, directory: SearchDirectory<'r>) -> bool {
        let new = self.directories.len() < MAX_DIRECTORIES
            && directory.node.is_directory()
            && self.known.insert(directory.node.path());
        if new {
            self.directories.push(directory);
        }
        new
    }

    /// Adds a configured directory, followed by its subdirectories of `glibc-hwcaps`.
    fn add_configured(&mut self, directory: &Directory, glibc: GlibcVersion) {
        let Ok(node) = self.root.resolve(&directory.path) else {
            return;
        };
        let path = &directory.path;
        let added = self.add(SearchDirectory {
            node,
            path: path.clone(),
            subdirectory: None,
            type_flags: directory.type_flags,
        });
        if !added || glibc < GlibcVersion::new(2, 33) {
            return;
        }
        let parent = format!("{}/glibc-hwcaps", node.path());
        for child in self.root.read_dir(&parent) {
            let name = child.name();
            if name.starts_with('.') || name.contains(':') {
                continue;
            }
            if let Ok(node) = self.root.resolve(&format!("{parent}/{name}")) {
                self.add(SearchDirectory {
                    node,
                    path: format!("{path}/glibc-hwcaps/{name}"),
                    subdirectory: Some(name.to_owned()),
                    type_flags: directory.type_flags,
                });
            }
        }
    }

    /// Searches all directories, and the processor-specific directories in them. The flag is false if a limit was reached.
    fn search(mut self, abi: Abi, glibc: GlibcVersion) -> (Vec<CacheEntry<'r>>, bool) {
        let (mut found, mut left, mut at) = (Vec::new(), Cache::MAX_STRINGS, 0);
        let older = glibc < SIMPLER;
        while let Some(directory) = self.directories.get(at) {
            at += 1;
            let bits = match directory.subdirectory {
                None if older => path_bits(abi, &directory.path),
                _ => 0,
            };
            for library in libraries(self.root, directory, abi, older) {
                let entry = directory.cache_entry(library, bits);
                let strings = entry.entry.path.len() + entry.entry.name.len();
                match left.checked_sub(strings) {
                    Some(rest) => left = rest,
                    None => return (found, false),
                }
                found.push(entry);
            }
            if older && directory.subdirectory.is_none() {
                for inner in directory.for_older_processors(self.root, abi) {
                    self.add(inner);
                }
            }
        }
        let complete = self.directories.len() < MAX_DIRECTORIES;
        (found, complete)
    }
}

impl<'r> SearchDirectory<'r> {
    fn cache_entry(&self, library: Library<'r>, bits: u64) -> CacheEntry<'r> {
        // ldconfig creates no links below glibc-hwcaps, so the entry has the file's own name.
        let file = match self.subdirectory {
            Some(_) => library.name,
            None => &library.soname,
        };
        CacheEntry {
            entry: Entry {
                path: format!("{}/{file}", self.path),
                name: library.soname,
                flags: library.flags,
                kernel: 0,
                hwcap: Hwcap::Bits(bits),
            },
            subdirectory: self.subdirectory.clone(),
            file: library.file,
        }
    }

    fn for_older_processors(
        &self,
        root: &'r RootFilesystem<'r>,
        abi: Abi,
    ) -> Vec<SearchDirectory<'r>> {
        let named = self
            .node
            .children()
            .filter(|child| older_bit(abi, child.name()).is_some());
        let inner = |child: Node<'r>| {
            Some(SearchDirectory {
                node: root.resolve(&child.path()).ok()?,
                path: format!("{}/{}", self.path, child.name()),
                subdirectory: None,
                type_flags: self.type_flags,
            })
        };
        named.filter_map(inner).collect()
    }
}

/// The capability bits of a directory, from the last components of its path that name a capability (`path_hwcap`).
fn path_bits(abi: Abi, path: &str) -> u64 {
    path.split('/')
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .map_while(|name| older_bit(abi, name))
        .fold(0, |bits, bit| bits.wrapping_add(1 << bit))
}

/// Sorts the entries and numbers the subdirectories.
fn assemble(mut found: Vec<CacheEntry>) -> (Cache, Vec<Node>) {
    found.sort_by(order);
    let names: BTreeSet<String> = found
        .iter()
        .filter_map(|found| found.subdirectory.clone())
        .collect();
    let subdirectories: Vec<String> = names.into_iter().collect();
    let index = |name: &String| subdirectories.binary_search(name).ok();
    let (entries, files) = found
        .into_iter()
        .map(|mut found| {
            if let Some(index) = found.subdirectory.as_ref().and_then(index) {
                found.entry.hwcap = Hwcap::Subdirectory {
                    index: u32::try_from(index).unwrap_or(u32::MAX),
                    isa_level: 0,
                };
            }
            (found.entry, found.file)
        })
        .unzip();
    let cache = Cache {
        format: Format::New,
        generator: None,
        subdirectories,
        entries,
    };
    (cache, files)
}

/// The order of the cache: names and flags descending, then processor-specific entries, the most specific first.
fn order(a: &CacheEntry, b: &CacheEntry) -> Ordering {
    let bits = |found: &CacheEntry| match found.entry.hwcap {
        Hwcap::Bits(bits) => (bits.count_ones(), bits),
        Hwcap::Subdirectory { .. } => (0, 0),
    };
    let subdirectories = match (&a.subdirectory, &b.subdirectory) {
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    compare_names(&b.entry.name, &a.entry.name)
        .then(b.entry.flags.cmp(&a.entry.flags))
        .then(subdirectories)
        .then(bits(b).cmp(&bits(a)))
}
