//! Images whose documents are in the cache, and whose layers can only be read from the stream of the engine.

use oci_spec::image::Descriptor;

use crate::cache::{Cache, Key};
use crate::source::blobs::{Blobs, DocumentKind};
use crate::source::image::LayerData;
use imgcheck_base::error::{Error, Result};

/// The documents in the cache.
pub(super) struct CachedDocuments<'a> {
    /// The id of the image.
    pub id: &'a str,
    pub cache: &'a Cache,
}

impl Blobs for CachedDocuments<'_> {
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
            .ok_or_else(|| Error::not_found(self.id, format!("{digest} is not in the cache")))
    }

    fn layer(&self, layer: &Descriptor) -> Result<LayerData> {
        Ok(LayerData::EngineOnly(layer.digest().to_string()))
    }
}
