//! What the layers of one request are read with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::cache::FactsCache;
use super::facts::LayerFacts;
use super::patterns::FilePatterns;
use super::workers::{RequestWorkers, Workers};
use crate::cache::Cache;
use crate::cancellation::Cancellation;
use crate::elf::{Depth, Recipes};
use crate::error::Result;
use crate::limits::Limits;
use crate::progress::{NoProgress, Progress};
use crate::source::LayerLocation;

/// Reads the layers of many requests: knowledge, cache and capacity that they share. Clones share them, too.
#[derive(Debug, Clone)]
pub struct LayerReader {
    patterns: Arc<FilePatterns>,
    recipes: Arc<Recipes>,
    cache: Cache,
    workers: Workers,
}

impl LayerReader {
    /// A reader with capacity of its own.
    pub fn new(patterns: Arc<FilePatterns>, recipes: Arc<Recipes>, cache: Cache) -> Self {
        LayerReader {
            patterns,
            recipes,
            cache,
            workers: Workers::default(),
        }
    }

    /// A reader with the built-in knowledge.
    ///
    /// # Errors
    /// A built-in table is invalid, which the tests exclude.
    pub fn builtin(cache: Cache) -> Result<Self> {
        let patterns = Arc::new(FilePatterns::builtin()?);
        let recipes = Arc::new(Recipes::builtin()?);
        Ok(LayerReader::new(patterns, recipes, cache))
    }

    /// Starts a request.
    pub fn request<'a>(
        &self,
        depth: Depth,
        limits: Limits,
        cancellation: Cancellation,
        progress: &'a dyn Progress,
    ) -> ReadContext<'a> {
        ReadContext {
            patterns: Arc::clone(&self.patterns),
            recipes: Arc::clone(&self.recipes),
            depth,
            limits,
            progress,
            cache: FactsCache::new(self.cache.with_cancellation(&cancellation), depth, &limits),
            cancellation,
            workers: self.workers.request(),
            layers: Mutex::default(),
        }
    }
}

/// How the layers of one request are read: what is captured, within which limits, who hears of it, and who ends it.
///
/// A context remembers the layers that it has read, so that a layer that several images of the request share is read once.
pub struct ReadContext<'a> {
    pub(super) patterns: Arc<FilePatterns>,
    pub(super) recipes: Arc<Recipes>,
    /// How much of each ELF file is read.
    pub depth: Depth,
    /// Bounds on what the layers may ask for.
    pub limits: Limits,
    /// Ends the request early.
    pub cancellation: Cancellation,
    /// Receives progress events.
    pub progress: &'a dyn Progress,
    pub(super) cache: FactsCache,
    pub(super) workers: RequestWorkers,
    /// Layers that were read already, by where their bytes are: that two layers have the same digest is only a claim.
    pub(super) layers: Mutex<HashMap<LayerLocation, ReadLayer>>,
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

impl ReadContext<'static> {
    /// A request with the built-in knowledge, the default limits, no cache and no progress.
    ///
    /// # Errors
    /// A built-in table is invalid, which the tests exclude.
    pub fn builtin(depth: Depth) -> Result<Self> {
        let reader = LayerReader::builtin(Cache::default())?;
        let never = Cancellation::default();
        Ok(reader.request(depth, Limits::default(), never, &NoProgress))
    }
}

impl ReadContext<'_> {
    /// The error of a cancelled request explains all others.
    pub(super) fn unless_cancelled<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.cancellation.check()?;
        }
        result
    }
}
