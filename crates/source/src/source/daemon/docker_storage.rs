//! The storage directories of Docker with the driver `overlay2`: each layer is a directory that the kernel's overlay file system
//! merges with those below it (moby, `daemon/graphdriver/overlay2` and `layer/filestore.go`).

use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;

use super::storage_root::{StorageRoot, is_name};
use crate::source::image::{Annotations, LayerBlob, LayerData};
use crate::source::overlay::Attributes;
use imgcheck_base::digest;
use imgcheck_base::limits::Limits;

const DRIVER: &str = "overlay2";

/// The root directory of Docker.
#[derive(Debug)]
pub(super) struct DockerStorage {
    root: StorageRoot,
    attributes: Attributes,
}

impl DockerStorage {
    /// `None` if this process cannot read the storage in the way the kernel does.
    pub fn new(info: &SystemInfo, limits: &Limits) -> Option<Self> {
        if info.driver.as_deref() != Some(DRIVER) {
            return None;
        }
        let status = info.driver_status.as_deref().unwrap_or_default();
        let has = |name: &str, value: &str| status.iter().any(|pair| pair[..] == [name, value]);
        if has("Native Overlay Diff", "false") {
            // Then directories are renamed and files refer to lower ones, so a layer is more than its directory.
            return None;
        }
        let attributes = match has("userxattr", "true") {
            true => Attributes::User,
            false => Attributes::Trusted,
        };
        attributes.are_visible().then_some(DockerStorage {
            root: StorageRoot::new(info, limits)?,
            attributes,
        })
    }

    /// The configuration of the image `id`, which is its digest.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        let hex = digest::hexadecimal(id)?;
        let bytes = self.root.read(&image("imagedb/content/sha256").join(hex))?;
        (digest::sha256(&bytes) == id).then_some(bytes)
    }

    /// The layers with these diff ids, lowest first; `None` unless all exist.
    pub fn layers(&self, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        let borrowed: Vec<&str> = diff_ids.iter().map(String::as_str).collect();
        let chain_ids = digest::chain_ids(&borrowed);
        let layers = chain_ids.iter().zip(diff_ids);
        layers
            .map(|(chain_id, diff_id)| self.layer(chain_id, diff_id))
            .collect()
    }

    fn layer(&self, chain: &str, diff_id: &str) -> Option<LayerBlob> {
        let record = image("layerdb/sha256").join(digest::hexadecimal(chain)?);
        let read = |name: &str| self.root.line(&record.join(name));
        let name = read("cache-id")?;
        if read("diff")? != diff_id || !is_name(&name) {
            return None;
        }
        let size = read("size")?.parse().ok()?;
        let directory = Path::new(DRIVER).join(name).join("diff");
        // Docker renames the record before it removes anything of the layer.
        let overlay = self.root.overlay(directory, self.attributes, record)?;
        Some(LayerBlob {
            diff_id: diff_id.to_owned(),
            digest: None,
            annotations: Annotations::new(),
            size,
            data: LayerData::Overlay(overlay),
        })
    }
}

fn image(name: &str) -> PathBuf {
    Path::new("image").join(DRIVER).join(name)
}
