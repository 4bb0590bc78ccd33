//! The facts of one layer: all that any rule may need.
//!
//! They are a pure function of the bytes of the layer, the [`Depth`](imgcheck_elf::Depth) and the
//! file patterns: equal layers have equal facts, however they are read and on however many threads, and their
//! serialized bytes are equal too.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_archive::archive::Owner;
use imgcheck_elf::{ElfFacts, Refusal};
use imgcheck_python::ModuleFacts;

/// The facts of one layer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerFacts {
    /// The entries in the order of the archive. A path may occur twice; then the later one counts.
    pub entries: Vec<Entry>,
}

/// Bytes of memory of one node of the tree that layers are merged into.
pub const NODE: u64 = 320;

impl LayerFacts {
    /// Bytes of memory that all entries take, with the directories that only their paths imply.
    pub fn memory(&self) -> u64 {
        let before = std::iter::once(None).chain(self.entries.iter().map(Some));
        let each = before.zip(&self.entries);
        each.map(|(before, entry)| entry.memory_after(before)).sum()
    }

    /// Bytes of the files that were captured whole.
    pub fn captured_bytes(&self) -> u64 {
        let captured = |entry: &Entry| match &entry.kind {
            EntryKind::File(Content::Text(text)) => text.len(),
            EntryKind::File(Content::Bytes(bytes)) => bytes.len(),
            _ => 0,
        };
        self.entries
            .iter()
            .map(|entry| captured(entry) as u64)
            .sum()
    }
}

impl Entry {
    /// Bytes of memory that it takes after another entry, with the directories that only its path implies: a path of 16 KiB can imply
    /// thousands.
    pub fn memory_after(&self, before: Option<&Entry>) -> u64 {
        let before = before.map_or("", |entry| &entry.path);
        let directory = self.path.rfind('/').map_or("", |end| &self.path[..=end]);
        if before.starts_with(directory) {
            return self.memory();
        }
        let common = before
            .bytes()
            .zip(self.path.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        let rest = &self.path.as_bytes()[common..];
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        let implied = memchr::memchr_iter(b'/', rest).count() as u64;
        self.memory() + implied * NODE
    }

    /// Bytes of memory, with what was read of the file.
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
    /// Bytes of memory, without texts, which are counted by [`LayerFacts::captured_bytes`].
    pub fn memory(&self) -> u64 {
        match self {
            Content::Elf(facts) => facts.memory(),
            Content::Module(facts) => facts.memory(),
            Content::BrokenElf { problem, .. } => problem.len() as u64,
            Content::Unread | Content::Text(_) | Content::Bytes(_) => 0,
        }
    }
}

/// One entry of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Path from the root without leading or trailing `/`, and without empty and `.` components: `usr/lib/libc.so.6`. Bytes that are not
    /// UTF-8 are written as `\xNN`, and a backslash that would look like one as `\x5c`.
    pub path: String,
    /// What the entry is.
    pub kind: EntryKind,
    /// Size of a file in bytes (the expanded size of a sparse file); 0 for other kinds.
    pub size: u64,
    /// Permission bits. Bit 16 is set if a program gets capabilities from the file.
    pub mode: u32,
    /// Who owns it.
    #[serde(default)]
    pub owner: Owner,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File(Content),
    /// A symbolic link with its target as stored.
    Symlink(String),
    /// A hard link to a path (normalized as [`Entry::path`]) in this layer or a lower one.
    HardLink(String),
    /// A device, FIFO or socket.
    Special,
    /// `.wh.NAME`: removes the path (the entry's `path` is the removed one) from lower layers.
    Whiteout,
    /// `.wh..wh..opq`: hides everything that lower layers have in the directory (the entry's `path` is the directory).
    Opaque,
    /// A character device with the number 0, which the kernel's overlay file system treats as a whiteout.
    WhiteoutDevice,
}

impl EntryKind {
    /// Whether it is a regular file; a hard link to one is not.
    pub fn is_file(&self) -> bool {
        matches!(self, EntryKind::File(_))
    }
}

/// What was captured of a regular file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Content {
    /// Nothing: not needed by any rule.
    Unread,
    /// The whole file as text; invalid UTF-8 is replaced.
    Text(String),
    /// The whole file as bytes, such as `ld.so.cache`.
    Bytes(Vec<u8>),
    /// A Python source that a program of the image imports.
    Module(Arc<ModuleFacts>),
    /// An ELF file.
    Elf(Box<ElfFacts>),
    /// A file that starts like an ELF file but cannot be parsed.
    BrokenElf {
        /// Why.
        problem: String,
        /// Why glibc's loader refuses it; `None` if it does not, though it may crash.
        refusal: Option<Refusal>,
    },
}
