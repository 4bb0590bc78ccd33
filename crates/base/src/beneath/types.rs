//! What both ways to open files have in common.

use std::io;

/// How symbolic links are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Links are an error.
    Refused,
    /// Links are followed as long as they stay below the directory, and not at all if the kernel cannot enforce that.
    Beneath,
}

/// What a directory has under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A character device with this number.
    CharacterDevice(u64),
    /// Anything else, such as a FIFO.
    Other,
}

/// Metadata of a file, a link or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// File, directory, link or special file.
    pub kind: FileKind,
    /// The permission bits, the set-user-ID bit and the like: `0o7777` at most.
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
    /// The user that owns it.
    pub uid: u32,
    /// The group that owns it.
    pub gid: u32,
    /// The file system that it is on.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Whether it has several names.
    pub is_linked: bool,
}

pub(super) fn leads_out() -> io::Error {
    io::Error::new(
        io::ErrorKind::CrossesDevices,
        "the path leads out of the directory",
    )
}

pub(super) fn not_a_file() -> io::Error {
    io::Error::other("not a regular file")
}
