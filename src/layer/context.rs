//! What all layers of one request are read with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::cache::FactsCache;
use super::facts::LayerFacts;
use super::patterns::FilePatterns;
use crate::cache::Cache;
use crate::cancellation::Cancellation;
use crate::elf::{Depth, Recipes};
use crate::error::Result;
use crate::limits::Limits;
use crate::progress::{NoProgress, Progress};
use crate::source::Place;

/// How the layers of one request are read: what is captured, within which limits, and who hears of it.
///
/// A context remembers the layers that it has read, so that a layer that several images of the request share is read once.
pub struct ReadContext<'a> {
    /// Which files are captured.
    pub patterns: Arc<FilePatterns>,
    /// What is read of ELF files.
    pub recipes: Arc<Recipes>,
    /// How much of each ELF file is read.
    pub depth: Depth,
    /// Bounds on what the layers may ask for.
    pub limits: Limits,
    /// Ends the request early.
    pub cancellation: Cancellation,
    /// Receives progress events.
    pub progress: &'a dyn Progress,
    pub(super) cache: FactsCache,
    /// Layers that were read already, by where their bytes are: that two layers have the same digest is only a claim.
    pub(super) layers: Mutex<HashMap<Place, ReadLayer>>,
}

/// The facts of a layer, and how they were obtained.
#[derive(Debug, Clone)]
pub struct ReadLayer {
    /// The facts.
    pub facts: Arc<LayerFacts>,
    /// How they were obtained.
    pub method: ReadMethod,
}

/// How the facts of a layer were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMethod {
    /// From the cache.
    Cache,
    /// From the headers of an uncompressed archive at rest, and the parts of its files that matter.
    Seek,
    /// From every byte of the blob; its digest and its diff id were verified.
    Stream,
    /// From the chunks that matter, found by a table of contents (zstd:chunked, eStargz). GPU code may be
    /// [sampled](crate::elf::facts::GpuCode::sampled).
    Chunks,
    /// From a directory tree on this machine.
    Directory,
}

impl<'a> ReadContext<'a> {
    /// A context for one request that nobody cancels.
    pub fn new(
        patterns: Arc<FilePatterns>,
        recipes: Arc<Recipes>,
        depth: Depth,
        limits: Limits,
        cache: Cache,
        progress: &'a dyn Progress,
    ) -> Self {
        ReadContext {
            patterns,
            recipes,
            depth,
            limits,
            cancellation: Cancellation::default(),
            progress,
            cache: FactsCache::new(cache, depth, &limits),
            layers: Mutex::default(),
        }
    }
}

impl ReadContext<'static> {
    /// A context with the built-in knowledge, the default limits, no cache and no progress.
    ///
    /// # Errors
    /// A built-in table is invalid, which the tests exclude.
    pub fn builtin(depth: Depth) -> Result<Self> {
        Ok(ReadContext::new(
            Arc::new(FilePatterns::builtin()?),
            Arc::new(Recipes::builtin()?),
            depth,
            Limits::default(),
            Cache::default(),
            &NoProgress,
        ))
    }
}
