//! The files of an image (blobs, manifests) by name: in a directory, in a tar file, or of an archive that was streamed.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oci_spec::image::Descriptor;
use serde::de::DeserializeOwned;

use super::blobs::{self, Blobs, DocumentKind};
use super::image::LayerData;
use super::members::Members;
use super::request::Request;
use super::tar_index::{self, Range};
use imgcheck_archive::archive::FileRange;
use imgcheck_archive::archive::path::normalise;
use imgcheck_base::beneath::{self, Directory, Links};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};

/// A directory or archive with the files of images.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    files: Files,
    limits: Limits,
    /// Bytes of all documents that were read.
    read: AtomicU64,
}

#[derive(Debug)]
enum Files {
    Directory(Directory),
    Archive {
        file: Arc<File>,
        members: Members<Range>,
    },
    Streamed(Members<Streamed>),
}

/// Whether a symbolic link in an archive is followed.
#[derive(Debug, Clone, Copy)]
enum Follow {
    Never,
    Link,
}

/// What is left of a file of a streamed archive.
#[derive(Debug)]
pub(super) enum Streamed {
    /// Its content, which may be a document.
    Content(Arc<[u8]>),
    /// Length in bytes.
    Length(u64),
}

impl Streamed {
    /// Whether both have the same bytes; of layers that is not known.
    pub fn is_same_document(&self, other: &Self) -> bool {
        matches!((self, other), (Streamed::Content(one), Streamed::Content(other)) if one == other)
    }
}

/// A file of a store, not yet read.
#[derive(Debug, Clone)]
pub(super) struct Blob {
    /// The path of the file, which identifies it.
    pub name: PathBuf,
    /// Length in bytes.
    pub length: u64,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    File { file: Arc<File>, offset: u64 },
    Content(Arc<[u8]>),
    Gone,
}

impl Store {
    /// The files below a directory. It may come from an untrusted archive, so links never lead out of it.
    pub fn directory(path: &Path, limits: Limits) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if !metadata.is_dir() {
            return Err(Error::unsupported(
                path.display().to_string(),
                "not a directory",
            ));
        }
        let directory = beneath::root(path).map_err(|error| unreadable(path, error))?;
        Ok(Store::new(path, Files::Directory(directory), limits))
    }

    /// The members of a tar file.
    pub fn archive(path: &Path, request: &Request) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if !metadata.is_file() {
            return Err(Error::unsupported(path.display().to_string(), "not a file"));
        }
        let file = Arc::new(File::open(path).map_err(|error| unreadable(path, error))?);
        let range = FileRange::new(Arc::clone(&file), 0, metadata.len());
        let members = tar_index::index(path, range, &request.bounds)?;
        Ok(Store::new(
            path,
            Files::Archive { file, members },
            request.bounds.limits,
        ))
    }

    /// The members of an archive that was streamed.
    pub fn streamed(subject: &str, members: Members<Streamed>, limits: Limits) -> Self {
        Store::new(subject, Files::Streamed(members), limits)
    }

    fn new(path: impl Into<PathBuf>, files: Files, limits: Limits) -> Self {
        Store {
            path: path.into(),
            files,
            limits,
            read: AtomicU64::new(0),
        }
    }

    /// Whether the files are members of an archive.
    pub fn is_archive(&self) -> bool {
        !matches!(self.files, Files::Directory(_))
    }

    /// The directory or archive, for messages.
    pub fn subject(&self) -> String {
        self.path.display().to_string()
    }

    fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::damaged(self.subject(), problem)
    }

    /// Whether there is a file with this name.
    pub fn contains(&self, name: &str) -> bool {
        match &self.files {
            Files::Directory(directory) => {
                let name = normalise(name.as_bytes());
                beneath::file(directory, name.as_ref(), Links::Beneath).is_ok()
            }
            Files::Archive { members, .. } => members.contains(name),
            Files::Streamed(members) => members.contains(name),
        }
    }

    /// Whether the top directory contains this name.
    pub fn has_at_top(&self, prefix: &str) -> bool {
        match &self.files {
            Files::Directory(directory) => beneath::metadata(directory, prefix.as_ref()).is_ok(),
            Files::Archive { members, .. } => members.has_at_top(prefix),
            Files::Streamed(members) => members.has_at_top(prefix),
        }
    }

    /// The file with this name.
    ///
    /// # Errors
    /// It is missing, or its name in the archive is ambiguous.
    pub fn blob(&self, name: &str) -> Result<Blob> {
        self.find(name, Follow::Never)?
            .ok_or_else(|| self.missing(name))
    }

    /// The file with this name, or to which a link with this name leads: docker archives link equal layers.
    ///
    /// # Errors
    /// Same as [`blob`](Self::blob).
    pub fn layer_blob(&self, name: &str) -> Result<Blob> {
        self.find(name, Follow::Link)?
            .ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Error {
        self.damaged(format!("{name} is missing, so the image is incomplete"))
    }

    /// Reads and parses a JSON document, and rejects ambiguous spellings of these names. Also returns its bytes, for their digest.
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
        blob.read().map_err(|error| {
            Error::io(self.subject(), error).in_context(format!("{name} cannot be read: "))
        })
    }

    /// The bytes of a blob; its digest is verified.
    ///
    /// # Errors
    /// It is missing, damaged, or longer than `longest` bytes.
    pub fn bytes(&self, descriptor: &Descriptor, longest: u64) -> Result<Vec<u8>> {
        let digest = descriptor.digest().to_string();
        let name = self.blob_name(&digest)?;
        let blob = self.blob(&name)?;
        if blob.length > longest {
            let problem = format!("{name} has {} bytes, more than {longest}", blob.length);
            return Err(self.damaged(problem));
        }
        let bytes = blob
            .read()
            .map_err(|error| Error::io(self.subject(), error))?;
        blobs::verify(&self.subject(), &name, &bytes, &digest)?;
        Ok(bytes)
    }

    fn find(&self, name: &str, follow: Follow) -> Result<Option<Blob>> {
        match &self.files {
            Files::Directory(directory) => self.find_file(directory, name),
            Files::Archive { file, members } => {
                let member = self.member(members, name, follow)?;
                Ok(member.map(|(name, range)| Blob {
                    name: self.path.join(name),
                    length: range.length,
                    bytes: Bytes::File {
                        file: Arc::clone(file),
                        offset: range.offset,
                    },
                }))
            }
            Files::Streamed(members) => {
                let member = self.member(members, name, follow)?;
                Ok(member.map(|(name, left)| {
                    let (length, bytes) = match left {
                        Streamed::Content(bytes) => {
                            (bytes.len() as u64, Bytes::Content(Arc::clone(bytes)))
                        }
                        Streamed::Length(length) => (*length, Bytes::Gone),
                    };
                    Blob {
                        name: name.into(),
                        length,
                        bytes,
                    }
                }))
            }
        }
    }

    fn member<'m, T>(
        &self,
        members: &'m Members<T>,
        name: &str,
        follow: Follow,
    ) -> Result<Option<(String, &'m T)>> {
        let found = match follow {
            Follow::Link => members.follow(name),
            Follow::Never => members.get(name),
        };
        found.map_err(|problem| {
            let help = "save the image again with `docker save`, `podman save` or `skopeo copy`, or pack the directory with `tar -C DIR -cf image.tar --transform 's|^./||' .`";
            self.damaged(format!("{name} {problem}")).with_help(help)
        })
    }

    fn find_file(&self, directory: &Directory, name: &str) -> Result<Option<Blob>> {
        // The result is below the directory, whatever the name is.
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

/// As in an OCI layout.
impl Blobs for Store {
    fn subject(&self) -> String {
        Store::subject(self)
    }

    fn blob_name(&self, digest: &str) -> Result<String> {
        digest::hexadecimal(digest)
            .map(|hex| format!("blobs/sha256/{hex}"))
            .ok_or_else(|| self.damaged(format!("`{digest}` is not a SHA-256 digest")))
    }

    fn has_blob(&self, digest: &str) -> Result<bool> {
        let name = self.blob_name(digest)?;
        Ok(self.find(&name, Follow::Never)?.is_some())
    }

    fn read_document(&self, _: DocumentKind, digest: &str) -> Result<Vec<u8>> {
        let name = self.blob_name(digest)?;
        let bytes = self.read(&name)?;
        blobs::verify(&self.subject(), &name, &bytes, digest)?;
        Ok(bytes)
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        let name = self.blob_name(layer.digest().as_ref())?;
        let blob = self.blob(&name)?;
        if blob.length != layer.size() {
            return Err(self.damaged(format!(
                "{name} is damaged: it has {} bytes, its manifest says {}",
                blob.length,
                layer.size()
            )));
        }
        Ok(blob.layer_data())
    }
}

impl Blob {
    fn read(&self) -> io::Result<Vec<u8>> {
        let (file, offset) = match &self.bytes {
            Bytes::File { file, offset } => (file, *offset),
            Bytes::Content(bytes) => return Ok(bytes.to_vec()),
            Bytes::Gone => return Err(io::Error::other("it is a layer, not a document")),
        };
        let range = FileRange::new(Arc::clone(file), offset, self.length);
        let mut bytes = vec![0; self.length as usize];
        let length = range.read_at(0, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// The file as a layer.
    pub fn layer_data(self) -> LayerData {
        match self.bytes {
            Bytes::File { file, offset } => LayerData::Range {
                file,
                name: self.name,
                offset,
                length: self.length,
            },
            Bytes::Content(_) | Bytes::Gone => LayerData::Streamed(self.name),
        }
    }
}

fn leads_out(path: &Path, layout: &Path) -> Error {
    let layout = layout.display();
    let problem = "the link leads out of the layout";
    Error::damaged(path.display().to_string(), problem).with_help(format!(
        "if you trust the links, make a copy without links: cp -rL {layout} copy; then imgcheck copy"
    ))
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::io(path.display().to_string(), error).in_context("cannot be read: ")
}
