//! How the kernel's overlay file system marks what a layer removes (Linux, `Documentation/filesystems/overlayfs.rst`, "whiteouts and
//! opaque directories").

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Stat, fgetxattr, fgetxattr_query};
use rustix::io::Errno;

use crate::beneath::{self, Links};
use crate::source::overlay::Attributes;

/// The names of its extended attributes.
pub(super) struct Marks {
    opaque: String,
    redirect: String,
    metacopy: String,
    whiteout: String,
}

/// How a directory is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// It hides the same directory of lower layers.
    Opaque,
    /// Whiteouts in it can be files with an attribute (since Linux 6.7).
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

    /// How the directory is marked. It is an error if it was moved here from another path of lower layers.
    pub fn of_directory(&self, directory: impl AsFd) -> io::Result<Mark> {
        if has_attribute(&directory, &self.redirect)? {
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

    /// Whether a child of a directory with this mark is a whiteout.
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
                has_attribute(
                    beneath::file(directory, name, Links::Refused)?,
                    &self.whiteout,
                )
            }
            _ => Ok(false),
        }
    }

    /// Fails if the content of the file is in a lower layer.
    pub fn check_file(&self, file: impl AsFd) -> io::Result<()> {
        if has_attribute(file, &self.metacopy)? {
            return Err(io::Error::other("its content is in a lower layer"));
        }
        Ok(())
    }
}

fn has_attribute(file: impl AsFd, attribute: &str) -> io::Result<bool> {
    match fgetxattr_query(file, attribute) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
