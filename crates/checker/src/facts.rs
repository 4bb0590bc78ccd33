//! The facts of one image: all that judgement needs, and nothing that depends on how the image was stored or named.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError, Weak};

use oci_spec::image::ImageConfiguration;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use imgcheck_base::error::{Error, Result};
use imgcheck_base::json_schema;
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_elf::Depth;
use imgcheck_image::LayerFacts;
use imgcheck_source::source::Image;

/// What [`ImageFacts::encode`] writes first: a skippable frame (RFC 8878, section 3.1.2), which tools for zstd pass over.
const FRAME_MAGIC: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];
const SCHEMA: &str = "imgcheck/image-facts/v1";
/// Levels above it take several times as long for a few percent.
const COMPRESSION_LEVEL: i32 = 9;

/// The facts of one image.
///
/// They depend on the bytes of the image and on the [depth](imgcheck_elf::Depth) only: an image in an archive and the same image in a
/// registry have equal facts. They are the input of [`Checker::judge`](crate::Checker::judge), and can be kept: see
/// [`ImageFacts::encode`].
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, ImageFacts, ImageRequest};
///
/// let checker = Checker::builder().build()?;
/// let facts = checker.facts(&ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar"))?;
/// assert_eq!(facts.platform(), "linux/amd64");
///
/// let bytes = facts.encode()?;
/// assert_eq!(ImageFacts::decode(&bytes)?, facts);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(
    title = "imgcheck image facts",
    description = "All that imgcheck reads of one image, as `imgcheck facts -f facts` writes it (compressed with zstd)."
)]
pub struct ImageFacts {
    /// Version of the format.
    pub(crate) schema: FactsSchema,
    /// The reference that the image was read by, in a file of facts; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<String>,
    /// How much of each file was read.
    pub(crate) depth: Depth,
    /// `os/architecture[/variant]`; empty for a root directory.
    pub(crate) platform: String,
    /// Digest of the image configuration (the image ID); absent for a root directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config_digest: Option<String>,
    /// The image configuration (OCI image specification, "Image Configuration"), with its keys sorted.
    #[serde(with = "sorted")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) config: Arc<ImageConfiguration>,
    /// The layers, lowest first.
    pub(crate) layers: Arc<[ImageLayer]>,
}

/// What an image is without the facts of its layers, which follow from it if its layers are what their diff IDs say.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outline {
    /// As in [`ImageFacts`].
    pub depth: Depth,
    /// As in [`ImageFacts`].
    pub platform: String,
    /// As in [`ImageFacts`].
    pub config_digest: Option<String>,
    /// As in [`ImageFacts`].
    #[serde(with = "sorted")]
    pub config: Arc<ImageConfiguration>,
    /// Digests of the uncompressed layers, lowest first.
    pub diff_ids: Vec<String>,
}

/// One layer of an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ImageLayer {
    /// Digest of the uncompressed layer; empty for a root directory.
    pub diff_id: String,
    /// The facts of the layer.
    pub facts: Arc<LayerFacts>,
}

impl Outline {
    /// An image as its source describes it, read at this depth.
    pub fn of(image: &Image, depth: Depth) -> Self {
        let layers = image.layers.iter();
        Outline {
            depth,
            platform: image.platform.clone(),
            config_digest: image.config_digest.clone(),
            config: image.config.clone(),
            diff_ids: layers.map(|layer| layer.diff_id.clone()).collect(),
        }
    }
}

/// The facts of the layers of images that are held at the same time: images of one base have them once.
#[derive(Debug, Default)]
pub struct HeldLayers(Mutex<HashMap<String, Weak<LayerFacts>>>);

impl HeldLayers {
    /// The facts of a layer as another image has them, if they are equal: of files behind links, an image may know more.
    fn of(&self, diff_id: &str, facts: &Arc<LayerFacts>) -> Arc<LayerFacts> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held.get(diff_id).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known == facts) {
            return known;
        }
        held.retain(|_, it| it.strong_count() > 0);
        held.insert(diff_id.to_owned(), Arc::downgrade(facts));
        facts.clone()
    }
}

/// Version of the format of [`ImageFacts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) enum FactsSchema {
    /// Keys may be added to it.
    #[default]
    #[serde(rename = "imgcheck/image-facts/v1")]
    V1,
}

impl ImageFacts {
    /// `os/architecture[/variant]`, as in `linux/amd64`; empty for a root directory.
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// The same facts for a file, by which the image is compared with its reference later, too.
    #[must_use]
    pub fn named(self, reference: Option<&str>) -> Self {
        let reference = reference.map(str::to_owned);
        ImageFacts { reference, ..self }
    }

    /// How much of each file was read.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Digest of the image configuration, which Docker calls the image ID; `None` for a root directory.
    pub fn config_digest(&self) -> Option<&str> {
        self.config_digest.as_deref()
    }

    /// Digests of the uncompressed layers, lowest first.
    pub fn diff_ids(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| layer.diff_id.as_str())
    }

    pub(crate) fn outline(&self) -> Outline {
        Outline {
            depth: self.depth,
            platform: self.platform.clone(),
            config_digest: self.config_digest.clone(),
            config: self.config.clone(),
            diff_ids: self.diff_ids().map(str::to_owned).collect(),
        }
    }

    /// About how many bytes of memory they take: twice what they take as bytes in the cache, as measured on images of PyTorch. What they
    /// share with others counts in part.
    pub fn memory_size(&self) -> u64 {
        let size = |layer: &ImageLayer| {
            let size = postcard::experimental::serialized_size(&*layer.facts);
            size.unwrap_or_default() / Arc::strong_count(&layer.facts)
        };
        2 * self.layers.iter().map(size).sum::<usize>() as u64
    }

    /// Uses the facts of layers that other images have, too.
    pub fn share(&mut self, held: &HeldLayers) {
        let layers = self.layers.iter().map(|layer| ImageLayer {
            diff_id: layer.diff_id.clone(),
            facts: held.of(&layer.diff_id, &layer.facts),
        });
        self.layers = layers.collect();
    }

    /// The facts as a JSON document; `imgcheck rules schema --facts` prints its JSON Schema.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::output(SCHEMA, error))
    }

    /// The JSON document compressed with zstd: equal facts give equal bytes.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let write = || -> io::Result<Vec<u8>> {
            let mut encoded = FRAME_MAGIC.to_vec();
            encoded.extend((SCHEMA.len() as u32).to_le_bytes());
            encoded.extend(SCHEMA.as_bytes());
            let mut encoder = zstd::Encoder::new(encoded, COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            serde_json::to_writer(&mut encoder, self)?;
            encoder.finish()
        };
        write().map_err(|error| Error::output(SCHEMA, error))
    }

    /// The facts of each layer, as a document of its own: JSON compressed with zstd. Equal facts give equal bytes.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub(crate) fn encode_layers(&self) -> Result<Vec<Vec<u8>>> {
        let encode = |layer: &ImageLayer| -> io::Result<Vec<u8>> {
            let mut encoder = zstd::Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            serde_json::to_writer(&mut encoder, &*layer.facts)?;
            encoder.finish()
        };
        let layers = self.layers.iter().map(encode).collect::<io::Result<_>>();
        layers.map_err(|error| Error::output(SCHEMA, error))
    }

    /// The facts of an image of which [`encode_layers`](Self::encode_layers) wrote the layers.
    ///
    /// # Errors
    /// Same as [`decode_within`](Self::decode_within).
    pub(crate) fn of_layers(
        image: &Image,
        depth: Depth,
        layers: &[Vec<u8>],
        limits: &Limits,
    ) -> Result<Self> {
        let mut left = limits.of(Limit::FactsBytes);
        let mut decode = |bytes: &Vec<u8>| {
            let text = decompress(bytes, limits, left)?;
            left -= text.len() as u64;
            let facts: LayerFacts = serde_json::from_slice(&text)
                .map_err(|error| Error::damaged("image facts", error.to_string()))?;
            Ok(Arc::new(facts))
        };
        let blobs = image.layers.iter().zip(layers);
        let layers = blobs.map(|(blob, bytes)| {
            Ok(ImageLayer {
                diff_id: blob.diff_id.clone(),
                facts: decode(bytes)?,
            })
        });
        ImageFacts {
            schema: FactsSchema::V1,
            reference: None,
            depth,
            platform: image.platform.clone(),
            config_digest: image.config_digest.clone(),
            config: image.config.clone(),
            layers: layers.collect::<Result<_>>()?,
        }
        .within(limits)
    }

    /// # Errors
    /// They exceed the limit `layers` or `entries`.
    fn within(self, limits: &Limits) -> Result<Self> {
        let within = |limit, found: usize| {
            let checked = limits.check(limit, found as u64);
            checked.map_err(|exceeded| Error::limit("image facts", exceeded))
        };
        within(Limit::Layers, self.layers.len())?;
        let entries = self.layers.iter().map(|layer| layer.facts.entries.len());
        within(Limit::Entries, entries.sum())?;
        Ok(self)
    }

    /// Reads what [`encode`](Self::encode) wrote, within the default limits.
    ///
    /// # Errors
    /// Same as [`decode_within`](Self::decode_within).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Self::decode_within(bytes, &Limits::default())
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// The bytes are damaged, or exceed the limit `facts-bytes` (after decompression), `layers` or `entries`.
    pub fn decode_within(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let damaged = |problem: String| Error::damaged("image facts", problem);
        if !is_encoded(bytes) {
            return Err(damaged(format!("not a document of {SCHEMA}")));
        }
        let text = decompress(bytes, limits, limits.of(Limit::FactsBytes))?;
        let facts: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        facts.within(limits)
    }
}

/// Decompresses at most `left` bytes, which are left of the limit `facts-bytes`.
fn decompress(bytes: &[u8], limits: &Limits, left: u64) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let decoder = zstd::Decoder::new(bytes)?;
        decoder
            .take(left.saturating_add(1))
            .read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| Error::damaged("image facts", error.to_string()))?;
    let before = limits.of(Limit::FactsBytes) - left;
    let checked = limits.check(Limit::FactsBytes, before + text.len() as u64);
    checked.map_err(|exceeded| Error::limit("image facts", exceeded))?;
    Ok(text)
}

/// Whether these are the first bytes of encoded facts.
pub(crate) fn is_encoded(start: &[u8]) -> bool {
    let name = start.strip_prefix(&FRAME_MAGIC).and_then(|it| it.get(4..));
    name.is_some_and(|name| name.starts_with(SCHEMA.as_bytes()))
}

/// The JSON Schema of [`ImageFacts`].
pub(crate) fn schema() -> Schema {
    json_schema::of_output::<ImageFacts>("image-facts.json")
}

/// The image configuration has hash maps; written with sorted keys it is the same every time.
mod sorted {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use oci_spec::image::ImageConfiguration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
    use serde_json::Value;

    pub fn serialize<S: Serializer>(
        config: &Arc<ImageConfiguration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let value = serde_json::to_value(&**config).map_err(S::Error::custom)?;
        sort(value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<ImageConfiguration>, D::Error> {
        ImageConfiguration::deserialize(deserializer).map(Arc::new)
    }

    fn sort(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let sorted: BTreeMap<String, Value> = map
                    .into_iter()
                    .map(|(key, value)| (key, sort(value)))
                    .collect();
                Value::Object(sorted.into_iter().collect())
            }
            Value::Array(values) => Value::Array(values.into_iter().map(sort).collect()),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Checker, ImageRequest};

    #[test]
    fn images_of_one_base_have_its_facts_once() {
        let checker = Checker::builder().build().unwrap();
        let facts = |name: &str| {
            let request = ImageRequest::new(format!(
                "{}/../../testdata/sample/{name}",
                env!("CARGO_MANIFEST_DIR")
            ));
            checker.facts(&request).unwrap().encode().unwrap()
        };
        let encoded = facts("pytorch-cuda-v2.9.tar");
        let other = facts("pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar");
        let held = HeldLayers::default();
        let read = |encoded: &[u8]| {
            let mut facts = ImageFacts::decode(encoded).unwrap();
            facts.share(&held);
            facts
        };
        let first = read(&encoded);
        let alone = first.memory_size();
        let second = read(&encoded);
        assert_eq!(first, second);
        let is_shared = |a: &ImageFacts, b: &ImageFacts| {
            let mut pairs = a.layers.iter().zip(b.layers.iter());
            pairs.all(|(a, b)| Arc::ptr_eq(&a.facts, &b.facts))
        };
        assert!(is_shared(&first, &second));
        assert!(second.memory_size() <= alone / 2 + 1);
        drop(second);
        assert_eq!(first.memory_size(), alone);
        // Nothing is kept of what no image has any more.
        drop(first);
        assert_ne!(read(&encoded).memory_size(), 0);
        read(&other);
        let kept = held.0.lock().unwrap().len();
        assert!(
            kept <= ImageFacts::decode(&other).unwrap().layers.len(),
            "{kept}"
        );
    }
}
