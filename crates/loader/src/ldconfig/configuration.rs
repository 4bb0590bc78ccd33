//! `/etc/ld.so.conf` with its includes, and the built-in directories of `ldconfig`.

use std::collections::HashSet;
use std::iter::Enumerate;
use std::str::Split;

use super::glob::Glob;
use crate::abi::{Abi, ELF_LIBC5, ELF_LIBC6};
use crate::hwcaps::GlibcVersion;
use imgcheck_image::RootFilesystem;

/// Limit on the number of searched directories. A real image has about a dozen.
pub(super) const MAX_DIRECTORIES: usize = 16 << 10;

/// The first release whose `ldconfig` no longer knows the older directories for processors, nor any libc but 6. (The types behind
/// directories are there in 2.36 and gone in 2.41; in which release they went is not known.)
pub(super) const SIMPLER: GlibcVersion = GlibcVersion::new(2, 37);

/// The file that `ldconfig` starts with.
const CONFIGURATION: &str = "/etc/ld.so.conf";

/// The directories that `ldconfig` searches, in order.
#[derive(Debug, Default)]
pub struct Configuration {
    /// The directories. They may not exist, and may occur more than once; then the first position counts.
    pub directories: Vec<Directory>,
    /// Included files whose text is not in the layer facts.
    pub unread: Vec<String>,
    /// False if a limit was reached, so that directories may be missing.
    pub complete: bool,
}

/// A directory that `ldconfig` searches, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The path as written, without slashes at its end.
    pub path: String,
    /// What names it.
    pub origin: DirectoryOrigin,
    /// The flags that `=TYPE` behind it gives to 32-bit libraries that do not tell their libc.
    pub(super) type_flags: Option<u32>,
}

/// What names a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryOrigin {
    /// A line of a configuration file.
    File {
        /// Path of the configuration file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// Built into `ldconfig`.
    System,
}

/// Reads the configuration like this glibc's `ldconfig` (`parse_conf`), and adds the built-in directories.
pub fn configuration<'r>(
    root: &'r RootFilesystem<'r>,
    abi: Abi,
    glibc: GlibcVersion,
) -> Configuration {
    let mut reader = ConfigurationReader {
        root,
        types: glibc < SIMPLER,
        read: HashSet::new(),
        glob: Glob::new(root),
        configuration: Configuration {
            complete: true,
            ..Configuration::default()
        },
    };
    reader.file(CONFIGURATION);
    let mut configuration = reader.configuration;
    configuration
        .directories
        .extend(system_directories(root, abi).map(|path| Directory {
            path,
            origin: DirectoryOrigin::System,
            type_flags: None,
        }));
    configuration
}

/// The built-in directories of `ldconfig`, in order, whether or not they exist.
///
/// If glibc is in a multiarch directory, they are Debian's (`local-ldconfig-multiarch.diff` in its package), otherwise those of
/// `add_system_dir` in each architecture's `dl-cache.h`.
pub fn system_directories(root: &RootFilesystem, abi: Abi) -> impl Iterator<Item = String> {
    let multiarch = abi.multiarch();
    let is_multiarch = ["/lib", "/usr/lib"].iter().any(|parent| {
        root.resolve(&format!("{parent}/{multiarch}/libc.so.6"))
            .is_ok()
    });
    let suffixes: &[&str] = match abi {
        _ if is_multiarch => &[],
        Abi::Aarch64 => &["", "64", "ilp32"],
        _ => &["", "64", "x32"],
    };
    let plain = ["/lib", "/usr/lib"];
    let of_multiarch = plain.map(|parent| format!("{parent}/{multiarch}"));
    let of_suffixes = plain.map(|parent| {
        suffixes
            .iter()
            .map(move |suffix| format!("{parent}{suffix}"))
    });
    let debian = of_multiarch.into_iter().chain(plain.map(str::to_owned));
    debian
        .filter(move |_| is_multiarch)
        .chain(of_suffixes.into_iter().flatten())
}

struct ConfigurationReader<'r> {
    root: &'r RootFilesystem<'r>,
    /// Whether `=TYPE` may follow a directory; otherwise it is part of the name.
    types: bool,
    /// Files that were read: a file may include itself, and reading it again would change nothing.
    read: HashSet<String>,
    glob: Glob<'r>,
    configuration: Configuration,
}

/// A file that is being read: its path, and the remaining lines with their numbers from 0.
type Open<'r> = (String, Enumerate<Split<'r, char>>);

impl<'r> ConfigurationReader<'r> {
    /// Reads a file, and each included file in place of the `include` line.
    fn file(&mut self, path: &str) {
        let mut open: Vec<Open> = self.open(path).into_iter().collect();
        while let Some((path, lines)) = open.last_mut() {
            if self.configuration.directories.len() >= MAX_DIRECTORIES {
                self.configuration.complete = false;
                return;
            }
            match lines
                .next()
                .map(|(number, text)| (number, Line::parse(text, self.types)))
            {
                None => {
                    open.pop();
                }
                Some((_, Line::Nothing)) => {}
                Some((
                    number,
                    Line::Directory {
                        path: named,
                        type_flags,
                    },
                )) => {
                    self.configuration.directories.push(Directory {
                        path: named.to_owned(),
                        origin: DirectoryOrigin::File {
                            path: path.clone(),
                            line: number + 1,
                        },
                        type_flags,
                    });
                }
                Some((_, Line::Include(patterns))) => {
                    let included = self.included(path, patterns);
                    open.extend(included.into_iter().rev());
                }
            }
        }
    }

    /// Opens the files that an `include` line names, in order.
    fn included(&mut self, includer: &str, patterns: &str) -> Vec<Open<'r>> {
        let beside = includer.rsplit_once('/').map_or("", |(parent, _)| parent);
        let mut files = Vec::new();
        for word in patterns.split([' ', '\t']).filter(|word| !word.is_empty()) {
            let pattern = match word.starts_with('/') {
                true => word.to_owned(),
                false => format!("{beside}/{word}"),
            };
            match self.glob.expand(&pattern) {
                Some(paths) => files.extend(paths.iter().filter_map(|path| self.open(path))),
                None => self.configuration.complete = false,
            }
        }
        files
    }

    /// Opens a file; `None` if it was read before or does not exist.
    fn open(&mut self, path: &str) -> Option<Open<'r>> {
        let file = self.root.resolve(path).ok()?;
        if file.content().is_none() || !self.read.insert(file.path()) {
            return None;
        }
        match file.text() {
            Some(text) => Some((path.to_owned(), text.split('\n').enumerate())),
            None => {
                self.configuration.unread.push(path.to_owned());
                None
            }
        }
    }
}

/// A line of a configuration file.
enum Line<'t> {
    Nothing,
    Directory {
        path: &'t str,
        type_flags: Option<u32>,
    },
    Include(&'t str),
}

impl<'t> Line<'t> {
    fn parse(text: &'t str, types: bool) -> Self {
        let text = text.split(['#', '\0']).next().unwrap_or_default();
        let text = text.trim_start_matches(is_space);
        if let Some(patterns) = after_word(text, "include") {
            return Line::Include(patterns);
        }
        // glibc ignores this directive since 2.33; it never added a directory.
        if after_word(text, "hwcap").is_some() {
            return Line::Nothing;
        }
        let (path, type_flags) = match text.split_once('=').filter(|_| types) {
            Some((path, name)) => (path, type_flags_of(name)),
            None => (text, None),
        };
        match path.trim_end_matches(is_space).trim_end_matches('/') {
            "" => Line::Nothing,
            path => Line::Directory { path, type_flags },
        }
    }
}

/// The text after a word and a space or tab.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word)?.strip_prefix([' ', '\t'])
}

/// White space according to C's `isspace`.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn type_flags_of(name: &str) -> Option<u32> {
    match name {
        "libc5" => Some(ELF_LIBC5),
        "libc6" | "glibc2" => Some(ELF_LIBC6),
        _ => None,
    }
}
