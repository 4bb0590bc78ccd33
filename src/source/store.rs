//! The named parts of an image (blobs, manifests) in a directory, in a tar file, which is indexed by its headers only, or in an
//! archive that has gone by.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oci_spec::image::Descriptor;
use rustix::fs::{AtFlags, statat};
use serde::de::DeserializeOwned;

use super::LayerData;
use super::blobs::{self, Blobs, DocumentKind};
use super::members::Members;
use crate::archive::path::normalise;
use crate::archive::{ArchiveError, FileRange, Kind, RangeInput, Walk};
use crate::beneath::{self, Links};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// A directory or archive with the parts of images.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    place: Place,
    limits: Limits,
    /// Bytes of all documents that were read.
    read: AtomicU64,
}

#[derive(Debug)]
enum Place {
    Directory(OwnedFd),
    Archive {
        file: Arc<File>,
        members: Members<Range>,
    },
    Passed(Members<Part>),
}

#[derive(Debug, Clone, Copy)]
struct Range {
    offset: u64,
    length: u64,
}

/// What is left of a member of an archive that has gone by.
#[derive(Debug)]
pub(super) enum Part {
    /// All its bytes, for they may be a document.
    Kept(Arc<[u8]>),
    /// It was read as a layer of so many bytes.
    Layer(u64),
}

/// One part of a store, not yet read.
#[derive(Debug, Clone)]
pub(super) struct Blob {
    name: PathBuf,
    /// Length in bytes.
    pub length: u64,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    File { file: Arc<File>, offset: u64 },
    Kept(Arc<[u8]>),
    Passed,
}

impl Store {
    /// The parts are files below a directory. It may have been unpacked from an archive of anybody, so that a link in it leads no
    /// further than the directory.
    pub fn directory(path: &Path, limits: Limits) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if !metadata.is_dir() {
            return Err(Error::unsupported(
                path.display().to_string(),
                "not a directory",
            ));
        }
        let directory = beneath::root(path).map_err(|error| unreadable(path, error))?;
        Ok(Store::of(path.into(), Place::Directory(directory), limits))
    }

    /// The parts are members of a tar file.
    pub fn archive(path: &Path, limits: Limits) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if !metadata.is_file() {
            return Err(Error::unsupported(path.display().to_string(), "not a file"));
        }
        let file = Arc::new(File::open(path).map_err(|error| unreadable(path, error))?);
        let range = FileRange::new(Arc::clone(&file), 0, metadata.len());
        refuse_compressed(path, &range)?;
        let members = index(path, range, limits)?;
        Ok(Store::of(
            path.into(),
            Place::Archive { file, members },
            limits,
        ))
    }

    /// The parts were members of an archive that has gone by.
    pub fn passed(subject: &str, members: Members<Part>, limits: Limits) -> Self {
        Store::of(subject.into(), Place::Passed(members), limits)
    }

    fn of(path: PathBuf, place: Place, limits: Limits) -> Self {
        Store {
            path,
            place,
            limits,
            read: AtomicU64::new(0),
        }
    }

    /// Whether the parts are members of an archive.
    pub fn is_archive(&self) -> bool {
        matches!(self.place, Place::Archive { .. } | Place::Passed(_))
    }

    /// The directory or archive, for messages.
    pub fn subject(&self) -> String {
        self.path.display().to_string()
    }

    /// An error about this store.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::damaged(self.subject(), problem)
    }

    /// Whether there is a file of this name.
    pub fn contains(&self, name: &str) -> bool {
        match &self.place {
            Place::Directory(directory) => {
                let name = normalise(name.as_bytes());
                beneath::file(directory, name.as_ref(), Links::Beneath).is_ok()
            }
            Place::Archive { members, .. } => members.get(name).is_some(),
            Place::Passed(members) => members.get(name).is_some(),
        }
    }

    /// Whether there is something of this name at the top.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        match &self.place {
            Place::Directory(directory) => {
                statat(directory, prefix, AtFlags::SYMLINK_NOFOLLOW).is_ok()
            }
            Place::Archive { members, .. } => members.has_at_top(prefix),
            Place::Passed(members) => members.has_at_top(prefix),
        }
    }

    /// The part of this name. An error names it where it is missing.
    pub fn blob(&self, name: &str) -> Result<Blob> {
        self.find(name)?
            .ok_or_else(|| self.error(format!("{name} is missing; the image is not complete")))
    }

    /// Reads and parses a JSON document, in which these names have one spelling; also gives its bytes, for their digest.
    pub fn document<T: DeserializeOwned>(
        &self,
        name: &str,
        names: &[&str],
    ) -> Result<(T, Vec<u8>)> {
        let bytes = self.read(name)?;
        Ok((blobs::parse(&self.subject(), name, &bytes, names)?, bytes))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let blob = self.blob(name)?;
        let read = self.read.fetch_add(blob.length, Ordering::Relaxed);
        self.limits
            .check(Limit::DocumentBytes, blob.length)
            .and_then(|()| {
                let all = read.saturating_add(blob.length);
                self.limits.check(Limit::DocumentsBytes, all)
            })
            .map_err(|exceeded| Error::limit(format!("{}: {name}", self.subject()), exceeded))?;
        blob.read()
            .map_err(|error| self.error(format!("{name} cannot be read: {error}")))
    }

    fn find(&self, name: &str) -> Result<Option<Blob>> {
        match &self.place {
            Place::Directory(directory) => self.find_file(directory, name),
            Place::Archive { file, members } => Ok(members.get(name).map(|(name, range)| Blob {
                name: self.path.join(name),
                length: range.length,
                bytes: Bytes::File {
                    file: Arc::clone(file),
                    offset: range.offset,
                },
            })),
            Place::Passed(members) => Ok(members.get(name).map(|(name, part)| match part {
                Part::Kept(bytes) => Blob {
                    name: name.into(),
                    length: bytes.len() as u64,
                    bytes: Bytes::Kept(Arc::clone(bytes)),
                },
                Part::Layer(length) => Blob {
                    name: name.into(),
                    length: *length,
                    bytes: Bytes::Passed,
                },
            })),
        }
    }

    fn find_file(&self, directory: &OwnedFd, name: &str) -> Result<Option<Blob>> {
        // Never outside the directory, whatever the name is.
        let name = normalise(name.as_bytes());
        let path = self.path.join(&name);
        let opened = beneath::file(directory, name.as_ref(), Links::Beneath)
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                return Err(leads_out(&path, &self.path));
            }
            Err(error) => return Err(unreadable(&path, error)),
        };
        Ok(Some(Blob {
            name: path,
            length,
            bytes: Bytes::File {
                file: Arc::new(file),
                offset: 0,
            },
        }))
    }
}

/// As an OCI layout keeps them.
impl Blobs for Store {
    fn subject(&self) -> String {
        Store::subject(self)
    }

    fn blob_name(&self, digest: &str) -> Result<String> {
        digest::hexadecimal(digest)
            .map(|hex| format!("blobs/sha256/{hex}"))
            .ok_or_else(|| self.error(format!("`{digest}` is not a SHA-256 digest")))
    }

    fn has_blob(&self, digest: &str) -> Result<bool> {
        Ok(self.find(&self.blob_name(digest)?)?.is_some())
    }

    fn read_document(&self, _kind: DocumentKind, digest: &str) -> Result<Vec<u8>> {
        let name = self.blob_name(digest)?;
        let bytes = self.read(&name)?;
        blobs::verify(&self.subject(), &name, &bytes, digest)?;
        Ok(bytes)
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        let name = self.blob_name(layer.digest().as_ref())?;
        let blob = self.blob(&name)?;
        if blob.length != layer.size() {
            return Err(self.error(format!(
                "{name} is damaged: it has {} bytes, its manifest says {}",
                blob.length,
                layer.size()
            )));
        }
        Ok(blob.layer_data())
    }
}

impl Blob {
    fn read(&self) -> std::io::Result<Vec<u8>> {
        let (file, offset) = match &self.bytes {
            Bytes::File { file, offset } => (file, *offset),
            Bytes::Kept(bytes) => return Ok(bytes.to_vec()),
            Bytes::Passed => return Err(std::io::Error::other("it is a layer, not a document")),
        };
        let range = FileRange::new(Arc::clone(file), offset, self.length);
        let mut bytes = vec![0; self.length as usize];
        let length = range.read_at(0, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// As the bytes of a layer.
    pub fn layer_data(self) -> LayerData {
        match self.bytes {
            Bytes::File { file, offset } => LayerData::Range {
                file,
                name: self.name,
                offset,
                length: self.length,
            },
            Bytes::Kept(_) | Bytes::Passed => LayerData::Passed(self.name),
        }
    }
}

/// Bytes that a member of an archive takes in memory beside its names.
const MEMBER: u64 = 128;

fn index(path: &Path, range: FileRange, limits: Limits) -> Result<Members<Range>> {
    let mut walk = Walk::new(RangeInput::new(range), limits);
    let mut members = Members::default();
    let mut last = String::new();
    let mut names = 0;
    loop {
        let member = match walk.advance() {
            Ok(Some(member)) => member,
            Ok(None) if walk.has_end_marker() => return Ok(members),
            Ok(None) if last.is_empty() => return Err(not_an_archive(path)),
            Ok(None) => return Err(cut_off(path, &last)),
            Err(ArchiveError::Io(error)) => return Err(unreadable(path, error)),
            Err(ArchiveError::Limit { offset, exceeded }) => {
                return Err(Error::limit(
                    format!("{}: byte {offset}", path.display()),
                    exceeded,
                ));
            }
            Err(_) if last.is_empty() => return Err(not_an_archive(path)),
            Err(error) => {
                return Err(Error::damaged(
                    path.display().to_string(),
                    format!("{error} ({last})"),
                ));
            }
        };
        last = normalise(&member.path);
        names += MEMBER + (member.path.len() + member.link.len()) as u64;
        limits
            .check(Limit::FactsBytes, names)
            .map_err(|exceeded| Error::limit(path.display().to_string(), exceeded))?;
        match member.kind {
            Kind::File if member.sparse.is_none() => members.file(
                last.clone(),
                Range {
                    offset: member.offset,
                    length: member.stored,
                },
            ),
            _ => members.link(&member),
        }
    }
}

/// What is behind the cut could be more than the image needs, or another platform of it.
fn cut_off(path: &Path, last: &str) -> Error {
    let problem = format!("cut off: the archive has no end ({last} is the last member)");
    Error::damaged(path.display().to_string(), problem).with_help(
        "save the image again: nothing is said of an image of which a part may be missing",
    )
}

fn refuse_compressed(path: &Path, range: &FileRange) -> Result<()> {
    let mut magic = [0; MAGIC];
    range
        .read_at(0, &mut magic)
        .map_err(|error| unreadable(path, error))?;
    match compressed(&magic) {
        None => Ok(()),
        Some((name, command)) => {
            let path = path.display().to_string();
            let help =
                format!("uncompress it: {command} {path} > image.tar; then imgcheck image.tar");
            Err(Error::unsupported(path, whole_compressed(name)).with_help(help))
        }
    }
}

/// How many first bytes show how a file is compressed.
const MAGIC: usize = 6;

/// With what a file is compressed that begins like this, and the command that uncompresses it.
pub(super) fn compressed(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, ..] => Some(("gzip", "gzip -dc")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("zstd", "zstd -dc")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xz -dc")),
        [b'B', b'Z', b'h', ..] => Some(("bzip2", "bzip2 -dc")),
        _ => None,
    }
}

/// What is wrong with an archive that is compressed as a whole.
pub(super) fn whole_compressed(name: &str) -> String {
    format!("the file is compressed as a whole with {name}, so that its parts cannot be found")
}

fn not_an_archive(path: &Path) -> Error {
    no_archive(path.display().to_string())
}

/// Some bytes are no archive at all.
pub(super) fn no_archive(subject: String) -> Error {
    Error::unsupported(subject, "not an image: it is not a tar archive")
        .with_help("give a `docker save` archive, an OCI layout or a root directory")
}

fn leads_out(path: &Path, layout: &Path) -> Error {
    let layout = layout.display();
    let problem = "a link that leads out of the layout";
    Error::damaged(path.display().to_string(), problem).with_help(format!(
        "if its links are to be trusted, copy it with them resolved: cp -rL {layout} copy; then imgcheck copy"
    ))
}

pub(super) fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::io(path.display().to_string(), error).in_context("cannot be read: ")
}
