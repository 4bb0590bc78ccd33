//! `docker save` archives: `manifest.json` names the configuration and the layers of each image. Newer versions of Docker add an
//! OCI layout to the archive, which is preferred, since it has manifest digests and platforms.

mod manifest;

use std::rc::Rc;
use std::sync::Arc;

use super::image::{Annotations, Image, LayerBlob, SourceKind};
use super::platform::{Candidate, Platform, Selection, select};
use super::store::Store;
use super::{blobs, names, oci};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};
use manifest::{Config, Entry, check_agreement, digest_of_name, entries};

/// Whether the store is a docker archive.
pub(super) fn is_archive(store: &Store) -> bool {
    store.contains("manifest.json")
}

/// The selected images of a docker archive.
pub(super) fn open(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    if !is_archive(store) {
        return Err(not_a_docker_archive(store));
    }
    let entries = entries(store)?;
    if oci::is_layout(store) {
        let images = agreeing_images(store, &entries, selection, SourceKind::DockerArchive)?;
        let tags: Vec<String> = entries
            .into_iter()
            .flat_map(|entry| entry.repo_tags.unwrap_or_default())
            .collect();
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
        let config = entry.config(store)?;
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

/// The selected images of an OCI layout in an archive. If the archive has a `manifest.json`, too, Docker loads that one, so both must
/// name the same images.
pub(super) fn open_layout(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    match is_archive(store) && oci::is_layout(store) {
        true => agreeing_images(store, &entries(store)?, selection, SourceKind::OciArchive),
        false => oci::open(store, selection),
    }
}

/// The selected images of the OCI layout of an archive.
///
/// # Errors
/// `manifest.json` names other images.
fn agreeing_images(
    store: &Store,
    entries: &[Entry],
    selection: &Selection,
    kind: SourceKind,
) -> Result<Vec<Image>> {
    let images = oci::open_as(store, selection, kind)?;
    let stored = oci::stored_images(store, selection)?;
    check_agreement(store, entries, &stored, &images)?;
    Ok(images)
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

fn image(
    store: &Store,
    candidate: Candidate<Rc<(Entry, Config)>>,
    limits: &Limits,
) -> Result<Image> {
    let (entry, (config, config_digest)) = &*candidate.item;
    let names = entry.layers();
    let diff_ids = blobs::diff_ids(&store.subject(), config, names.len(), limits)?;
    let mut layers = Vec::with_capacity(names.len());
    for (name, diff_id) in names.iter().zip(diff_ids) {
        let blob = store.layer_blob(name)?;
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
        attestations: Vec::new(),
    })
}
