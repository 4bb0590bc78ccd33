//! How an overlay marks what a layer removes (Linux, `Documentation/filesystems/overlayfs.rst`, "whiteouts and opaque
//! directories").

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Stat, fgetxattr, fgetxattr_query};
use rustix::io::Errno;

use crate::beneath::{self, Links};
use crate::source::overlay::Attributes;

/// The names of the attributes.
pub(super) struct Marks {
    opaque: String,
    redirect: String,
    metacopy: String,
    whiteout: String,
}

/// What a directory is marked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// Nothing of the lower layers is seen in it.
    Opaque,
    /// Whiteouts in it may be files with an attribute (since Linux 6.7).
    Whiteouts,
}

impl Marks {
    pub fn new(attributes: Attributes) -> Self {
        Marks {
            opaque: attributes.name("opaque"),
            redirect: attributes.name("redirect"),
            metacopy: attributes.name("metacopy"),
            whiteout: attributes.name("whiteout"),
        }
    }

    /// What the directory is marked with. An error if it was moved here from a path of the lower layers.
    pub fn of_directory(&self, directory: impl AsFd) -> io::Result<Mark> {
        if has(&directory, &self.redirect)? {
            return Err(io::Error::other(
                "the directory was moved here from a lower layer",
            ));
        }
        let mut value = [0; 2];
        match fgetxattr(&directory, &*self.opaque, &mut value) {
            Ok(1) if value[0] == b'y' => Ok(Mark::Opaque),
            Ok(1) if value[0] == b'x' => Ok(Mark::Whiteouts),
            Ok(_) | Err(Errno::NODATA | Errno::NOTSUP | Errno::RANGE) => Ok(Mark::None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a child of a directory that is marked with `mark` stands for nothing.
    pub fn is_whiteout(
        &self,
        directory: impl AsFd,
        child: &[u8],
        stat: &Stat,
        mark: Mark,
    ) -> io::Result<bool> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice => Ok(stat.st_rdev == 0),
            FileType::RegularFile if mark == Mark::Whiteouts && stat.st_size == 0 => {
                let name = Path::new(OsStr::from_bytes(child));
                has(
                    beneath::file(directory, name, Links::Refused)?,
                    &self.whiteout,
                )
            }
            _ => Ok(false),
        }
    }

    /// An error if the content of the file is in a lower layer.
    pub fn check_file(&self, file: impl AsFd) -> io::Result<()> {
        if has(file, &self.metacopy)? {
            return Err(io::Error::other("its content is in a lower layer"));
        }
        Ok(())
    }
}

fn has(file: impl AsFd, attribute: &str) -> io::Result<bool> {
    match fgetxattr_query(file, attribute) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
