//! Reads the layers of images: each once, several at a time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Progress;
use crate::error::{Error, Result};
use crate::layer::cache::FactsCache;
use crate::layer::{self, Budget, LayerFacts, Wanted};
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
    // An image may have a layer several times.
    let mut times: HashMap<Place, u64> = HashMap::new();
    for blob in blobs {
        *times.entry(blob.data.place()).or_default() += 1;
    }
    let budget = Budget::default();
    let take = |place: &Place, layer: &ReadLayer| {
        let times = times.get(place).copied().unwrap_or(1);
        let taken = budget.layer(&layer.facts, times, &wanted.limits);
        taken.map_err(|passed| Error::limit("all layers together", passed))
    };
    for place in times.keys() {
        if let Some(layer) = read.get(place) {
            take(place, layer)?;
        }
    }
    let found = parallel::map(AT_A_TIME, missing.len(), |at| {
        let layer = read_one(missing[at], wanted, cache, progress)?;
        take(&missing[at].data.place(), &layer)?;
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
