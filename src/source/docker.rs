//! `docker save` archives: `manifest.json` names a config and layers for each image. Newer engines put an OCI layout into
//! the same file, which says more (manifest digests, platforms) and is then what is read.

use oci_spec::image::ImageConfiguration;
use serde::Deserialize;

use super::platform::{Candidate, Platform, select};
use super::store::Store;
use super::{
    Annotations, Image, LayerBlob, SourceKind, Wanted, blobs, digest, oci, reference, spelling,
};
use crate::error::{Error, Result};

/// An element of `manifest.json` (Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format").
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// Whether the store is a docker archive.
pub(super) fn is(store: &Store) -> bool {
    store.contains("manifest.json")
}

/// The wanted images of a docker archive.
pub(super) fn open(store: &Store, wanted: &Wanted) -> Result<Vec<Image>> {
    if !is(store) {
        return Err(not_a_docker_archive(store));
    }
    let (entries, _): (Vec<Entry>, _) =
        store.document("manifest.json", spelling::DOCKER_ARCHIVE)?;
    if oci::is(store) {
        let tags: Vec<String> = entries
            .into_iter()
            .flat_map(|entry| entry.repo_tags.unwrap_or_default())
            .collect();
        let images = oci::open_as(store, wanted, SourceKind::DockerArchive)?;
        return Ok(images
            .into_iter()
            .map(|image| with_short_name(image, &tags))
            .collect());
    }
    let described: Vec<Described> = entries
        .into_iter()
        .map(|entry| describe(store, entry))
        .collect::<Result<_>>()?;
    let candidates = described.iter().flat_map(|item| {
        let tags = item.entry.repo_tags.as_deref().unwrap_or_default();
        let unnamed = tags.is_empty().then_some(None);
        let references = tags.iter().cloned().map(Some).chain(unnamed);
        references.map(move |reference| Candidate {
            reference,
            platform: Platform::of_config(&item.config),
            item,
        })
    });
    select(&store.subject(), candidates.collect(), wanted)?
        .into_iter()
        .map(|candidate| image(store, candidate))
        .collect()
}

/// An image of the archive, whatever its names are.
#[derive(Debug)]
struct Described {
    entry: Entry,
    config: ImageConfiguration,
    config_digest: String,
}

fn describe(store: &Store, entry: Entry) -> Result<Described> {
    let (config, config_digest) = config(store, &entry.config)?;
    Ok(Described {
        entry,
        config,
        config_digest,
    })
}

fn not_a_docker_archive(store: &Store) -> Error {
    let problem = if store.contains("repositories") {
        "saved by a Docker older than 1.10, without a manifest.json"
    } else {
        "not a docker archive: it has no manifest.json"
    };
    store.error(problem)
}

/// The engine writes `docker.io/library/x:1` into the OCI index and `x:1`, which people know, into `RepoTags`.
fn with_short_name(image: Image, tags: &[String]) -> Image {
    let short = image
        .reference
        .as_ref()
        .and_then(|long| tags.iter().find(|tag| reference::same(tag, long)))
        .cloned();
    Image {
        reference: short.or(image.reference),
        ..image
    }
}

/// The config and its digest. Its file is named by the digest, which is verified; archives of other tools that use free
/// names have nothing to verify.
fn config(store: &Store, name: &str) -> Result<(ImageConfiguration, String)> {
    let (config, bytes) = store.document(name, spelling::OCI)?;
    if let Some(digest) = digest_of_name(name) {
        blobs::verify(&store.subject(), name, &bytes, &digest)?;
    }
    Ok((config, digest::sha256(&bytes)))
}

/// `blobs/sha256/HEX`, `HEX.json`, `sha256:HEX`.
fn digest_of_name(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let hex = file.strip_prefix("sha256:").unwrap_or(file);
    let hex = hex.strip_suffix(".json").unwrap_or(hex);
    digest::is_hexadecimal(hex).then(|| format!("sha256:{hex}"))
}

fn image(store: &Store, candidate: Candidate<&Described>) -> Result<Image> {
    let Described {
        entry,
        config,
        config_digest,
    } = candidate.item;
    let names = entry.layers.as_deref().unwrap_or_default();
    let diff_ids = blobs::diff_ids(&store.subject(), config, names.len())?;
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
        way: None,
        platform: candidate.platform.to_string(),
        digest: None,
        config_digest: Some(config_digest.clone()),
        config: config.clone(),
        layers,
    })
}
