//! `manifest.json` of a docker archive (Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format").

use std::collections::HashSet;
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use serde::Deserialize;

use crate::source::blobs::{self, Blobs};
use crate::source::image::Image;
use crate::source::platform::Platform;
use crate::source::store::Store;
use crate::source::{json_names, names};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};

/// One image of one platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entry {
    pub config: String,
    pub repo_tags: Option<Vec<String>>,
    pub layers: Option<Vec<String>>,
}

/// A configuration and its digest.
pub(super) type Config = (Arc<ImageConfiguration>, String);

/// The entries of `manifest.json`.
///
/// # Errors
/// Two of them have the same tag: Docker would start the last one.
pub(super) fn entries(store: &Store) -> Result<Vec<Entry>> {
    let (entries, _): (Vec<Entry>, _) =
        store.document("manifest.json", json_names::DOCKER_ARCHIVE)?;
    let mut seen = HashSet::new();
    for tag in entries.iter().flat_map(Entry::tags) {
        if !seen.insert(names::complete(tag)) {
            let problem = format!("manifest.json names {tag} twice: Docker would run the last one");
            return Err(Error::damaged(store.subject(), problem).with_help(SAVE_AGAIN));
        }
    }
    Ok(entries)
}

const SAVE_AGAIN: &str = "save the image again";

impl Entry {
    fn tags(&self) -> impl Iterator<Item = &String> {
        self.repo_tags.iter().flatten()
    }

    pub fn layers(&self) -> &[String] {
        self.layers.as_deref().unwrap_or_default()
    }

    /// The configuration, verified if its file name is a digest, which is not so in the archives of all tools.
    pub fn config(&self, store: &Store) -> Result<Config> {
        let name = &self.config;
        let (config, bytes): (ImageConfiguration, _) = store.document(name, json_names::OCI)?;
        if let Some(digest) = digest_of_name(name) {
            blobs::verify(&store.subject(), name, &bytes, &digest)?;
        }
        Ok((config.into(), digest::sha256(&bytes)))
    }

    /// Whether the image has this configuration and these layers.
    fn is(&self, store: &Store, config_digest: &str, image: &Image) -> Result<bool> {
        if image.config_digest.as_deref() != Some(config_digest)
            || image.layers.len() != self.layers().len()
        {
            return Ok(false);
        }
        for (name, layer) in self.layers().iter().zip(&image.layers) {
            let digest = layer.digest.as_deref().unwrap_or_default();
            if store.layer_blob(name)?.name != store.blob(&store.blob_name(digest)?)?.name {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// `blobs/sha256/HEX`, `HEX.json`, `sha256:HEX`.
pub(super) fn digest_of_name(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let hex = file.strip_prefix("sha256:").unwrap_or(file);
    let hex = hex.strip_suffix(".json").unwrap_or(hex);
    digest::is_hexadecimal(hex).then(|| format!("sha256:{hex}"))
}

/// Compares `manifest.json` with the images that `index.json` of the same archive leads to. Docker with its own image store reads
/// the first, Docker with containerd the second.
///
/// `manifest.json` may lack a name, or have only one of several platforms, since it cannot describe more.
///
/// # Errors
/// They name different images, or `manifest.json` has another platform than the selected images.
pub(super) fn check_agreement(
    store: &Store,
    entries: &[Entry],
    stored: &[Image],
    selected: &[Image],
) -> Result<()> {
    for entry in entries {
        let (config, config_digest) = entry.config(store)?;
        let platform = Platform::of_config(&config).to_string();
        let has_this = |images: &[&Image]| -> Result<bool> {
            for image in images {
                if entry.is(store, &config_digest, image)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if entry.tags().next().is_none() && !has_this(&stored.iter().collect::<Vec<_>>())? {
            return Err(disagreement(store, "an image without a name"));
        }
        for tag in entry.tags() {
            for image in named(stored, tag).filter(|image| image.platform == platform) {
                if !has_this(&[image])? {
                    return Err(disagreement(store, tag));
                }
            }
            let unnamed = stored.iter().filter(|image| image.reference.is_none());
            if !has_this(&named(stored, tag).chain(unnamed).collect::<Vec<_>>())? {
                return Err(disagreement(store, tag));
            }
            let selected: Vec<&Image> = named(selected, tag).collect();
            if !selected.is_empty() && !has_this(&selected)? {
                return Err(other_platform(store, tag, &platform));
            }
        }
    }
    Ok(())
}

fn named<'i>(images: &'i [Image], tag: &str) -> impl Iterator<Item = &'i Image> {
    let is_named = move |image: &&Image| {
        let name = image.reference.as_ref();
        name.is_some_and(|name| names::same(tag, name))
    };
    images.iter().filter(is_named)
}

fn disagreement(store: &Store, name: &str) -> Error {
    let problem = format!(
        "manifest.json and index.json disagree about {name}: it depends on the container engine which of two images runs"
    );
    Error::damaged(store.subject(), problem).with_help(SAVE_AGAIN)
}

fn other_platform(store: &Store, name: &str, platform: &str) -> Error {
    let problem = format!(
        "manifest.json has {name} for {platform} only, and Docker without containerd would run that image on any machine"
    );
    let help = format!("choose it with --platform {platform}, or all with --all-platforms");
    Error::not_found(store.subject(), problem).with_help(help)
}
