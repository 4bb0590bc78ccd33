//! What is built into a loader of glibc: its directories, the path of its cache and that of the list of preloaded libraries.
//!
//! `SYSTEM_DIRS` (elf/dl-load.c), `LD_SO_CACHE` (sysdeps/generic/dl-cache.h) and `/etc/ld.so.preload` (elf/rtld.c) depend on the prefix
//! that glibc is configured with.

use super::hwcaps::GlibcVersion;
use imgcheck_elf::ElfFacts;

/// What the bytes of a loader say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuiltIn {
    /// The default directories, in order, without slashes at their ends.
    pub directories: Vec<String>,
    /// The path of the cache.
    pub cache: String,
    /// The path of the list of preloaded libraries.
    pub preload: String,
    /// The release, if the loader contains it.
    pub release: Option<GlibcVersion>,
}

/// Most default directories; real loaders have one to four.
const MAX_DIRECTORIES: usize = 16;

impl BuiltIn {
    /// `None` if the file is not a loader of glibc, or its paths cannot be read.
    pub fn of(loader: &ElfFacts) -> Option<Self> {
        let identity = loader.identity.as_ref()?;
        if identity.library != "glibc-loader" {
            return None;
        }
        let reading = |fact: &str| {
            let mut readings = identity.readings.iter();
            readings.find(|it| it.fact == fact).map(|it| &*it.value)
        };
        let directories = reading("system-directories")?.split(' ');
        let directories = directories.map(|it| it.trim_end_matches('/').to_owned());
        Some(BuiltIn {
            directories: directories.take(MAX_DIRECTORIES).collect(),
            cache: reading("cache-path")?.to_owned(),
            preload: reading("preload-path")?.to_owned(),
            release: reading("version").and_then(GlibcVersion::parse),
        })
    }

    /// The value of `$LIB`: the first directory below the prefix.
    pub fn lib(&self) -> &str {
        let first = self.directories.first().map_or("", String::as_str);
        first.rfind("/lib").map_or("lib", |at| &first[at + 1..])
    }
}
