//! How the kernel's overlay file system marks what a layer removes (Linux, `Documentation/filesystems/overlayfs.rst`, "whiteouts and
//! opaque directories").

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use imgcheck_base::beneath::{self, Directory, FileKind, Links, Metadata};
use imgcheck_source::source::overlay::Attributes;

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
    pub fn of_directory(&self, directory: &Directory) -> io::Result<Mark> {
        if beneath::attribute(directory, &self.redirect)?.is_some() {
            return Err(io::Error::other(
                "the directory was moved here from a lower layer",
            ));
        }
        let value = beneath::attribute(directory, &self.opaque)?;
        Ok(match value.as_deref() {
            Some(b"y") => Mark::Opaque,
            Some(b"x") => Mark::Whiteouts,
            _ => Mark::None,
        })
    }

    /// Whether a child of a directory with this mark is a whiteout.
    pub fn is_whiteout(
        &self,
        directory: &Directory,
        child: &OsStr,
        metadata: &Metadata,
        mark: Mark,
    ) -> io::Result<bool> {
        match metadata.kind {
            FileKind::CharacterDevice(number) => Ok(number == 0),
            FileKind::File if mark == Mark::Whiteouts && metadata.size == 0 => {
                let file = beneath::file(directory, child.as_ref(), Links::Refused)?;
                Ok(beneath::attribute(&file, &self.whiteout)?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Fails if the content of the file is in a lower layer.
    pub fn check_file(&self, file: &File) -> io::Result<()> {
        if beneath::attribute(file, &self.metacopy)?.is_some() {
            return Err(io::Error::other("its content is in a lower layer"));
        }
        Ok(())
    }
}
