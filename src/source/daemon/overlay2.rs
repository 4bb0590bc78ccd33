//! The storage of an engine with the driver `overlay2`, read where it lies: each layer is a directory that the kernel's
//! overlay file system merges with those below it (moby, `daemon/graphdriver/overlay2` and `layer/filestore.go`).

use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;

use super::is_name;
use super::storage::Root;
use crate::digest;
use crate::limits::Limits;
use crate::source::overlay::Attributes;
use crate::source::{Annotations, LayerBlob, LayerData};

const DRIVER: &str = "overlay2";

/// The root directory of an engine.
#[derive(Debug)]
pub(super) struct Storage {
    root: Root,
    attributes: Attributes,
}

impl Storage {
    /// The storage of the engine that says this of itself; `None` if this process cannot read it as the kernel does.
    pub fn of(info: &SystemInfo, limits: &Limits) -> Option<Self> {
        if info.driver.as_deref() != Some(DRIVER) {
            return None;
        }
        let status = info.driver_status.as_deref().unwrap_or_default();
        let says = |name: &str, value: &str| status.iter().any(|pair| pair[..] == [name, value]);
        if says("Native Overlay Diff", "false") {
            // Directories are moved and files are linked to lower ones then, so that a layer is more than its directory.
            return None;
        }
        let attributes = match says("userxattr", "true") {
            true => Attributes::User,
            false => Attributes::Trusted,
        };
        attributes.are_seen().then_some(Storage {
            root: Root::of(info, limits)?,
            attributes,
        })
    }

    /// The configuration of the image `id`, which is its digest.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        let hex = digest::hexadecimal(id)?;
        let bytes = self.root.read(&image("imagedb/content/sha256").join(hex))?;
        (digest::sha256(&bytes) == id).then_some(bytes)
    }

    /// The layers with these diff ids, the lowest first; `None` unless all are there.
    pub fn layers(&self, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        let mut chain = String::new();
        let layers = diff_ids.iter().map(|diff_id| {
            // OCI image specification, "Layer ChainID".
            chain = match chain.is_empty() {
                true => diff_id.clone(),
                false => digest::sha256(format!("{chain} {diff_id}").as_bytes()),
            };
            self.layer(&chain, diff_id)
        });
        layers.collect()
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
        // The engine renames the record before it removes anything of the layer.
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
