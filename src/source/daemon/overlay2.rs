//! The storage of an engine with the driver `overlay2`, read where it lies: each layer is a directory that the kernel's
//! overlay file system merges with those below it (moby, `daemon/graphdriver/overlay2` and `layer/filestore.go`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::source::overlay::{Attributes, Overlay};
use crate::source::{LayerBlob, LayerData, digest};

const DRIVER: &str = "overlay2";

/// The root directory of an engine.
#[derive(Debug)]
pub(super) struct Storage {
    root: PathBuf,
    attributes: Attributes,
}

impl Storage {
    /// The storage of the engine that says this of itself. An error says why it cannot be read.
    pub fn of(driver: &str, status: &[Vec<String>], root: &Path) -> Result<Self, String> {
        if driver != DRIVER {
            return Err(format!("its storage driver is {driver}, not {DRIVER}"));
        }
        let says = |name: &str| {
            let pair = status
                .iter()
                .find(|pair| pair.first().is_some_and(|key| key == name));
            pair.and_then(|pair| pair.get(1)).map(String::as_str)
        };
        if says("Native Overlay Diff") == Some("false") {
            // Directories are moved and files are linked to lower ones then, so that a layer is more than its directory.
            return Err("the kernel's overlay redirects or copies only metadata".to_owned());
        }
        let attributes = match says("userxattr") {
            Some("true") => Attributes::User,
            _ => Attributes::Trusted,
        };
        attributes.readable()?;
        Ok(Storage {
            root: root.to_owned(),
            attributes,
        })
    }

    /// The configuration of the image `id`, which is its digest.
    pub fn configuration(&self, id: &str) -> Result<Vec<u8>, String> {
        let hex = digest::hexadecimal(id).ok_or("the id of the image is no digest")?;
        let path = self.image("imagedb/content/sha256").join(hex);
        let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        if digest::sha256(&bytes) == id {
            Ok(bytes)
        } else {
            Err(format!("{} is damaged", path.display()))
        }
    }

    /// The layers with these diff ids, the lowest first.
    pub fn layers(&self, diff_ids: &[String]) -> Result<Vec<LayerBlob>, String> {
        let mut chain = String::new();
        let mut layers = Vec::with_capacity(diff_ids.len());
        for diff_id in diff_ids {
            // OCI image specification, "Layer ChainID".
            chain = if chain.is_empty() {
                diff_id.clone()
            } else {
                digest::sha256(format!("{chain} {diff_id}").as_bytes())
            };
            layers.push(self.layer(&chain, diff_id)?);
        }
        Ok(layers)
    }

    fn layer(&self, chain: &str, diff_id: &str) -> Result<LayerBlob, String> {
        let hex = digest::hexadecimal(chain).ok_or("a diff id of the image is no digest")?;
        let record = self.image("layerdb/sha256").join(hex);
        let read = |name: &str| {
            let path = record.join(name);
            fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))
        };
        if read("diff")?.trim() != diff_id {
            return Err(format!("{} is of another layer", record.display()));
        }
        let directory = read("cache-id")?;
        let directory = directory.trim();
        if !directory.bytes().all(|byte| byte.is_ascii_alphanumeric()) || directory.is_empty() {
            return Err(format!("{} names no directory", record.display()));
        }
        let directory = self.root.join(DRIVER).join(directory).join("diff");
        fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))?;
        Ok(LayerBlob {
            diff_id: diff_id.to_owned(),
            digest: None,
            annotations: Default::default(),
            size: read("size")
                .ok()
                .and_then(|size| size.trim().parse().ok())
                .unwrap_or(0),
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

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}
