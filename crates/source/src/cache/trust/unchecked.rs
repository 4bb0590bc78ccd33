//! Where permissions are not those of Unix: the directory is trusted as it is. The default one is in the profile of the user, to which
//! others cannot write.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Whether [`Trusted`] checks who can write to a directory.
pub const IS_CHECKED: bool = false;

/// A directory.
#[derive(Debug)]
pub struct Trusted(PathBuf);

impl Trusted {
    /// Opens the directory.
    ///
    /// # Errors
    /// It does not exist, or access is denied.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        Ok(Trusted(path.to_owned()))
    }

    /// Opens an entry for reading, and for a new time of last use if this user may change it.
    ///
    /// # Errors
    /// It cannot be opened, or is not a regular file.
    pub fn entry(&self, name: &str) -> io::Result<File> {
        let path = self.0.join(name);
        if !path.symlink_metadata()?.is_file() {
            return Err(io::Error::other("not an entry"));
        }
        let writable = File::options().read(true).write(true).open(&path);
        writable.or_else(|_| File::open(path))
    }
}

/// Creates a directory.
///
/// # Errors
/// It cannot be created.
pub fn create(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// A file that becomes an entry.
///
/// # Errors
/// It cannot be created.
pub fn new_entry(prefix: &str, directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(prefix)
        .tempfile_in(directory)
}
