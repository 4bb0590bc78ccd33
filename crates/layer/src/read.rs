//! Reads the layers of an image: each once, several at the same time, and from the cache if possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::budget::Budget;
use super::bytes::{Bytes, OneTimeReader};
use super::context::{ReadContext, ReadLayer, ReadMethod};
use super::modules::{Modules, has_sources};
use super::patterns::Capture;
use super::stream::{Expected, Stream, StreamedLayer};
use super::workers::LAYERS;
use super::{chunked, directory, seek, squashfs};
use imgcheck_archive::archive::FileRange;
use imgcheck_archive::archive::compression::{Compression, SNIFFED, sniff};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::parallel;
use imgcheck_image::LayerFacts;
use imgcheck_source::source::{Image, LayerBlob, LayerData, LayerLocation};

impl ReadContext<'_> {
    /// The facts of all layers of an image, lowest first.
    ///
    /// # Errors
    /// A layer cannot be read, or all layers together exceed a limit.
    pub fn read_image(&self, image: &Image) -> Result<Vec<ReadLayer>> {
        let missing = self.missing(&image.layers);
        if !missing.is_empty() {
            let bytes = image.layers.iter().map(|layer| layer.size).sum();
            let name = image.reference.as_deref().unwrap_or(&image.platform);
            self.progress.image(name, image.layers.len(), bytes);
        }
        let layers = self.read_missing(&image.layers, &missing);
        self.progress.finish();
        layers
    }

    /// The facts of some layers.
    ///
    /// # Errors
    /// Same as [`read_image`](Self::read_image).
    pub fn read_layers(&self, blobs: &[LayerBlob]) -> Result<Vec<ReadLayer>> {
        self.read_missing(blobs, &self.missing(blobs))
    }

    fn read_missing(&self, blobs: &[LayerBlob], missing: &[&LayerBlob]) -> Result<Vec<ReadLayer>> {
        // An image may contain a layer several times.
        let mut times: HashMap<LayerLocation, u64> = HashMap::new();
        for blob in blobs {
            *times.entry(blob.data.location()).or_default() += 1;
        }
        let budget = Budget::default();
        let count = |place: &LayerLocation, layer: &ReadLayer| {
            let times = times.get(place).copied().unwrap_or(1);
            let counted = budget.layer(&layer.facts, times, &self.bounds.limits);
            counted.map_err(|exceeded| Error::limit("all layers", exceeded))
        };
        for (place, layer) in self.layers().iter() {
            if times.contains_key(place) {
                count(place, layer)?;
            }
        }
        let read = parallel::map(LAYERS as usize, missing.len(), |at| {
            let _share = self.workers.layer(&self.bounds.cancellation)?;
            let layer = self.read_layer(missing[at])?;
            count(&missing[at].data.location(), &layer)?;
            self.progress.layer();
            Ok(layer)
        })?;
        let places = missing.iter().map(|blob| blob.data.location());
        self.layers().extend(places.zip(read));
        let layers = self.layers();
        let places = blobs.iter().map(|blob| blob.data.location());
        Ok(places
            .filter_map(|place| layers.get(&place).cloned())
            .collect())
    }

    /// The layers that were not read yet, each once. The largest come first, so that no large one is left at the end.
    fn missing<'b>(&self, blobs: &'b [LayerBlob]) -> Vec<&'b LayerBlob> {
        let layers = self.layers();
        let mut seen = HashSet::new();
        let mut missing: Vec<&LayerBlob> = blobs
            .iter()
            .filter(|blob| {
                let place = blob.data.location();
                !layers.contains_key(&place) && seen.insert(place)
            })
            .collect();
        missing.sort_by_key(|blob| Reverse(blob.size));
        missing
    }

    /// Remembers a layer that was read by other means, for [`ReadContext::read_image`].
    pub fn remember(&self, blob: &LayerBlob, layer: ReadLayer) {
        self.layers().insert(blob.data.location(), layer);
    }

    fn layers(&self) -> MutexGuard<'_, HashMap<LayerLocation, ReadLayer>> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a layer is known to have its diff id. That a configuration claims one never selects facts: somebody must have read a blob
    /// with this digest and found the diff id, or a container engine that unpacked the layer vouches for it.
    pub fn is_verified(&self, blob: &LayerBlob) -> bool {
        match (&blob.data, &blob.digest) {
            (LayerData::Overlay(_) | LayerData::EngineOnly(_), _) => true,
            (LayerData::Directory(_) | LayerData::Squashfs(..), _) | (_, None) => false,
            (LayerData::Range { .. }, _) if self.trust.strict => false,
            (_, Some(digest)) => self.cache.is_verified(digest, &blob.diff_id),
        }
    }

    /// The facts that the cache has of a layer.
    fn cached(&self, blob: &LayerBlob) -> Option<ReadLayer> {
        let is_verified = self.is_verified(blob);
        let facts = is_verified
            .then(|| self.cache.get(&blob.diff_id))
            .flatten()?;
        let modules = match self.cache.has_all_entries() && has_sources(&facts) {
            // Without them, nothing would be known of what the sources import.
            true => Modules::Parsed(Arc::new(self.cache.modules(&blob.diff_id)?)),
            false => Modules::None,
        };
        Some(ReadLayer {
            facts: Arc::new(facts),
            method: ReadMethod::Cache,
            modules,
        })
    }

    /// The facts of a layer, from the cache or from its bytes. Only facts of bytes that have the diff id enter the cache.
    ///
    /// # Errors
    /// [`Error::Layer`] if the layer is damaged, truncated, compressed in an unknown way, larger than the limits or not
    /// readable: nothing can then be said about the image. A broken ELF file is not an error
    /// ([`Content::BrokenElf`](imgcheck_image::Content::BrokenElf)).
    pub fn read_layer(&self, blob: &LayerBlob) -> Result<ReadLayer> {
        self.bounds.cancellation.check()?;
        self.unless_cancelled(self.read_or_get(blob))
    }

    fn read_or_get(&self, blob: &LayerBlob) -> Result<ReadLayer> {
        if let Some(layer) = self.cached(blob) {
            self.progress.advance(blob.size);
            return Ok(layer);
        }
        let name = &blob.name();
        let layer = |method, modules| {
            move |facts| ReadLayer {
                facts: Arc::new(facts),
                method,
                modules,
            }
        };
        let directory_layer = |path: &Path| {
            let modules = Modules::Directory(Arc::new(path.to_owned()));
            layer(ReadMethod::Directory, modules)
        };
        match &blob.data {
            LayerData::Directory(path) => directory::scan(self, path).map(directory_layer(path)),
            LayerData::Overlay(overlay) => {
                let path = overlay.path();
                directory::scan_overlay(self, overlay).map(directory_layer(&path))
            }
            LayerData::Squashfs(image, _) => {
                let (facts, modules) = squashfs::scan(self, name, image)?;
                Ok(layer(ReadMethod::Seek, modules)(facts))
            }
            LayerData::Streamed(_) | LayerData::EngineOnly(_) => Err(Error::layer(
                name,
                "was not in the archive that was streamed",
            )),
            LayerData::Remote(remote) => match chunked::scan(self, blob, &**remote)? {
                Some(facts) => Ok(layer(ReadMethod::Chunks, Modules::None)(facts)),
                None => self.stream_blob(blob, remote),
            },
            LayerData::Range {
                file,
                offset,
                length,
                ..
            } => {
                let range = FileRange::new(file.clone(), *offset, *length);
                match compression_of(name, &range)? {
                    Compression::None => {
                        let (facts, modules) = seek::scan(self, blob, &range)?;
                        Ok(layer(ReadMethod::Seek, modules)(facts))
                    }
                    _ => self.stream_blob(blob, &range),
                }
            }
        }
    }

    fn stream_blob(&self, blob: &LayerBlob, bytes: &dyn Bytes) -> Result<ReadLayer> {
        let name = &blob.name();
        let stream = Stream {
            context: self,
            name,
            bytes,
            size: blob.size,
            expected: Expected {
                digest: blob.digest.as_deref(),
                diff_id: Some(&blob.diff_id),
            },
        };
        self.keep(stream.scan()?).map(|streamed| streamed.layer)
    }

    /// Reads a layer of `size` bytes that can be read only once, and of which nothing is known beforehand. The bytes are read to
    /// their end even if the layer is damaged.
    ///
    /// # Errors
    /// Same as [`ReadContext::read_layer`].
    pub fn read_stream(
        &self,
        name: &str,
        bytes: impl Read + Send,
        size: u64,
    ) -> Result<StreamedLayer> {
        let stream = Stream {
            context: self,
            name,
            bytes: &OneTimeReader::new(bytes),
            size,
            expected: Expected::default(),
        };
        self.unless_cancelled(stream.scan())
            .and_then(|streamed| self.keep(streamed))
    }

    /// The facts of a layer of which only these files are captured, by path. Entries with different paths may be missing.
    ///
    /// # Errors
    /// Same as [`ReadContext::read_layer`]; also if the layer was a stream, which cannot be read again.
    pub fn read_files(
        &self,
        blob: &LayerBlob,
        files: BTreeMap<String, Capture>,
    ) -> Result<Arc<LayerFacts>> {
        if matches!(blob.data, LayerData::Streamed(_) | LayerData::EngineOnly(_)) {
            let path = files.keys().next().map_or("", String::as_str);
            let problem = format!(
                "{path}: links give this file a meaning that was not known when it was streamed, and it cannot be read again"
            );
            return Err(Error::layer(blob.name(), problem)
                .with_help("save the image to a file with `docker save`, without compression, and check the file"));
        }
        Ok(self.only(files).read_layer(blob)?.facts)
    }

    fn keep(&self, streamed: StreamedLayer) -> Result<StreamedLayer> {
        let StreamedLayer {
            layer,
            digest,
            diff_id,
        } = &streamed;
        self.cache.put(diff_id, &layer.facts)?;
        if let Modules::Parsed(modules) = &layer.modules
            && !modules.is_empty()
        {
            self.cache.put_modules(diff_id, modules)?;
        }
        self.cache.put_verified(digest, diff_id);
        Ok(streamed)
    }
}

fn compression_of(name: &str, range: &FileRange) -> Result<Compression> {
    let mut start = [0; SNIFFED];
    let length = range
        .read_at(0, &mut start)
        .map_err(|error| Error::layer_io(name, error))?;
    sniff(&start[..length]).map_err(|problem| Error::layer(name, problem))
}
