//! The members of an archive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sparse::Segment;

/// One member of an archive: a file, a link, a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The path as stored.
    pub path: Vec<u8>,
    /// File, directory, link or special file.
    pub kind: MemberKind,
    /// The target of a link as stored.
    pub link: Vec<u8>,
    /// Permission bits, and [`FILE_CAPABILITIES`](super::capabilities::FILE_CAPABILITIES).
    pub mode: u32,
    /// Who owns it.
    pub owner: Owner,
    /// Size in bytes of a regular file, expanded if it is sparse; 0 for other kinds.
    pub size: u64,
    /// Offset of the stored content in the archive.
    pub offset: u64,
    /// Stored bytes.
    pub stored: u64,
    /// The stored segments of a sparse file.
    pub sparse: Option<Vec<Segment>>,
}

/// User and group that a file belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl Owner {
    /// Ids as archives store them. Linux has none beyond 32 bits.
    pub fn new(uid: u64, gid: u64) -> Self {
        let id = |id: u64| u32::try_from(id).unwrap_or(u32::MAX);
        Owner {
            uid: id(uid),
            gid: id(gid),
        }
    }
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A hard link to another member.
    HardLink,
    /// A device or FIFO.
    Special,
    /// A character device with the number 0, which the kernel's overlay file system treats as a whiteout.
    WhiteoutDevice,
}

impl MemberKind {
    /// By the type in the header.
    pub(super) fn of(entry_type: u8, path: &[u8]) -> Self {
        match entry_type {
            b'1' => MemberKind::HardLink,
            b'2' => MemberKind::Symlink,
            b'3' | b'4' | b'6' => MemberKind::Special,
            b'5' | b'D' => MemberKind::Directory,
            // Before POSIX, a directory was a file whose name ends with a slash.
            0 if path.ends_with(b"/") => MemberKind::Directory,
            _ => MemberKind::File,
        }
    }
}

/// Whether members of this type have content; others have none whatever their size field says (`isHeaderOnly` of Go).
pub(super) fn has_content(entry_type: u8) -> bool {
    !matches!(entry_type, b'1'..=b'6')
}
