//! Reads the layers of images: each once, several at a time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Progress;
use crate::error::{Error, Result};
use crate::layer::cache::FactsCache;
use crate::layer::{self, LayerFacts, Wanted};
use crate::parallel;
use crate::source::{Image, LayerBlob, LayerData, Place};

/// Layers read at a time. Each is read by several threads of its own, and a network is not faster with more.
const AT_A_TIME: usize = 4;

/// A layer that was read.
#[derive(Debug, Clone)]
pub(super) struct ReadLayer {
    pub facts: Arc<LayerFacts>,
    pub how: How,
}

/// How the facts of a layer were got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// From its bytes.
    Read,
    /// From the parts of it that matter, found by its table of contents.
    InParts,
    /// From an earlier run.
    Cached,
}

/// Layers that were read already, by where their bytes lie: that two layers have the same digest is only a claim.
pub(super) type LayersRead = HashMap<Place, ReadLayer>;

/// The facts of all layers of an image, lowest first.
fn read(
    blobs: &[LayerBlob],
    wanted: &Wanted,
    cache: &FactsCache,
    read: &mut LayersRead,
    progress: &dyn Progress,
) -> Result<Vec<ReadLayer>> {
    let missing = missing(blobs, read);
    let kept = Kept::default();
    let found = parallel::map(AT_A_TIME, missing.len(), |at| {
        let layer = read_one(missing[at], wanted, cache, progress)?;
        kept.take(&layer.facts, wanted, &missing[at].diff_id)?;
        progress.layer();
        Ok(layer)
    })?;
    let places = missing.iter().map(|blob| blob.data.place());
    read.extend(places.zip(found));
    let layers = blobs.iter();
    Ok(layers
        .filter_map(|blob| read.get(&blob.data.place()).cloned())
        .collect())
}

/// Bytes that were kept of several layers: the limit of one layer holds for all of them together.
#[derive(Default)]
pub(super) struct Kept(AtomicU64);

impl Kept {
    /// Adds those of a layer.
    pub fn take(&self, facts: &LayerFacts, wanted: &Wanted, layer: &str) -> Result<()> {
        let more = facts.kept_bytes();
        let kept = self.0.fetch_add(more, Ordering::Relaxed) + more;
        let limit = wanted.limits.kept_bytes;
        if kept <= limit {
            return Ok(());
        }
        let problem = format!(
            "with it the image has {kept} bytes of package metadata and other texts; the limit kept_bytes is {limit}"
        );
        Err(Error::layer(layer, problem))
    }
}

/// The same of an image, whose progress is told if there is anything left to read.
pub(super) fn of_image(
    image: &Image,
    wanted: &Wanted,
    cache: &FactsCache,
    read_before: &mut LayersRead,
    progress: &dyn Progress,
) -> Result<Vec<ReadLayer>> {
    if !missing(&image.layers, read_before).is_empty() {
        let bytes = image.layers.iter().map(|layer| layer.size).sum();
        let name = image.reference.as_deref().unwrap_or(&image.platform);
        progress.image(name, image.layers.len(), bytes);
    }
    let layers = read(&image.layers, wanted, cache, read_before, progress);
    progress.finish();
    layers
}

/// The facts of a layer: those of an earlier run, else from its bytes. Only what is proven to be the layer's is kept.
fn read_one(
    blob: &LayerBlob,
    wanted: &Wanted,
    cache: &FactsCache,
    progress: &dyn Progress,
) -> Result<ReadLayer> {
    let is_directory = matches!(blob.data, LayerData::Directory(_));
    let kept = || cache.get(&blob.diff_id);
    if let Some(facts) = (!is_directory).then(kept).flatten() {
        progress.advance(blob.size);
        return Ok(ReadLayer {
            facts: Arc::new(facts),
            how: How::Cached,
        });
    }
    let scanned = layer::scan(blob, wanted, &|bytes| progress.advance(bytes))?;
    if scanned.verified {
        cache.put(&blob.diff_id, &scanned.facts);
    }
    let how = match scanned.in_parts {
        true => How::InParts,
        false => How::Read,
    };
    Ok(ReadLayer {
        facts: Arc::new(scanned.facts),
        how,
    })
}

/// Those that were not read yet, each once. The largest come first, so that none of them is left at the end.
fn missing<'a>(blobs: &'a [LayerBlob], read: &LayersRead) -> Vec<&'a LayerBlob> {
    let mut seen = HashSet::new();
    let mut missing: Vec<&LayerBlob> = blobs
        .iter()
        .filter(|blob| !read.contains_key(&blob.data.place()) && seen.insert(blob.data.place()))
        .collect();
    missing.sort_by_key(|blob| Reverse(blob.size));
    missing
}
