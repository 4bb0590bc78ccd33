//! The storage directories of Podman (containers/storage, driver `overlay`, of the root user).

use std::path::Path;

use bollard::models::SystemInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::storage_root::{StorageRoot, is_name};
use crate::source::image::{Annotations, LayerBlob, LayerData};
use crate::source::names;
use crate::source::overlay::Attributes;
use imgcheck_base::digest;
use imgcheck_base::limits::Limits;

const DRIVER: &str = "overlay";

/// The root directory (`graphRoot`) of Podman.
#[derive(Debug)]
pub(super) struct PodmanStorage(StorageRoot);

/// An element of `overlay-images/images.json`.
#[derive(Debug, Deserialize)]
pub(super) struct StoredImage {
    /// The hexadecimal part of the digest of the configuration.
    pub id: String,
    /// Tags, and names with a digest.
    #[serde(default)]
    pub names: Vec<String>,
    layer: Option<String>,
}

impl StoredImage {
    /// Whether it has a name; the tag `latest` and the registry `docker.io` may be left out.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|it| names::same(name, it))
    }
}

/// An element of `overlay-layers/layers.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Layer {
    id: String,
    parent: Option<String>,
    diff_digest: Option<String>,
    diff_size: Option<u64>,
}

impl PodmanStorage {
    /// `None` if this process cannot read the storage in the way the kernel does.
    pub fn new(info: &SystemInfo, limits: &Limits) -> Option<Self> {
        let status = info.driver_status.as_deref().unwrap_or_default();
        let is_whole = status
            .iter()
            .any(|pair| pair[..] == ["Native Overlay Diff", "true"]);
        let is_readable = info.driver.as_deref() == Some(DRIVER) && is_whole;
        let root = info.docker_root_dir.as_ref().filter(|_| is_readable)?;
        Self::at(Path::new(root), limits)
    }

    /// The storage in a directory; `None` if this process cannot read it.
    pub fn at(root: &Path, limits: &Limits) -> Option<Self> {
        let root = StorageRoot::at(root, limits)?;
        Attributes::Trusted
            .are_visible()
            .then_some(PodmanStorage(root))
    }

    /// All images; `None` if their list cannot be read.
    pub fn images(&self) -> Option<Vec<StoredImage>> {
        self.list("overlay-images/images.json")
    }

    /// The configuration of the image `id`, which is its digest: one of the files stored with the image.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        let directory = Path::new("overlay-images").join(digest::hexadecimal(id)?);
        let files = self.0.list(&directory)?;
        files
            .iter()
            .filter_map(|file| self.0.read(file))
            .find(|bytes| digest::sha256(bytes) == id)
    }

    /// The layers of the image `id`, lowest first; `None` unless all exist and have these diff ids.
    pub fn layers(&self, id: &str, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        let hex = digest::hexadecimal(id)?;
        let images = self.images()?;
        self.layers_of(images.iter().find(|image| image.id == hex)?, diff_ids)
    }

    /// The same for an image from the list.
    pub fn layers_of(&self, image: &StoredImage, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        let layers: Vec<Layer> = self.list("overlay-layers/layers.json")?;
        let mut next = image.layer.clone();
        let mut layers_found = Vec::with_capacity(diff_ids.len());
        for diff_id in diff_ids.iter().rev() {
            let layer = layers
                .iter()
                .find(|layer| Some(&layer.id) == next.as_ref())?;
            if layer.diff_digest.as_ref() != Some(diff_id) {
                return None;
            }
            layers_found.push(self.layer(layer, diff_id)?);
            next.clone_from(&layer.parent);
        }
        layers_found.reverse();
        next.is_none_or(|below| below.is_empty())
            .then_some(layers_found)
    }

    fn layer(&self, layer: &Layer, diff_id: &str) -> Option<LayerBlob> {
        let driver = Path::new(DRIVER);
        let own = driver.join(Some(&layer.id).filter(|id| is_name(id))?);
        let link = self.0.line(&own.join("link"))?;
        // With composefs the directory contains blobs, not files.
        let is_composefs = self.0.list(&own.join("composefs-data")).is_some();
        if !is_name(&link) || is_composefs {
            return None;
        }
        // Podman removes the short name of a layer before the layer.
        let record = driver.join("l").join(link);
        let overlay = self
            .0
            .overlay(own.join("diff"), Attributes::Trusted, record)?;
        Some(LayerBlob {
            diff_id: diff_id.to_owned(),
            digest: None,
            annotations: Annotations::new(),
            size: layer.diff_size.unwrap_or(0),
            data: LayerData::Overlay(overlay),
        })
    }

    fn list<T: DeserializeOwned>(&self, name: &str) -> Option<Vec<T>> {
        serde_json::from_slice(&self.0.read(Path::new(name))?).ok()
    }
}
