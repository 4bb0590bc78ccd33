//! The storage of an engine with the driver `overlay2`, read where it lies: each layer is a directory that the kernel's
//! overlay file system merges with those below it (moby, `daemon/graphdriver/overlay2` and `layer/filestore.go`).

use std::fs;
use std::path::PathBuf;

use bollard::models::SystemInfo;

use super::is_name;
use crate::digest;
use crate::source::overlay::{Attributes, Overlay};
use crate::source::{Annotations, LayerBlob, LayerData};

const DRIVER: &str = "overlay2";

/// The root directory of an engine.
#[derive(Debug)]
pub(super) struct Storage {
    root: PathBuf,
    attributes: Attributes,
}

impl Storage {
    /// The storage of the engine that says this of itself; `None` if this process cannot read it as the kernel does.
    pub fn of(info: &SystemInfo) -> Option<Self> {
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
            root: info.docker_root_dir.as_ref()?.into(),
            attributes,
        })
    }

    /// The configuration of the image `id`, which is its digest.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        let hex = digest::hexadecimal(id)?;
        let bytes = fs::read(self.image("imagedb/content/sha256").join(hex)).ok()?;
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
        let record = self
            .image("layerdb/sha256")
            .join(digest::hexadecimal(chain)?);
        let read = |name: &str| {
            let text = fs::read_to_string(record.join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        let name = read("cache-id")?;
        if read("diff")? != diff_id || !is_name(&name) {
            return None;
        }
        let directory = self.root.join(DRIVER).join(name).join("diff");
        fs::read_dir(&directory).ok()?;
        Some(LayerBlob {
            diff_id: diff_id.to_owned(),
            digest: None,
            annotations: Annotations::new(),
            size: read("size")?.parse().ok()?,
            data: LayerData::Overlay(Overlay {
                directory,
                attributes: self.attributes,
                // The engine renames it before it removes anything of the layer.
                record,
            }),
        })
    }

    fn image(&self, name: &str) -> PathBuf {
        self.root.join("image").join(DRIVER).join(name)
    }
}
