//! Images of which the documents are known from an earlier run, and the layers are only in what the engine sends.

use oci_spec::image::Descriptor;

use crate::cache::{Cache, Key};
use crate::error::{Error, Result};
use crate::source::LayerData;
use crate::source::blobs::{Blobs, DocumentKind};

/// The documents that the cache has.
pub(super) struct Known<'a> {
    /// What the engine calls the image.
    pub id: &'a str,
    pub cache: &'a Cache,
}

impl Blobs for Known<'_> {
    fn subject(&self) -> String {
        self.id.to_owned()
    }

    fn blob_name(&self, digest: &str) -> Result<String> {
        Ok(digest.to_owned())
    }

    fn has_blob(&self, _digest: &str) -> Result<bool> {
        Ok(true)
    }

    fn read_document(&self, _kind: DocumentKind, digest: &str) -> Result<Vec<u8>> {
        let key = Key::Document {
            digest: digest.to_owned(),
        };
        self.cache
            .get(&key)
            .ok_or_else(|| Error::not_found(self.id, format!("{digest} was not seen before")))
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        Ok(LayerData::Held(layer.digest().to_string()))
    }
}
