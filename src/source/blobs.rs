//! Blobs named by their digest, wherever they are kept: OCI layouts and registries describe images in the same way.

use oci_spec::image::{Descriptor, ImageConfiguration};
use serde::de::DeserializeOwned;

use super::{LayerData, spelling};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// What a document is; registries keep the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    /// A manifest or an index.
    Manifest,
    /// The configuration of an image.
    Config,
}

/// A place with blobs.
pub(super) trait Blobs {
    /// The place, for messages.
    fn subject(&self) -> String;

    /// What the blob is called there, for messages. An error if the digest is none.
    fn blob_name(&self, digest: &str) -> Result<String>;

    /// Whether the blob is there, as far as can be told without fetching it.
    fn has_blob(&self, digest: &str) -> Result<bool>;

    /// A document, which has the digest.
    fn read_document(&self, kind: DocumentKind, digest: &str) -> Result<Vec<u8>>;

    /// A layer, not yet read.
    fn layer(&self, layer: &Descriptor) -> Result<LayerData>;
}

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(
    blobs: &dyn Blobs,
    kind: DocumentKind,
    digest: &str,
) -> Result<T> {
    let bytes = blobs.read_document(kind, digest)?;
    parse(
        &blobs.subject(),
        &blobs.blob_name(digest)?,
        &bytes,
        spelling::OCI,
    )
}

/// Parses a document, in which these names have one spelling.
pub(super) fn parse<T: DeserializeOwned>(
    subject: &str,
    name: &str,
    bytes: &[u8],
    names: &[&str],
) -> Result<T> {
    let document = serde_json::from_slice(bytes);
    let checked = document.and_then(|parsed| spelling::check(bytes, names).map(|()| parsed));
    checked.map_err(|error| {
        Error::damaged(
            subject,
            format!("{name} is not the JSON it should be: {error}"),
        )
    })
}

/// An error if the bytes do not have the digest.
pub(super) fn verify(subject: &str, name: &str, bytes: &[u8], expected: &str) -> Result<()> {
    let found = digest::sha256(bytes);
    if found == expected {
        return Ok(());
    }
    Err(Error::damaged(
        subject,
        format!("{name} is damaged: its digest is {found}, it should be {expected}"),
    ))
}

/// The diff ids of a config, of which there must be one for each of `layers` layers.
pub(super) fn diff_ids(
    subject: &str,
    config: &ImageConfiguration,
    layers: usize,
    limits: &Limits,
) -> Result<Vec<String>> {
    let checked = limits.check(Limit::Layers, layers as u64);
    checked.map_err(|exceeded| Error::limit(subject, exceeded))?;
    let diff_ids = config.rootfs().diff_ids();
    if diff_ids.len() != layers {
        return Err(Error::damaged(
            subject,
            format!(
                "the config names {} layers, the manifest {layers}",
                diff_ids.len()
            ),
        ));
    }
    match diff_ids.iter().find(|id| digest::hexadecimal(id).is_none()) {
        Some(id) => Err(Error::damaged(
            subject,
            format!("the config has a diff id that is not a SHA-256 digest: `{id}`"),
        )),
        None => Ok(diff_ids.clone()),
    }
}
