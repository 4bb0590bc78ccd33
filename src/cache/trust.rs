//! Refuses directories and entries that other users can write to.
//!
//! Entries have a checksum and no signature, so whoever writes one decides what is believed about a layer. A program that runs as root
//! must not trust a directory that another user owns or everybody can write to.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::process::geteuid;

/// The permission bit that lets everybody write.
const OTHERS_WRITE: u32 = 0o002;

/// A directory that belongs to this user or root, and that not everybody can write to.
#[derive(Debug)]
pub(super) struct Trusted(OwnedFd);

impl Trusted {
    /// Opens the directory.
    ///
    /// # Errors
    /// It cannot be opened, or is not trusted.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())?;
        let stat = fstat(&directory)?;
        let refuse = |problem: String| Err(io::Error::other(problem));
        if is_open_to_all(&stat) {
            return refuse("everybody can write to it, so it is not trusted".to_owned());
        }
        match stat.st_uid {
            owner if owner == 0 || owner == geteuid().as_raw() => Ok(Trusted(directory)),
            owner => refuse(format!(
                "it belongs to another user (UID {owner}), so it is not trusted"
            )),
        }
    }

    /// Opens an entry for reading. Does not follow links or wait for FIFOs.
    ///
    /// # Errors
    /// It cannot be opened, is not a regular file, or everybody can write to it.
    pub fn entry(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || is_open_to_all(&stat) {
            return Err(io::Error::other("not an entry"));
        }
        Ok(File::from(file))
    }
}

fn is_open_to_all(stat: &Stat) -> bool {
    stat.st_mode & OTHERS_WRITE != 0
}
