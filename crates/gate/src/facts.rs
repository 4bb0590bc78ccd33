//! Facts of images by digest: in memory, else in the cache of layer facts. Nothing is read from a registry here.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::metrics::Metrics;
use super::queue::{Job, JobKey};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_checker::{Checker, HeldLayers, ImageFacts, ImageRequest, Subject};
use imgcheck_launch::Overlay;

/// Images that are expected in memory; their bytes are what is bounded.
const EXPECTED: usize = 1000;

/// Facts by digest.
#[derive(Debug)]
pub struct KnownFacts {
    memory: Cache<FactsKey, Known, ByBytes>,
    layers: HeldLayers,
    metrics: Arc<Metrics>,
}

/// What facts are for: an image, and what containers of it replace that decides about imports.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FactsKey {
    job: JobKey,
    overlays: Vec<Overlay>,
}

#[derive(Debug, Clone)]
struct Known {
    image: (ImageFacts, Subject),
    bytes: u64,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<FactsKey, Known> for ByBytes {
    fn weight(&self, _: &FactsKey, known: &Known) -> u64 {
        known.bytes
    }
}

impl KnownFacts {
    /// Keeps so many bytes of facts in memory.
    pub fn new(bytes: u64, metrics: Arc<Metrics>) -> Self {
        KnownFacts {
            memory: Cache::with_weighter(EXPECTED, bytes, ByBytes),
            layers: HeldLayers::default(),
            metrics,
        }
    }

    /// The facts of an image, with the manifest of its platform, and with the sources that containers with these overlays import. It blocks on the
    /// cache.
    ///
    /// # Errors
    /// They are not known, or the image has no such platform.
    pub fn get(
        &self,
        checker: &Checker,
        job: &Job,
        overlays: &[&Overlay],
        cancellation: &Cancellation,
    ) -> Result<(ImageFacts, Subject)> {
        let key = FactsKey::of(job, overlays);
        let found = self.memory.get(&key);
        self.metrics.lookup("facts", found.is_some());
        if let Some(known) = found {
            return Ok(known.image);
        }
        let request = request(job)
            .cached_only(true)
            .cancellation(cancellation.clone())
            .launched_with(key.overlays.clone());
        self.read_as(key, checker, job, &request)
    }

    /// Whether the facts of an image are in memory.
    pub fn contains(&self, job: &Job) -> bool {
        self.memory.contains_key(&FactsKey::of(job, &[]))
    }

    /// Reads the facts of an image by this request, and keeps them.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn read(
        &self,
        checker: &Checker,
        job: &Job,
        request: &ImageRequest,
    ) -> Result<(ImageFacts, Subject)> {
        self.read_as(FactsKey::of(job, &[]), checker, job, request)
    }

    fn read_as(
        &self,
        key: FactsKey,
        checker: &Checker,
        job: &Job,
        request: &ImageRequest,
    ) -> Result<(ImageFacts, Subject)> {
        let image = checker.images(request)?.pop();
        let mut image =
            image.ok_or_else(|| Error::not_found(job.reference(), "contains no image"))?;
        image.0.share(&self.layers);
        let bytes = image.0.memory_size();
        let known = Known {
            image: image.clone(),
            bytes,
        };
        self.memory.insert(key, known);
        self.metrics
            .facts_bytes
            .set(i64::try_from(self.memory.weight()).unwrap_or(i64::MAX));
        Ok(image)
    }
}

impl FactsKey {
    fn of(job: &Job, overlays: &[&Overlay]) -> Self {
        let mut kept: Vec<Overlay> = Vec::new();
        for overlay in overlays.iter().filter(|it| it.may_change_imports()) {
            if !kept.contains(overlay) {
                kept.push((*overlay).clone());
            }
        }
        FactsKey {
            job: job.key.clone(),
            overlays: kept,
        }
    }
}

/// The request of an image by its digest.
pub fn request(job: &Job) -> ImageRequest {
    let request = ImageRequest::new(format!("docker://{}", job.reference()));
    match job.key.architecture.as_str() {
        "" => request,
        architecture => request.platform(format!("linux/{architecture}")),
    }
}
