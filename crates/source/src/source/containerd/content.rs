//! The blobs of containerd's content store, and the directories to which it unpacked layers.

use oci_spec::image::Descriptor;

use super::metadata::Root;
use crate::source::blobs::{Blobs, DocumentKind};
use crate::source::image::{Image, LayerData};
use crate::source::overlay::{Attributes, Overlay};
use crate::source::store::Store;
use imgcheck_base::beneath::{self, Links};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limits;

/// The content store, below the root directory.
const CONTENT: &str = "io.containerd.content.v1.content";

/// A content store, which has the layout of an OCI image layout without its index. Layers may be missing.
pub(super) struct Content(Store);

impl Content {
    pub fn open(root: &Root, limits: Limits) -> Result<Self> {
        Store::directory(&root.0.join(CONTENT), limits).map(Content)
    }

    /// Reads layers from the directories to which containerd unpacked them, as far as it did. That takes no decompression, and
    /// containerd may have discarded the blobs (`discard_unpacked_layers`).
    ///
    /// # Errors
    /// A layer has neither a directory nor a blob; the metadata is damaged.
    pub fn prefer_unpacked(&self, root: &Root, namespace: &str, image: &mut Image) -> Result<()> {
        let attributes = Attributes::Trusted;
        let diff_ids: Vec<&str> = image.layers.iter().map(|layer| &*layer.diff_id).collect();
        let directories = match attributes.are_visible() {
            true => root.snapshots(namespace, &digest::chain_ids(&diff_ids))?,
            false => vec![None; diff_ids.len()],
        };
        for (layer, directory) in image.layers.iter_mut().zip(directories) {
            let storage =
                beneath::root(&root.0).map_err(|error| Error::io(root.name(""), error))?;
            let complete = directory
                .filter(|it| beneath::directory(&storage, &it.join("fs"), Links::Refused).is_ok());
            match complete {
                Some(directory) => {
                    // Only containerd vouches that the directory is this blob.
                    layer.digest = None;
                    layer.data = LayerData::Overlay(Overlay {
                        storage: root.0.clone(),
                        directory: directory.join("fs"),
                        attributes,
                        // containerd renames it before it removes anything below.
                        record: directory,
                    });
                }
                None if matches!(layer.data, LayerData::EngineOnly(_)) => {
                    let problem = "containerd has neither its blob nor its files";
                    return Err(Error::layer(layer.name(), problem).with_help(
                        "pull the image again, or read it from its registry: docker://REFERENCE",
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl Blobs for Content {
    fn subject(&self) -> String {
        self.0.subject()
    }

    fn blob_name(&self, digest: &str) -> Result<String> {
        self.0.blob_name(digest)
    }

    fn has_blob(&self, digest: &str) -> Result<bool> {
        self.0.has_blob(digest)
    }

    fn read_document(&self, kind: DocumentKind, digest: &str) -> Result<Vec<u8>> {
        self.0.read_document(kind, digest)
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        let digest = layer.digest().as_ref();
        match self.has_blob(digest)? {
            true => self.0.layer(layer),
            false => Ok(LayerData::EngineOnly(digest.to_owned())),
        }
    }
}
