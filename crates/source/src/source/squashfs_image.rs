//! A SquashFS image as the only layer of an image, and the small files that describe how it is started.

use std::io;
use std::path::Path;
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;

use super::image::{Annotations, Image, LayerBlob, LayerData, SourceKind};
use super::request::Request;
use imgcheck_archive::archive::FileRange;
use imgcheck_archive::squashfs::{InodeKind, Squashfs};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};

/// An open image.
pub(super) struct SquashfsImage {
    subject: String,
    image: Squashfs,
    limits: Limits,
}

impl SquashfsImage {
    /// # Errors
    /// It is damaged, truncated, or of an unsupported kind.
    pub fn open(subject: String, bytes: FileRange, request: &Request) -> Result<Self> {
        let image = Squashfs::open(bytes, request.bounds.clone());
        Ok(SquashfsImage {
            image: image.map_err(|error| failed(&subject, error))?,
            subject,
            limits: request.bounds.limits,
        })
    }

    /// The text of a file; `None` if there is no regular file with this path.
    ///
    /// # Errors
    /// The image is damaged, or the file is longer than a document may be.
    pub fn text(&self, path: &str) -> Result<Option<String>> {
        let name = format!("{}: /{path}", self.subject);
        let read = || -> io::Result<Option<Vec<u8>>> {
            match self.image.find(path)?.map(|inode| inode.kind) {
                Some(InodeKind::File(extent)) => {
                    let checked = self.limits.check(Limit::DocumentBytes, extent.size);
                    checked.map_err(io::Error::other)?;
                    self.image.file(&extent)?.whole().map(Some)
                }
                _ => Ok(None),
            }
        };
        let bytes = read().map_err(|error| failed(&name, error))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The names of the regular files in a directory, sorted.
    ///
    /// # Errors
    /// The image is damaged.
    pub fn files(&self, directory: &str) -> Result<Vec<String>> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            if let Some(InodeKind::Directory(listing)) =
                self.image.find(directory)?.map(|inode| inode.kind)
            {
                for child in self.image.children(&listing)? {
                    if matches!(self.image.child(&child)?.kind, InodeKind::File(_)) {
                        names.push(String::from_utf8_lossy(&child.name).into_owned());
                    }
                }
            }
            names.sort();
            Ok(names)
        };
        read().map_err(|error| failed(&format!("{}: /{directory}", self.subject), error))
    }
}

/// The image, with the configuration that its files describe.
pub(super) fn described(
    image: SquashfsImage,
    path: &Path,
    kind: SourceKind,
    configuration: Option<ImageConfiguration>,
) -> Image {
    let document = configuration
        .as_ref()
        .and_then(|it| serde_json::to_vec(it).ok());
    Image {
        reference: None,
        kind,
        access: None,
        platform: String::new(),
        digest: None,
        config_digest: document.map(|bytes| digest::sha256(&bytes)),
        config: Arc::new(configuration.unwrap_or_default()),
        layers: vec![blob(image, path)],
        attestations: Vec::new(),
    }
}

fn blob(image: SquashfsImage, path: &Path) -> LayerBlob {
    LayerBlob {
        diff_id: String::new(),
        digest: None,
        annotations: Annotations::new(),
        size: image.image.length(),
        data: LayerData::Squashfs(Arc::new(image.image), path.to_owned()),
    }
}

pub(super) fn failed(subject: &str, error: io::Error) -> Error {
    match error.downcast::<LimitExceeded>() {
        Ok(exceeded) => Error::limit(subject, exceeded),
        Err(error) => Error::io(subject, error),
    }
}
