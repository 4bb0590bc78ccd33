//! The named parts of an image (blobs, manifests) in a directory or in a tar file, which is indexed by its headers only.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oci_spec::image::Descriptor;
use serde::de::DeserializeOwned;

use super::blobs::{self, Blobs, DOCUMENT_LIMIT, Part};
use super::{LayerData, digest};
use crate::archive::path::{display, normalise};
use crate::archive::{ArchiveError, FileRange, Kind, Limits, RangeInput, Walk};
use crate::error::{Error, Result};

/// Old archives link a layer to an equal one of another image; there is never a long chain of links.
const LINK_DEPTH: usize = 8;

/// A directory or tar file with the parts of images.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Directory,
    Archive {
        file: Arc<File>,
        members: HashMap<String, Member>,
    },
}

#[derive(Debug)]
enum Member {
    File { offset: u64, length: u64 },
    Link(String),
}

/// One part of a store, not yet read.
#[derive(Debug, Clone)]
pub(super) struct Blob {
    file: Arc<File>,
    name: PathBuf,
    offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Store {
    /// The parts are files below a directory.
    pub fn directory(path: &Path) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
        if !metadata.is_dir() {
            return Err(Error::source(path.display().to_string(), "not a directory"));
        }
        Ok(Store {
            path: path.to_owned(),
            place: Place::Directory,
        })
    }

    /// The parts are members of a tar file.
    pub fn archive(path: &Path) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
        if !metadata.is_file() {
            return Err(Error::source(path.display().to_string(), "not a file"));
        }
        let file = Arc::new(File::open(path).map_err(|error| unreadable(path, &error))?);
        let range = FileRange::new(Arc::clone(&file), 0, metadata.len());
        refuse_compressed(path, &range)?;
        let members = index(path, range)?;
        Ok(Store {
            path: path.to_owned(),
            place: Place::Archive { file, members },
        })
    }

    /// Whether the parts are in a tar file.
    pub fn is_archive(&self) -> bool {
        matches!(self.place, Place::Archive { .. })
    }

    /// The directory or file, for messages.
    pub fn subject(&self) -> String {
        self.path.display().to_string()
    }

    /// An error about this store.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::source(self.subject(), problem)
    }

    /// Whether there is a file of this name.
    pub fn contains(&self, name: &str) -> bool {
        match &self.place {
            Place::Directory => self.file_path(name).is_file(),
            Place::Archive { members, .. } => find_member(members, name).is_some(),
        }
    }

    /// Whether there is something of this name at the top.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        match &self.place {
            Place::Directory => self.path.join(prefix).exists(),
            Place::Archive { members, .. } => members
                .keys()
                .any(|name| name.split('/').next() == Some(prefix)),
        }
    }

    /// The part of this name. An error names it where it is missing.
    pub fn blob(&self, name: &str) -> Result<Blob> {
        self.find(name)?
            .ok_or_else(|| self.error(format!("{name} is missing; the image is not complete")))
    }

    /// Reads and parses a JSON document; also gives its bytes, for their digest.
    pub fn document<T: DeserializeOwned>(&self, name: &str) -> Result<(T, Vec<u8>)> {
        let bytes = self.read(name)?;
        Ok((blobs::parse(&self.subject(), name, &bytes)?, bytes))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let blob = self.blob(name)?;
        if blob.length > DOCUMENT_LIMIT {
            return Err(self.error(format!(
                "{name} has {} bytes; a JSON document of an image may have {DOCUMENT_LIMIT}",
                blob.length
            )));
        }
        blob.read()
            .map_err(|error| self.error(format!("{name} cannot be read: {error}")))
    }

    fn find(&self, name: &str) -> Result<Option<Blob>> {
        match &self.place {
            Place::Directory => self.find_file(name),
            Place::Archive { file, members } => {
                Ok(find_member(members, name).map(|(offset, length)| Blob {
                    file: Arc::clone(file),
                    name: self.path.join(name),
                    offset,
                    length,
                }))
            }
        }
    }

    fn find_file(&self, name: &str) -> Result<Option<Blob>> {
        let path = self.file_path(name);
        let Ok(metadata) = path.metadata() else {
            return Ok(None);
        };
        if !metadata.is_file() {
            return Ok(None);
        }
        let file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        Ok(Some(Blob {
            file: Arc::new(file),
            name: path,
            offset: 0,
            length: metadata.len(),
        }))
    }

    /// Never outside the directory, whatever the name is.
    fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(normalise(name.as_bytes()))
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
        Ok(self.contains(&self.blob_name(digest)?))
    }

    fn read_document(&self, _part: Part, digest: &str) -> Result<Vec<u8>> {
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
        let range = FileRange::new(Arc::clone(&self.file), self.offset, self.length);
        let mut bytes = vec![0; self.length as usize];
        let length = range.read_at(0, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// As the bytes of a layer.
    pub fn layer_data(self) -> LayerData {
        LayerData::Range {
            file: self.file,
            name: self.name,
            offset: self.offset,
            length: self.length,
        }
    }
}

/// Follows the links of an archive by name, within the archive.
fn find_member(members: &HashMap<String, Member>, name: &str) -> Option<(u64, u64)> {
    let mut name = normalise(name.as_bytes());
    for _ in 0..LINK_DEPTH {
        match members.get(&name)? {
            Member::File { offset, length } => return Some((*offset, *length)),
            Member::Link(target) => name.clone_from(target),
        }
    }
    None
}

fn index(path: &Path, range: FileRange) -> Result<HashMap<String, Member>> {
    let mut walk = Walk::new(RangeInput::new(range), Limits::default());
    let mut members = HashMap::new();
    let mut last = String::new();
    loop {
        let member = match walk.advance() {
            Ok(Some(member)) => member,
            Ok(None) => return Ok(members),
            Err(ArchiveError::Io(error)) => return Err(unreadable(path, &error)),
            Err(_) if last.is_empty() => return Err(not_an_archive(path)),
            Err(error) => {
                return Err(Error::source(
                    path.display().to_string(),
                    format!("{error} ({last})"),
                ));
            }
        };
        last = normalise(&member.path);
        let found = match member.kind {
            Kind::File if member.sparse.is_none() => Member::File {
                offset: member.offset,
                length: member.stored,
            },
            Kind::HardLink => Member::Link(normalise(&member.link)),
            Kind::Symlink => Member::Link(beside(&last, &display(&member.link))),
            _ => continue,
        };
        members.insert(last.clone(), found);
    }
}

/// The target of a symbolic link, seen from the directory of the link.
fn beside(link: &str, target: &str) -> String {
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    if target.starts_with('/') {
        normalise(target.as_bytes())
    } else {
        normalise(format!("{directory}/{target}").as_bytes())
    }
}

fn refuse_compressed(path: &Path, range: &FileRange) -> Result<()> {
    let mut magic = [0; 6];
    range
        .read_at(0, &mut magic)
        .map_err(|error| unreadable(path, &error))?;
    let (name, command) = match magic {
        [0x1f, 0x8b, ..] => ("gzip", "gzip -dc"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", "zstd -dc"),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => ("xz", "xz -dc"),
        [b'B', b'Z', b'h', ..] => ("bzip2", "bzip2 -dc"),
        _ => return Ok(()),
    };
    Err(Error::Source {
        subject: path.display().to_string(),
        problem: format!(
            "the file is compressed as a whole with {name}, so that its parts cannot be found"
        ),
        help: Some(format!(
            "uncompress it: {command} {} > image.tar; then imgcheck image.tar",
            path.display()
        )),
    })
}

fn not_an_archive(path: &Path) -> Error {
    Error::Source {
        subject: path.display().to_string(),
        problem: "not an image: it is not a tar archive".to_owned(),
        help: Some("give a `docker save` archive, an OCI layout or a root directory".to_owned()),
    }
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::source(
        path.display().to_string(),
        format!("cannot be read: {error}"),
    )
}
