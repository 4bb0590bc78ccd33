//! By owner and permissions.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::process::geteuid;
use tempfile::NamedTempFile;

/// Whether [`Trusted`] checks who can write to a directory.
pub const IS_CHECKED: bool = true;

/// A directory that belongs to this user or root, and that not everybody can write to.
#[derive(Debug)]
pub struct Trusted(OwnedFd);

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
    Mode::from_raw_mode(stat.st_mode).contains(Mode::WOTH)
}

/// Creates a directory for the user alone: whoever can write an entry decides what is believed about a layer.
///
/// # Errors
/// It cannot be created.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// A file that becomes an entry. Others can read it if the directory and the user's umask allow that.
///
/// # Errors
/// It cannot be created.
pub fn new_entry(prefix: &str, directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(directory)
}
