//! Manifests and indexes, and the descriptors in them.

use oci_spec::image::{Descriptor, MediaType};
use serde::Deserialize;

use crate::source::blobs::{self, Blobs, DocumentKind};
use crate::source::names;
use crate::source::platform::Platform;
use imgcheck_base::error::{Error, Result};

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

/// BuildKit stores provenance and SBOM of each image as a manifest of the platform `unknown/unknown`. Annotations say nothing: an
/// engine starts an image that is annotated as an attestation.
pub(super) fn is_attestation(descriptor: &Descriptor) -> bool {
    let platform = descriptor.platform().as_ref();
    platform.is_some_and(|platform| Platform::of_descriptor(platform).is_unknown())
}

/// The digest of the image that such a manifest is about, as BuildKit annotates it.
pub(super) fn attested_digest(descriptor: &Descriptor) -> Option<&str> {
    let annotations = descriptor.annotations().as_ref()?;
    let is_attestation = annotations.get(REFERENCE_TYPE)? == "attestation-manifest";
    let digest = annotations.get(REFERENCE_DIGEST).map(String::as_str);
    digest.filter(|_| is_attestation)
}

const REFERENCE_TYPE: &str = "vnd.docker.reference.type";
const REFERENCE_DIGEST: &str = "vnd.docker.reference.digest";
pub(super) const CONTAINERD_NAME: &str = "io.containerd.image.name";
const REF_NAME: &str = "org.opencontainers.image.ref.name";

pub(super) fn recorded_name(descriptor: &Descriptor) -> Option<String> {
    let annotations = descriptor.annotations().as_ref()?;
    annotations
        .get(CONTAINERD_NAME)
        .or_else(|| annotations.get(REF_NAME))
        .cloned()
}

/// A complete name for other engines that is not the one for containerd, which is `name`. Usually theirs is only the tag.
pub(super) fn other_name(descriptor: &Descriptor, name: &str) -> Option<String> {
    let other = descriptor.annotations().as_ref()?.get(REF_NAME)?;
    let is_complete = other.contains(['/', ':']) && !other.starts_with('@');
    (is_complete && !names::same(name, other) && !name.ends_with(other)).then(|| other.clone())
}

fn is_image_config(media_type: &MediaType) -> bool {
    *media_type == MediaType::ImageConfig
        || media_type.to_string() == "application/vnd.docker.container.image.v1+json"
}

pub(super) fn is_foreign(media_type: &MediaType) -> bool {
    let text = media_type.to_string();
    text.contains("nondistributable") || text.contains("foreign")
}
