//! Content-addressed blobs: OCI layouts and registries describe images in the same way.

use oci_spec::image::{Descriptor, ImageConfiguration};
use serde::de::DeserializeOwned;

use super::image::LayerData;
use super::json_names;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};

/// The kind of a document; registries have separate endpoints for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    /// A manifest or an index.
    Manifest,
    /// The configuration of an image.
    Config,
}

/// A collection of blobs.
pub(super) trait Blobs {
    /// The collection, for messages.
    fn subject(&self) -> String;

    /// The name of the blob there, for messages.
    ///
    /// # Errors
    /// The digest is invalid.
    fn blob_name(&self, digest: &str) -> Result<String>;

    /// Whether the collection is known to contain the blob, without fetching it.
    fn has_blob(&self, digest: &str) -> Result<bool>;

    /// Reads a document and verifies its digest.
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
        json_names::OCI,
    )
}

/// Parses a document, and rejects ambiguous spellings of these names.
pub(super) fn parse<T: DeserializeOwned>(
    subject: &str,
    name: &str,
    bytes: &[u8],
    names: &[&str],
) -> Result<T> {
    let document = serde_json::from_slice(bytes);
    let checked = document.and_then(|parsed| json_names::check(bytes, names).map(|()| parsed));
    checked.map_err(|error| Error::damaged(subject, format!("{name} is not valid JSON: {error}")))
}

/// # Errors
/// The bytes do not have the digest.
pub(super) fn verify(subject: &str, name: &str, bytes: &[u8], expected: &str) -> Result<()> {
    let found = digest::sha256(bytes);
    if found == expected {
        return Ok(());
    }
    Err(Error::damaged(
        subject,
        format!("{name} is damaged: its digest is {found}, expected {expected}"),
    ))
}

/// The diff ids of a configuration, one for each of `layers` layers.
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
                "the configuration has {} layers, the manifest {layers}",
                diff_ids.len()
            ),
        ));
    }
    match diff_ids.iter().find(|id| digest::hexadecimal(id).is_none()) {
        Some(id) => Err(Error::damaged(
            subject,
            format!("the configuration has the diff id `{id}`, which is not a SHA-256 digest"),
        )),
        None => Ok(diff_ids.clone()),
    }
}
