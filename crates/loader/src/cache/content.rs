//! The content of the cache, and lookups in it.

use std::cmp::Ordering;

use thiserror::Error;

use super::compare::compare_names;
use crate::hwcaps::Hwcaps;

/// The content of `ld.so.cache`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The layout of the file.
    pub format: Format,
    /// The program that wrote it, such as `ldconfig (GNU libc) stable release version 2.36`; `None` before glibc 2.33.
    pub generator: Option<String>,
    /// The subdirectories of `glibc-hwcaps` that entries refer to, sorted; an empty name for one that cannot be read.
    pub subdirectories: Vec<String>,
    /// The libraries, in the order of the file.
    pub entries: Vec<Entry>,
}

/// The layout of `ld.so.cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// libc 5, and glibc before 2.2: magic `ld.so-1.7.0`. Current glibc still reads it.
    Old,
    /// glibc since 2.2: magic `glibc-ld.so.cache1.1`. The default since 2.32.
    New,
    /// The new layout after the old one. The default before 2.32; glibc reads only the new part.
    Compatible,
}

/// One library of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The requested name: the SONAME, else the file name.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// ABI and C library, see [`Abi::cache_flags`](crate::abi::Abi::cache_flags).
    pub flags: u32,
    /// The minimum kernel version: `0xOOMMmmpp` (system, major, minor, patch); 0 for any. Ignored here: glibc 2.36 does not read it, and
    /// every current kernel is new enough.
    pub kernel: u32,
    /// Which processors it is for.
    pub hwcap: Hwcap,
}

/// The processors that a cache entry supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hwcap {
    /// Capability bits of glibc before 2.37; 0 means every processor.
    Bits(u64),
    /// A subdirectory of `glibc-hwcaps` (since glibc 2.33).
    Subdirectory {
        /// Index into [`Cache::subdirectories`].
        index: u32,
        /// The microarchitecture level that the file requires (GNU_PROPERTY_X86_ISA_1_NEEDED): 0 for the baseline of
        /// x86-64, 3 for x86-64-v4.
        isa_level: u16,
    },
}

/// Why `ld.so.cache` is unusable.
///
/// glibc silently ignores a file with an invalid header. It checks an offset only when it uses it, and stops the search if the offset is
/// invalid. This parser rejects the whole file, like `ldconfig -p`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CacheError {
    /// The file starts with neither magic string.
    #[error("not a loader cache: no known magic at the start")]
    Magic,
    /// The file is shorter than its header or its entries.
    #[error("cut off: {entries} entries do not fit into {size} bytes")]
    CutOff {
        /// Number of entries according to the header.
        entries: u32,
        /// Size of the file, in bytes.
        size: usize,
    },
    /// The file has a different byte order, or is marked as invalid.
    #[error("not in little-endian byte order (flag {0})")]
    ByteOrder(u8),
    /// A name or path starts or ends after the end of the file.
    #[error("string at offset {offset} of entry {entry} leaves the file")]
    String {
        /// Number of the entry, from 0.
        entry: usize,
        /// Offset from the start of the string table.
        offset: u32,
    },
    /// A path is longer than Linux allows.
    #[error("string of entry {0} is longer than a path can be (4096 bytes)")]
    LongString(usize),
    /// The strings overlap and are much longer in total than the file.
    #[error("names and paths are longer than {0} bytes together")]
    Strings(usize),
    /// The extension section is damaged.
    #[error("damaged extension section: {0}")]
    Extension(&'static str),
}

impl Cache {
    /// Limit on the total length of all names and paths, in bytes: a few thousand times that of a real image.
    pub const MAX_STRINGS: usize = 64 << 20;

    /// The entry that the loader chooses for a library name, with the processor and glibc of `hwcaps` (`_dl_load_cache_lookup`,
    /// `search_cache` in `elf/dl-cache.c`). Its file may not exist.
    ///
    /// The binary search is the same as in glibc, so an unsorted cache gives the same result.
    pub fn lookup(&self, name: &str, hwcaps: &Hwcaps) -> Option<&Entry> {
        let (found, right) = self.search(name)?;
        let same = |at: usize| self.order(name, at) == Some(Ordering::Equal);
        let mut first = found;
        while first > 0 && same(first - 1) {
            first -= 1;
        }
        let mut best: Option<(&Entry, usize)> = None;
        for at in first..=right {
            if at > found && !same(at) {
                break;
            }
            let entry = &self.entries[at];
            if !hwcaps.abi().accepts(entry.flags) {
                continue;
            }
            match entry.hwcap {
                // Processor-specific entries come first.
                Hwcap::Bits(_) if best.is_some() => break,
                Hwcap::Bits(bits) => {
                    if hwcaps.accepts_bits(bits) {
                        return Some(entry);
                    }
                }
                Hwcap::Subdirectory { isa_level, .. } => {
                    let rank = self
                        .subdirectory(entry)
                        .and_then(|name| hwcaps.rank(name))
                        .filter(|_| hwcaps.accepts_isa_level(isa_level));
                    if let Some(rank) = rank
                        && best.is_none_or(|(_, other)| rank < other)
                    {
                        best = Some((entry, rank));
                    }
                }
            }
        }
        best.map(|(entry, _)| entry)
    }

    /// The subdirectory of `glibc-hwcaps` that an entry of this cache is in.
    pub fn subdirectory(&self, entry: &Entry) -> Option<&str> {
        match entry.hwcap {
            Hwcap::Subdirectory { index, .. } => {
                self.subdirectories.get(index as usize).map(String::as_str)
            }
            Hwcap::Bits(_) => None,
        }
    }

    /// The position of an entry with this name, and the last position that the search has not excluded.
    fn search(&self, name: &str) -> Option<(usize, usize)> {
        let (mut left, mut right) = (0, self.entries.len().checked_sub(1)?);
        while left <= right {
            let middle = (left + right) / 2;
            match self.order(name, middle)? {
                Ordering::Equal => return Some((middle, right)),
                // The file is in descending order.
                Ordering::Less => left = middle + 1,
                Ordering::Greater => right = middle.checked_sub(1)?,
            }
        }
        None
    }

    fn order(&self, name: &str, at: usize) -> Option<Ordering> {
        Some(compare_names(name, &self.entries.get(at)?.name))
    }
}
