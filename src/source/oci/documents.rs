//! Manifests and indexes, and the descriptors in them.

use oci_spec::image::{Descriptor, MediaType};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::source::blobs::{self, Blobs, DocumentKind};
use crate::source::platform::Platform;

/// An index or a manifest. Its members decide which of them it is, as in registries.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

/// The content of a document.
#[derive(Debug)]
pub(super) enum Content {
    Index(Vec<Descriptor>),
    Manifest(Box<Manifest>),
    /// Not an image, but an artifact of this media type.
    Artifact(String),
}

/// A manifest of one image and one platform.
#[derive(Debug)]
pub(super) struct Manifest {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// Reads an index or a manifest.
pub(super) fn read(blobs: &dyn Blobs, descriptor: &Descriptor) -> Result<Content> {
    match blobs::read(blobs, DocumentKind::Manifest, descriptor.digest().as_ref())? {
        Document {
            manifests: Some(list),
            config: None,
            layers: None,
        } => Ok(Content::Index(list)),
        Document {
            manifests: None,
            config: Some(config),
            layers: Some(layers),
        } => Ok(if is_image_config(config.media_type()) {
            Content::Manifest(Box::new(Manifest { config, layers }))
        } else {
            Content::Artifact(config.media_type().to_string())
        }),
        _ => {
            let name = blobs.blob_name(descriptor.digest().as_ref())?;
            Err(error(
                blobs,
                format!("{name} is neither an image manifest nor an image index"),
            ))
        }
    }
}

pub(super) fn error(blobs: &dyn Blobs, problem: impl Into<String>) -> Error {
    Error::damaged(blobs.subject(), problem)
}

/// Whether the descriptor is of a manifest and names its platform, so that the manifest need not be fetched to select it.
pub(super) fn is_complete(descriptor: &Descriptor) -> bool {
    let media_type = descriptor.media_type();
    let manifest = *media_type == MediaType::ImageManifest
        || media_type.to_string() == "application/vnd.docker.distribution.manifest.v2+json";
    manifest && descriptor.platform().is_some()
}

/// Whether a descriptor names a real platform.
pub(super) fn names_a_platform(descriptor: &Descriptor) -> bool {
    let platform = descriptor.platform().as_ref();
    platform.is_some_and(|platform| !Platform::of_descriptor(platform).is_unknown())
}

/// BuildKit stores provenance and SBOM of each image as a manifest of the platform `unknown/unknown`. A manifest with a real
/// platform is an image, whatever its annotations say, since Docker would start it.
pub(super) fn is_attestation(descriptor: &Descriptor) -> bool {
    match descriptor.platform() {
        Some(platform) => Platform::of_descriptor(platform).is_unknown(),
        None => descriptor
            .annotations()
            .as_ref()
            .is_some_and(|it| it.contains_key("vnd.docker.reference.type")),
    }
}

pub(super) fn recorded_name(descriptor: &Descriptor) -> Option<String> {
    let annotations = descriptor.annotations().as_ref()?;
    annotations
        .get("io.containerd.image.name")
        .or_else(|| annotations.get("org.opencontainers.image.ref.name"))
        .cloned()
}

fn is_image_config(media_type: &MediaType) -> bool {
    *media_type == MediaType::ImageConfig
        || media_type.to_string() == "application/vnd.docker.container.image.v1+json"
}

pub(super) fn is_foreign(media_type: &MediaType) -> bool {
    let text = media_type.to_string();
    text.contains("nondistributable") || text.contains("foreign")
}
