//! OCI image layouts (OCI image specification, "Image Layout"), in a directory or in a tar file.

use oci_spec::image::{Descriptor, ImageConfiguration, MediaType};
use serde::Deserialize;

use super::platform::{Candidate, Platform, select};
use super::store::Store;
use super::{Annotations, Image, LayerBlob, LayerData, SourceKind, Wanted};
use crate::error::{Error, Result};

/// Indexes may point to indexes; nobody needs more than two levels.
const INDEX_DEPTH: usize = 4;

/// Manifests that one layout may list, through all its indexes.
const MANIFEST_LIMIT: usize = 2000;

/// An index or a manifest: which of them, its members say, as registries find out too.
#[derive(Debug, Deserialize)]
struct Document {
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

/// A manifest of one image and one platform.
#[derive(Debug)]
struct Manifest {
    descriptor: Descriptor,
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// Whether the store is an OCI layout.
pub(super) fn is(store: &Store) -> bool {
    store.contains("oci-layout") && store.contains("index.json")
}

/// The wanted images of an OCI layout.
pub(super) fn open(store: &Store, wanted: &Wanted) -> Result<Vec<Image>> {
    let kind = if store.is_archive() {
        SourceKind::OciArchive
    } else {
        SourceKind::Oci
    };
    open_as(store, wanted, kind)
}

/// The same, for an archive that is also something else.
pub(super) fn open_as(store: &Store, wanted: &Wanted, kind: SourceKind) -> Result<Vec<Image>> {
    for name in ["oci-layout", "index.json"] {
        if !store.contains(name) {
            return Err(store.error(format!("not an OCI layout: it has no {name}")));
        }
    }
    let (index, _): (Document, _) = store.document("index.json")?;
    open_listed(store, index.manifests.unwrap_or_default(), wanted, kind)
}

/// The wanted ones of these manifests and of what these indexes list.
pub(super) fn open_listed(
    store: &Store,
    listed: Vec<Descriptor>,
    wanted: &Wanted,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    let mut found = Found::default();
    found.descend(store, listed, None, 0)?;
    let candidates = found.candidates(store)?;
    select(store, candidates, wanted)?
        .into_iter()
        .map(|candidate| image(store, candidate, kind))
        .collect()
}

/// What the indexes of a layout lead to.
#[derive(Default)]
struct Found {
    seen: usize,
    manifests: Vec<(Option<String>, Manifest)>,
    /// Listed, but not stored here: `docker save` keeps the index of a multi-platform image with only one platform.
    missing: Option<String>,
    /// Stored, but something else than an image, by its media type.
    artifact: Option<String>,
}

impl Found {
    fn descend(
        &mut self,
        store: &Store,
        list: Vec<Descriptor>,
        name: Option<&String>,
        depth: usize,
    ) -> Result<()> {
        if depth > INDEX_DEPTH {
            return Err(store.error(format!("indexes are nested more than {INDEX_DEPTH} deep")));
        }
        for descriptor in list
            .into_iter()
            .filter(|descriptor| !is_attestation(descriptor))
        {
            self.seen += 1;
            if self.seen > MANIFEST_LIMIT {
                return Err(store.error(format!("more than {MANIFEST_LIMIT} manifests are listed")));
            }
            let reference = recorded_name(&descriptor).or_else(|| name.cloned());
            self.follow(store, descriptor, reference, depth)?;
        }
        Ok(())
    }

    fn follow(
        &mut self,
        store: &Store,
        descriptor: Descriptor,
        reference: Option<String>,
        depth: usize,
    ) -> Result<()> {
        let digest = descriptor.digest().to_string();
        let name = store.blob_name(&digest)?;
        if !store.contains(&name) {
            self.missing.get_or_insert(name);
            return Ok(());
        }
        let document: Document = store.verified(&digest)?;
        match document {
            Document {
                manifests: Some(list),
                config: None,
                layers: None,
            } => self.descend(store, list, reference.as_ref(), depth + 1),
            Document {
                manifests: None,
                config: Some(config),
                layers: Some(layers),
            } => {
                if is_image_config(config.media_type()) {
                    self.manifests.push((
                        reference,
                        Manifest {
                            descriptor,
                            config,
                            layers,
                        },
                    ));
                } else {
                    self.artifact.get_or_insert(config.media_type().to_string());
                }
                Ok(())
            }
            _ => Err(store.error(format!(
                "{name} is neither an image manifest nor an image index"
            ))),
        }
    }

    fn candidates(self, store: &Store) -> Result<Vec<Candidate<Manifest>>> {
        match (&self.missing, &self.artifact) {
            _ if !self.manifests.is_empty() => {}
            (Some(name), _) => {
                return Err(store.error(format!("{name} is missing; the image is not complete")));
            }
            (None, Some(kind)) => {
                return Err(store.error(format!("holds no image, only an artifact ({kind})")));
            }
            (None, None) => {}
        }
        let mut candidates = Vec::with_capacity(self.manifests.len());
        for (reference, manifest) in self.manifests {
            let platform = match manifest.descriptor.platform() {
                Some(platform) => Platform::of_descriptor(platform),
                None => Platform::of_config(&config(store, &manifest)?),
            };
            if !platform.is_unknown() {
                candidates.push(Candidate {
                    reference,
                    platform,
                    item: manifest,
                });
            }
        }
        Ok(candidates)
    }
}

/// BuildKit puts provenance and SBOM beside each image, as a manifest of the platform `unknown/unknown`.
fn is_attestation(descriptor: &Descriptor) -> bool {
    let annotated = |annotations: &std::collections::HashMap<String, String>| {
        annotations.contains_key("vnd.docker.reference.type")
    };
    descriptor.annotations().as_ref().is_some_and(annotated)
        || descriptor
            .platform()
            .as_ref()
            .is_some_and(|platform| Platform::of_descriptor(platform).is_unknown())
}

fn recorded_name(descriptor: &Descriptor) -> Option<String> {
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

fn config(store: &Store, manifest: &Manifest) -> Result<ImageConfiguration> {
    store.verified(manifest.config.digest().as_ref())
}

fn image(store: &Store, candidate: Candidate<Manifest>, kind: SourceKind) -> Result<Image> {
    let manifest = candidate.item;
    let config = config(store, &manifest)?;
    let diff_ids = store.diff_ids(&config, manifest.layers.len())?;
    let layers = manifest
        .layers
        .iter()
        .zip(diff_ids)
        .map(|(layer, diff_id)| blob(store, layer, diff_id));
    Ok(Image {
        reference: candidate.reference.map(with_repository),
        kind,
        way: None,
        platform: candidate.platform.to_string(),
        digest: Some(manifest.descriptor.digest().to_string()),
        config_digest: Some(manifest.config.digest().to_string()),
        layers: layers.collect::<Result<_>>()?,
        config,
    })
}

fn blob(store: &Store, layer: &Descriptor, diff_id: String) -> Result<LayerBlob> {
    let digest = layer.digest().to_string();
    let name = store.blob_name(&digest)?;
    if store.has_only_documents() {
        return Ok(LayerBlob {
            data: LayerData::Held(diff_id.clone()),
            diff_id,
            digest: Some(digest),
            annotations: Annotations::new(),
            size: layer.size(),
        });
    }
    if !store.contains(&name) && is_foreign(layer.media_type()) {
        return Err(Error::Source {
            subject: store.subject(),
            problem: format!(
                "layer {digest} is kept elsewhere (a non-distributable layer), so it cannot be read here"
            ),
            help: None,
        });
    }
    let blob = store.blob(&name)?;
    if blob.length != layer.size() {
        return Err(store.error(format!(
            "{name} is damaged: it has {} bytes, its manifest says {}",
            blob.length,
            layer.size()
        )));
    }
    Ok(LayerBlob {
        diff_id,
        digest: Some(digest),
        annotations: layer.annotations().clone().unwrap_or_default(),
        size: blob.length,
        data: blob.layer_data(),
    })
}

fn is_foreign(media_type: &MediaType) -> bool {
    let text = media_type.to_string();
    text.contains("nondistributable") || text.contains("foreign")
}

/// `org.opencontainers.image.ref.name` is often only a tag (skopeo's `oci:DIR:TAG`). Of which image is not known, but a tag must
/// not be read as the name of a repository.
fn with_repository(name: String) -> String {
    if name.contains([':', '/', '@']) {
        name
    } else {
        format!("unnamed:{name}")
    }
}
