//! The entries of directories.

use std::io;

use super::error::damaged;
use super::image::Squashfs;
use super::inode::{Inode, InodeKind, Listing};
use super::metadata::Cursor;
use imgcheck_base::limits::Limit;

/// Bytes of the header of up to 256 entries, and of one entry without its name.
const HEADER: u64 = 12;
const ENTRY: u64 = 8;
const MOST_ENTRIES: u32 = 256;

/// An entry of a directory.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its name, which has no `/` and is not `.` or `..`.
    pub name: Vec<u8>,
    /// The reference of its inode.
    pub(super) inode: u64,
}

impl Squashfs {
    /// The entries of a directory, sorted as they are stored: by name.
    ///
    /// # Errors
    /// The directory is damaged, or has too many entries.
    pub fn children(&self, listing: &Listing) -> io::Result<Vec<Child>> {
        let mut children = Vec::new();
        if listing.length == 0 {
            return Ok(children);
        }
        let block = self
            .directory_table
            .saturating_add(u64::from(listing.block));
        let mut cursor = Cursor::new(self, block, listing.position)?;
        let mut left = listing.length;
        while left > 0 {
            left = less(left, HEADER)?;
            let (count, block) = (cursor.u32()?.saturating_add(1), cursor.u32()?);
            cursor.u32()?;
            if count > MOST_ENTRIES {
                return Err(damaged("a directory has an invalid header"));
            }
            for _ in 0..count {
                let position = cursor.u16()?;
                cursor.u32()?;
                let length = u64::from(cursor.u16()?) + 1;
                left = less(left, ENTRY + length)?;
                let name = cursor.bytes(length as usize)?;
                check_name(&name)?;
                children.push(Child {
                    name,
                    inode: u64::from(block) << 16 | u64::from(position),
                });
                let checked = self
                    .bounds
                    .limits
                    .check(Limit::Entries, children.len() as u64);
                checked.map_err(io::Error::other)?;
            }
        }
        Ok(children)
    }

    /// The inode of an entry.
    ///
    /// # Errors
    /// It is damaged.
    pub fn child(&self, child: &Child) -> io::Result<Inode> {
        self.inode(child.inode)
    }

    /// The inode with this path from the root, without following links. `None` if it does not exist.
    ///
    /// # Errors
    /// A directory is damaged.
    pub fn find(&self, path: &str) -> io::Result<Option<Inode>> {
        let mut inode = self.root()?;
        for name in path.split('/') {
            let InodeKind::Directory(listing) = &inode.kind else {
                return Ok(None);
            };
            let children = self.children(listing)?;
            match children.iter().find(|child| child.name == name.as_bytes()) {
                Some(child) => inode = self.child(child)?,
                None => return Ok(None),
            }
        }
        Ok(Some(inode))
    }
}

fn less(left: u64, bytes: u64) -> io::Result<u64> {
    let less = left.checked_sub(bytes);
    less.ok_or_else(|| damaged("a directory ends too early"))
}

fn check_name(name: &[u8]) -> io::Result<()> {
    match name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0) {
        true => Err(damaged("a directory has an invalid name")),
        false => Ok(()),
    }
}
