//! Inodes: what a file is, and where its content is.

use std::io;

use super::error::damaged;
use super::image::Squashfs;
use super::metadata::Cursor;
use crate::archive::Owner;
use imgcheck_base::limits::Limit;

/// The fragment of a file that ends with its last block.
const NO_FRAGMENT: u32 = u32::MAX;

/// A file, directory or link.
#[derive(Debug, Clone)]
pub struct Inode {
    /// Identifies it: entries with the same number are hard links.
    pub number: u32,
    /// Permission bits.
    pub mode: u32,
    /// Who owns it.
    pub owner: Owner,
    /// File, directory, link or special file, with its data.
    pub kind: InodeKind,
}

/// What an inode is.
#[derive(Debug, Clone)]
pub enum InodeKind {
    /// A directory.
    Directory(Listing),
    /// A regular file.
    File(Extent),
    /// A symbolic link with its target.
    Symlink(Vec<u8>),
    /// A device, FIFO or socket.
    Special,
}

/// Where the entries of a directory are.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Offset of the block in the directory table, position in it, and length of the entries in bytes.
    pub(super) block: u32,
    pub(super) position: u16,
    pub(super) length: u64,
}

/// Where the content of a file is.
#[derive(Debug, Clone)]
pub struct Extent {
    /// Length in bytes.
    pub size: u64,
    /// Where its first block starts.
    pub(super) start: u64,
    /// The fragment with its end, and where in it.
    pub(super) fragment: Option<(u32, u32)>,
    /// The reference of its inode, and how many bytes of it precede the lengths of its blocks.
    pub(super) inode: u64,
    pub(super) header: usize,
    /// Names of the file.
    pub links: u32,
}

impl Squashfs {
    /// The root directory.
    ///
    /// # Errors
    /// It is damaged.
    pub fn root(&self) -> io::Result<Inode> {
        self.inode(self.root)
    }

    pub(super) fn at_inode(&self, reference: u64) -> io::Result<Cursor<'_>> {
        let block = self.inode_table.saturating_add(reference >> 16);
        Cursor::new(self, block, reference as u16)
    }

    /// The inode at a reference: the offset of its block in the inode table, and its position in it.
    ///
    /// # Errors
    /// It is damaged, or a limit is exceeded.
    pub(super) fn inode(&self, reference: u64) -> io::Result<Inode> {
        let mut cursor = self.at_inode(reference)?;
        let number = cursor.u16()?;
        let mode = u32::from(cursor.u16()?) & 0o7777;
        let (uid, gid) = (cursor.u16()?, cursor.u16()?);
        cursor.u32()?;
        let inode_number = cursor.u32()?;
        let kind = match number {
            1 => {
                let block = cursor.u32()?;
                cursor.u32()?;
                let length = u64::from(cursor.u16()?);
                directory(block, cursor.u16()?, length)
            }
            8 => {
                cursor.u32()?;
                let length = u64::from(cursor.u32()?);
                let block = cursor.u32()?;
                cursor.u32()?;
                cursor.u16()?;
                directory(block, cursor.u16()?, length)
            }
            2 => {
                let start = u64::from(cursor.u32()?);
                let fragment = (cursor.u32()?, cursor.u32()?);
                let size = u64::from(cursor.u32()?);
                file(reference, 16 + 16, start, fragment, size, 1)
            }
            9 => {
                let (start, size) = (cursor.u64()?, cursor.u64()?);
                cursor.u64()?;
                let links = cursor.u32()?;
                let fragment = (cursor.u32()?, cursor.u32()?);
                file(reference, 16 + 40, start, fragment, size, links)
            }
            3 | 10 => {
                cursor.u32()?;
                let length = cursor.u32()?;
                let checked = self
                    .bounds
                    .limits
                    .check(Limit::PathBytes, u64::from(length));
                checked.map_err(io::Error::other)?;
                InodeKind::Symlink(cursor.bytes(length as usize)?)
            }
            4..=7 | 11..=14 => InodeKind::Special,
            kind => return Err(damaged(format!("an inode of the unknown type {kind}"))),
        };
        Ok(Inode {
            number: inode_number,
            mode,
            owner: Owner {
                uid: self.id(uid)?,
                gid: self.id(gid)?,
            },
            kind,
        })
    }
}

/// The length counts three bytes more than there are, for `.` and `..`.
fn directory(block: u32, position: u16, length: u64) -> InodeKind {
    InodeKind::Directory(Listing {
        block,
        position,
        length: length.saturating_sub(3),
    })
}

/// `header` is the length of the inode in front of the lengths of its blocks.
fn file(
    reference: u64,
    header: usize,
    start: u64,
    fragment: (u32, u32),
    size: u64,
    links: u32,
) -> InodeKind {
    InodeKind::File(Extent {
        size,
        start,
        fragment: (fragment.0 != NO_FRAGMENT).then_some(fragment),
        inode: reference,
        header,
        links,
    })
}

impl Listing {
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Identifies the entries: no two directories share them unless they are empty.
    pub fn place(&self) -> (u32, u16, u64) {
        (self.block, self.position, self.length)
    }
}

impl Extent {
    /// Where the file is: files with neighboring positions share blocks.
    pub fn position(&self) -> (u64, Option<(u32, u32)>) {
        (self.start, self.fragment)
    }
}
