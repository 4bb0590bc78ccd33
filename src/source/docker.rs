//! `docker save` archives: `manifest.json` names the configuration and the layers of each image. Newer versions of Docker add an
//! OCI layout to the archive, which is preferred, since it has manifest digests and platforms.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use serde::Deserialize;

use super::image::{Annotations, Image, LayerBlob, SourceKind};
use super::platform::{Candidate, Platform, Selection, select};
use super::request::{LayerConsumer, Request, Source};
use super::store::Store;
use super::{blobs, json_names, names, oci};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// An element of `manifest.json` (Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format").
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// `docker-archive:PATH[:REFERENCE]`.
pub(super) struct DockerArchive {
    pub path: PathBuf,
    pub reference: Option<String>,
}

impl Source for DockerArchive {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let selection = request.selection(self.reference.as_deref())?;
        open(&Store::archive(&self.path, request)?, &selection)
    }
}

/// Whether the store is a docker archive.
pub(super) fn is_archive(store: &Store) -> bool {
    store.contains("manifest.json")
}

/// The selected images of a docker archive.
pub(super) fn open(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    if !is_archive(store) {
        return Err(not_a_docker_archive(store));
    }
    let (entries, _): (Vec<Entry>, _) =
        store.document("manifest.json", json_names::DOCKER_ARCHIVE)?;
    if oci::is_layout(store) {
        let tags: Vec<String> = entries
            .into_iter()
            .flat_map(|entry| entry.repo_tags.unwrap_or_default())
            .collect();
        let images = oci::open_as(store, selection, SourceKind::DockerArchive)?;
        return Ok(images
            .into_iter()
            .map(|image| with_short_name(image, &tags))
            .collect());
    }
    let mut candidates = Vec::new();
    for mut entry in entries {
        let tags = entry.repo_tags.take().unwrap_or_default();
        let met = candidates.len() + tags.len().max(1);
        let checked = selection.limits.check(Limit::Manifests, met as u64);
        checked.map_err(|exceeded| Error::limit(store.subject(), exceeded))?;
        let config = config(store, &entry.config)?;
        let platform = Platform::of_config(&config.0);
        // The tags of an image share its documents, which may be long.
        let item = Rc::new((entry, config));
        let references = if tags.is_empty() {
            vec![None]
        } else {
            tags.into_iter().map(Some).collect()
        };
        for reference in references {
            candidates.push(Candidate {
                reference,
                platform: platform.clone(),
                item: Rc::clone(&item),
            });
        }
    }
    select(&store.subject(), candidates, selection)?
        .into_iter()
        .map(|candidate| image(store, candidate, &selection.limits))
        .collect()
}

fn not_a_docker_archive(store: &Store) -> Error {
    let problem = if store.contains("repositories") {
        "saved by a version of Docker before 1.10, without manifest.json"
    } else {
        "not a docker archive: manifest.json is missing"
    };
    Error::unsupported(store.subject(), problem)
}

/// Docker writes `docker.io/library/x:1` into the OCI index, and `x:1`, which people know, into `RepoTags`.
fn with_short_name(image: Image, tags: &[String]) -> Image {
    let short = image
        .reference
        .as_ref()
        .and_then(|long| tags.iter().find(|tag| names::same(tag, long)))
        .cloned();
    Image {
        reference: short.or(image.reference),
        ..image
    }
}

/// A configuration and its digest.
type Config = (Arc<ImageConfiguration>, String);

/// The configuration, verified if its file name is a digest, which is not so in the archives of all tools.
fn config(store: &Store, name: &str) -> Result<Config> {
    let (config, bytes): (ImageConfiguration, _) = store.document(name, json_names::OCI)?;
    if let Some(digest) = digest_of_name(name) {
        blobs::verify(&store.subject(), name, &bytes, &digest)?;
    }
    Ok((config.into(), digest::sha256(&bytes)))
}

/// `blobs/sha256/HEX`, `HEX.json`, `sha256:HEX`.
fn digest_of_name(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let hex = file.strip_prefix("sha256:").unwrap_or(file);
    let hex = hex.strip_suffix(".json").unwrap_or(hex);
    digest::is_hexadecimal(hex).then(|| format!("sha256:{hex}"))
}

fn image(
    store: &Store,
    candidate: Candidate<Rc<(Entry, Config)>>,
    limits: &Limits,
) -> Result<Image> {
    let (entry, (config, config_digest)) = &*candidate.item;
    let names = entry.layers.as_deref().unwrap_or_default();
    let diff_ids = blobs::diff_ids(&store.subject(), config, names.len(), limits)?;
    let mut layers = Vec::with_capacity(names.len());
    for (name, diff_id) in names.iter().zip(diff_ids) {
        let blob = store.blob(name)?;
        layers.push(LayerBlob {
            diff_id,
            digest: name.strip_prefix("blobs/").and_then(digest_of_name),
            annotations: Annotations::new(),
            size: blob.length,
            data: blob.layer_data(),
        });
    }
    Ok(Image {
        reference: candidate.reference,
        kind: SourceKind::DockerArchive,
        access: None,
        platform: candidate.platform.to_string(),
        digest: None,
        config_digest: Some(config_digest.clone()),
        config: Arc::clone(config),
        layers,
    })
}
