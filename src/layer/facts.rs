//! What is known of one layer: everything that any rule may ever need from it.
//!
//! A layer never changes, so its facts are a pure function of its bytes, the [`Depth`](crate::elf::Depth) and the
//! [`FilePatterns`](super::FilePatterns); they serialise, so that they can be kept.

use serde::{Deserialize, Serialize};

use crate::elf::{ElfFacts, Refusal};

/// The facts of one layer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerFacts {
    /// The entries in the order of the archive. A path may occur twice: the later one wins.
    pub entries: Vec<Entry>,
}

/// Bytes of a directory, or of another node, of the tree that layers are merged into.
pub const NODE: u64 = 320;

impl LayerFacts {
    /// Bytes that all entries take in memory, with the directories that only their paths imply.
    pub fn memory(&self) -> u64 {
        let before = std::iter::once(None).chain(self.entries.iter().map(Some));
        let each = before.zip(&self.entries);
        each.map(|(before, entry)| entry.memory_after(before)).sum()
    }

    /// Bytes of the files that are kept whole.
    pub fn kept_bytes(&self) -> u64 {
        let kept = |entry: &Entry| match &entry.kind {
            EntryKind::File(Content::Text(text)) => text.len(),
            EntryKind::File(Content::Bytes(bytes)) => bytes.len(),
            _ => 0,
        };
        self.entries.iter().map(|entry| kept(entry) as u64).sum()
    }
}

impl Entry {
    /// Bytes that it takes in memory behind another entry, with the directories that neither that nor its own directories have:
    /// a path of 16 KiB can imply thousands.
    pub(super) fn memory_after(&self, before: Option<&Entry>) -> u64 {
        let before = before.map_or("", |entry| &entry.path).bytes();
        let common = before
            .zip(self.path.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        let rest = &self.path.as_bytes()[common..];
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        let implied = memchr::memchr_iter(b'/', rest).count() as u64;
        self.memory() + implied * NODE
    }

    /// Bytes that it takes in memory, with what was read of its file.
    fn memory(&self) -> u64 {
        let link = match &self.kind {
            EntryKind::Symlink(target) | EntryKind::HardLink(target) => target.len(),
            _ => 0,
        };
        let content = match &self.kind {
            EntryKind::File(content) => content.memory(),
            _ => 0,
        };
        (size_of::<Entry>() + self.path.len() + link) as u64 + content
    }
}

impl Content {
    /// Bytes that it takes in memory. Texts count for themselves ([`LayerFacts::kept_bytes`]).
    pub fn memory(&self) -> u64 {
        match self {
            Content::Elf(facts) => facts.memory(),
            Content::BrokenElf { problem, .. } => problem.len() as u64,
            Content::Unread | Content::Text(_) | Content::Bytes(_) => 0,
        }
    }
}

/// One entry of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Path from the root without a leading `/` or `./`, without empty, `.` or trailing components: `usr/lib/libc.so.6`.
    /// Bytes that are not UTF-8 are written as `\xNN`.
    pub path: String,
    /// What the entry is.
    pub kind: EntryKind,
    /// Bytes of content of a file (the expanded size of a sparse one); 0 otherwise.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File(Content),
    /// A symbolic link with its target as written.
    Symlink(String),
    /// A hard link to the path (normalised as [`Entry::path`]), in this layer or a lower one.
    HardLink(String),
    /// A device, fifo or socket: known to be there, never opened.
    Special,
    /// `.wh.NAME`: removes the path (the entry's `path` is the removed one) from lower layers.
    Whiteout,
    /// `.wh..wh..opq`: hides all that lower layers have in the directory (the entry's `path` is the directory).
    Opaque,
    /// A character device of the number 0, which the kernel's overlay takes for a whiteout.
    WhiteoutDevice,
}

/// What was read of a regular file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Content {
    /// Nothing: no rule needs it.
    Unread,
    /// The text of a file whose path is among the wanted ones (lossy UTF-8).
    Text(String),
    /// Bytes of a wanted binary file, such as `ld.so.cache`.
    Bytes(Vec<u8>),
    /// An ELF file.
    Elf(Box<ElfFacts>),
    /// Starts as an ELF file but cannot be understood.
    BrokenElf {
        /// Why.
        problem: String,
        /// Why glibc's loader refuses it; `None` if it does not, though it may well crash.
        refusal: Option<Refusal>,
    },
}
