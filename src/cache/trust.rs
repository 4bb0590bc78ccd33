//! Whose word is taken: what others can write decides nothing.
//!
//! Entries have a checksum and no signature, so that whoever writes one decides what is believed of a layer. A program that runs
//! as root must not take that from a directory which another user owns or everybody may write to.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::process::geteuid;

/// The bit of a mode that lets everybody write.
const OTHERS_WRITE: u32 = 0o002;

/// A directory of entries, if only its user, the administrator and those whom they let in can write to it.
#[derive(Debug)]
pub(super) struct Trusted(OwnedFd);

impl Trusted {
    /// Opens the directory.
    ///
    /// # Errors
    /// Those of the system; and where others decide what is in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())?;
        let stat = fstat(&directory)?;
        let refuse = |problem: String| Err(io::Error::other(problem));
        if is_open_to_all(&stat) {
            return refuse("everybody may write to it, so it is not believed".to_owned());
        }
        match stat.st_uid {
            owner if owner == 0 || owner == geteuid().as_raw() => Ok(Trusted(directory)),
            owner => refuse(format!(
                "it belongs to another user (number {owner}), so it is not believed"
            )),
        }
    }

    /// Opens an entry to read it. A link is not followed, a fifo not waited for.
    ///
    /// # Errors
    /// Those of the system; and where it is no file, or everybody may write to it.
    pub fn entry(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || is_open_to_all(&stat) {
            return Err(io::Error::other("it is no entry"));
        }
        Ok(File::from(file))
    }
}

fn is_open_to_all(stat: &Stat) -> bool {
    stat.st_mode & OTHERS_WRITE != 0
}
