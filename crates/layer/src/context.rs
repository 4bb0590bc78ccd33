//! What the layers of one request are read with.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use super::cache::FactsCache;
use super::modules::Modules;
use super::patterns::{Capture, FilePatterns};
use super::workers::{RequestWorkers, Workers};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::progress::Progress;
use imgcheck_elf::{Depth, Recipes};
use imgcheck_image::LayerFacts;
use imgcheck_python::ModuleFacts;
use imgcheck_source::cache::Cache;
use imgcheck_source::source::LayerLocation;

/// Reads the layers of many requests: knowledge, cache and capacity that they share. Clones share them, too.
#[derive(Debug, Clone)]
pub struct LayerReader {
    patterns: Arc<FilePatterns>,
    recipes: Arc<Recipes>,
    cache: Cache,
    workers: Workers,
}

impl LayerReader {
    /// A reader with its own capacity.
    pub fn new(patterns: FilePatterns, recipes: Recipes, cache: Cache) -> Self {
        LayerReader {
            patterns: Arc::new(patterns),
            recipes: Arc::new(recipes),
            cache,
            workers: Workers::default(),
        }
    }

    /// Starts a request.
    ///
    /// What is read is [verified](Trust) unless that can be left to those who run the image.
    pub fn request<'a>(
        &self,
        depth: Depth,
        bounds: Bounds,
        progress: &'a dyn Progress,
    ) -> ReadContext<'a> {
        ReadContext {
            patterns: Arc::clone(&self.patterns),
            recipes: Arc::clone(&self.recipes),
            depth,
            progress,
            cache: FactsCache::new(
                self.cache.with_cancellation(&bounds.cancellation),
                depth,
                &bounds.limits,
            ),
            bounds,
            workers: self.workers.request(),
            layers: Mutex::default(),
            trust: Trust::default(),
        }
    }
}

/// What is believed about the bytes of layers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trust {
    /// Nothing is: layers at rest are hashed, too, and the cache is not used for them.
    pub strict: bool,
    /// Tables of contents of layers are not used: a table can describe a different archive than the one that engines unpack.
    pub no_lazy: bool,
}

impl Trust {
    /// Whether layers with a table of contents are read as streams.
    pub(crate) fn is_stream_required(self) -> bool {
        self.strict || self.no_lazy
    }
}

/// How the layers of one request are read: what is captured, within which limits, who hears of it, and who ends it.
///
/// A context remembers the layers that it has read, so that a layer that several images of the request share is read once.
pub struct ReadContext<'a> {
    pub(crate) patterns: Arc<FilePatterns>,
    pub(crate) recipes: Arc<Recipes>,
    /// How much of each ELF file is read.
    pub depth: Depth,
    /// Bounds on what the layers may ask for, and what ends the request early.
    pub bounds: Bounds,
    /// Receives progress events.
    pub progress: &'a dyn Progress,
    pub(crate) cache: FactsCache,
    pub(crate) workers: RequestWorkers,
    /// Layers that were read already, by where their bytes are: that two layers have the same digest is only a claim.
    pub(crate) layers: Mutex<HashMap<LayerLocation, ReadLayer>>,
    pub(crate) trust: Trust,
}

/// The facts of a layer, and how they were obtained.
#[derive(Debug, Clone)]
pub struct ReadLayer {
    /// The facts.
    pub facts: Arc<LayerFacts>,
    /// How they were obtained.
    pub method: ReadMethod,
    /// Its Python sources.
    pub(crate) modules: Modules,
}

impl ReadLayer {
    /// What the Python source of an entry says, by the index of the entry. `None` if the layer has no such source, or its sources were not
    /// kept.
    ///
    /// # Errors
    /// The source cannot be read any more.
    pub fn module(&self, at: usize) -> Result<Option<ModuleFacts>> {
        match self.facts.entries.get(at) {
            Some(entry) => self.modules.get(entry, at),
            None => Ok(None),
        }
    }
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
    /// [sampled](imgcheck_elf::facts::GpuCode::sampled).
    Chunks,
    /// From a directory tree on this machine.
    Directory,
}

impl ReadMethod {
    /// Whether the facts are those of bytes that have the diff id of the layer.
    pub fn is_verified(self) -> bool {
        matches!(self, ReadMethod::Cache | ReadMethod::Stream)
    }
}

impl ReadContext<'_> {
    /// Reads with more or less trust.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Self {
        ReadContext { trust, ..self }
    }

    /// What is captured, by path.
    pub fn patterns(&self) -> &FilePatterns {
        &self.patterns
    }

    /// Reads layers again, and captures only these files of them.
    pub(crate) fn only(&self, paths: BTreeMap<String, Capture>) -> Self {
        ReadContext {
            cache: self.cache.of_paths(&paths),
            patterns: Arc::new(FilePatterns::only(paths)),
            recipes: Arc::clone(&self.recipes),
            depth: self.depth,
            bounds: self.bounds.clone(),
            progress: self.progress,
            workers: self.workers.another(),
            layers: Mutex::default(),
            trust: self.trust,
        }
    }

    /// The error of a cancelled request explains all others.
    pub(crate) fn unless_cancelled<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.bounds.cancellation.check()?;
        }
        result
    }
}
