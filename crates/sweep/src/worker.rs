//! Reads a shard of a plan into the store: first its layers, the largest first, then what its images have of their own.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Sweep;
use super::claims::{Claim, Claims, problem};
use super::pauses::Pauses;
use super::plan::{PlannedImage, PlannedLayer, SweepPlan, explained};
use super::shard::Shard;
use super::ticker::Ticker;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, ErrorCode, Result, caught};
use imgcheck_base::parallel;
use imgcheck_base::progress::{NoProgress, Progress};
use imgcheck_checker::{Checker, ImageRequest, UnreadReason};
use imgcheck_source::cache::{Cache, Key};
use imgcheck_source::object_storage::ObjectStorage;
use imgcheck_source::source::Image;

/// How long to wait before looking again at what another worker reads.
const POLL: Duration = Duration::from_millis(500);
/// How often to ask the store which registries want to be left alone.
const LEARN: Duration = Duration::from_secs(5);

/// How a worker of a sweep works.
///
/// ```
/// use imgcheck::{Shard, WorkerOptions};
///
/// let options = WorkerOptions { shard: "1/8".parse().unwrap(), ..WorkerOptions::default() };
/// assert_eq!(options.jobs, 4);
/// ```
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The part of the plan that the worker reads.
    pub shard: Shard,
    /// Layers and images that it reads at once.
    pub jobs: usize,
    /// How long its claims count after it died. Other workers wait so long before they read what it was reading.
    pub claim_expiry: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            shard: Shard::default(),
            jobs: 4,
            claim_expiry: Duration::from_secs(60),
        }
    }
}

/// What a worker did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepOutcome {
    /// Layers that it read.
    pub layers_read: u64,
    /// Length of the layers as stored, in bytes.
    pub bytes_read: u64,
    /// Images of its shard that the store has now.
    pub images: u64,
    /// Images of its shard that could not be read: the source, and why.
    pub failed: Vec<(String, String)>,
}

impl Sweep<'_> {
    /// Reads a shard of a plan into the store of the checker. What the store has is not read again.
    ///
    /// # Errors
    /// The checker has no store, the plan has no image, the store fails or ignores conditional writes, or the run was cancelled. What was read is kept. An image
    /// that cannot be read is in [`SweepOutcome::failed`], and the store remembers why.
    pub fn run(
        &self,
        plan: &SweepPlan,
        options: &WorkerOptions,
        make: impl Fn(&str) -> ImageRequest + Sync,
    ) -> Result<SweepOutcome> {
        let store = self.checker.store().objects().ok_or_else(no_store)?;
        plan.check_listed()?;
        let settings = make("");
        let end = settings.own_cancellation();
        let claims = Claims::open(store, options.claim_expiry, &end)?;
        let layers = plan
            .layers
            .iter()
            .map(|it| self.checker.layer_key(&it.diff_id));
        let images = plan
            .images
            .iter()
            .map(|it| self.checker.image_key(&it.name));
        let wanted = layers.chain(images).filter_map(|key| key.name()).collect();
        let worker = Worker {
            checker: self.checker,
            plan,
            options,
            make: &make,
            store,
            known: Mutex::new(names(store, &wanted, &end)?),
            claims: &claims,
            end,
            broken: Mutex::default(),
            layers_read: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            progress: settings.own_progress(),
        };
        let hosts = plan.images.iter().filter(|it| it.is_in_registry());
        let mut pauses = Pauses::new(store, self.checker.pace(), claims.clock, &worker.end);
        pauses.learn(hosts.map(PlannedImage::host));
        let pauses = Mutex::new(pauses);
        let is_done = AtomicBool::new(false);
        let beside = || {
            let mut pauses = pauses.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut renewed, mut learned) = (Instant::now(), Instant::now());
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(POLL);
                for note in pauses.tell() {
                    worker.progress.note(&note);
                }
                if learned.elapsed() >= claims.interval().min(LEARN) {
                    learned = Instant::now();
                    pauses.learn([]);
                }
                if renewed.elapsed() >= claims.interval() {
                    renewed = Instant::now();
                    claims.renew();
                }
            }
        };
        let work = || {
            let result = worker.work();
            is_done.store(true, Ordering::Relaxed);
            result
        };
        parallel::both(beside, work).1
    }
}

/// The error of a checker that has no store.
pub(crate) fn no_store() -> Error {
    Error::usage("a sweep needs a store")
        .with_help("name one: --store s3://BUCKET/PREFIX, or --store file:///DIRECTORY")
}

/// The names of the needed objects that the store already has; other plans may share the store.
fn names(
    store: &ObjectStorage,
    wanted: &HashSet<String>,
    end: &Cancellation,
) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    let listed = store.list(end, |name| {
        names.extend(wanted.get(name).cloned());
    });
    listed.map_err(|failure| problem(store, failure))?;
    Ok(names)
}

struct Worker<'w, M> {
    checker: &'w Checker,
    plan: &'w SweepPlan,
    options: &'w WorkerOptions,
    make: &'w M,
    store: &'w ObjectStorage,
    /// Names of objects that the store has.
    known: Mutex<HashSet<String>>,
    claims: &'w Claims<'w>,
    end: Cancellation,
    /// Layers that cannot be read, whichever image they are read for.
    broken: Mutex<HashMap<String, UnreadReason>>,
    layers_read: AtomicU64,
    bytes_read: AtomicU64,
    progress: Arc<dyn Progress>,
}

/// Whether to wait for another worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfClaimed {
    Leave,
    Wait,
}

impl<M: Fn(&str) -> ImageRequest + Sync> Worker<'_, M> {
    fn work(&self) -> Result<SweepOutcome> {
        self.read_layers()?;
        let failed = self.read_images()?;
        let own = (0..self.plan.images.len()).filter(|at| self.options.shard.has(*at));
        Ok(SweepOutcome {
            layers_read: self.layers_read.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            images: own.count() as u64 - failed.len() as u64,
            failed,
        })
    }

    /// The layers of the shard that no worker has read or is reading.
    fn read_layers(&self) -> Result<()> {
        let mut layers: Vec<(&PlannedLayer, &PlannedImage)> = self
            .plan
            .first_images()
            .filter(|(_, image)| image.is_in_registry())
            .filter_map(|(layer, image)| Some((self.plan.layer(layer)?, image)))
            .collect();
        layers.sort_by_key(|(layer, _)| (Reverse(layer.size), &layer.diff_id));
        let own = layers.into_iter().enumerate();
        let own = own.filter(|(at, _)| self.options.shard.has(*at));
        let missing: Vec<_> = own
            .map(|(_, it)| it)
            .filter(|(layer, _)| !self.knows(&self.checker.layer_key(&layer.diff_id)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let bytes = missing.iter().map(|(layer, _)| layer.size).sum();
        let name = format!("shard {}", self.options.shard);
        self.progress.image(&name, missing.len(), bytes);
        let read = parallel::map(self.options.jobs, missing.len(), |at| {
            let (layer, image) = missing[at];
            match self.read_layer(layer, image, IfClaimed::Leave) {
                // Another image may be readable that has the layer, too; else the image says why it is not.
                Err(error) if !is_fatal(&error) => Ok(()),
                read => read,
            }
        });
        self.progress.finish();
        read.map(drop)
    }

    fn read_layer(
        &self,
        layer: &PlannedLayer,
        image: &PlannedImage,
        if_claimed: IfClaimed,
    ) -> Result<()> {
        let key = self.checker.layer_key(&layer.diff_id);
        if let Some(reason) = self.broken().get(&layer.diff_id) {
            return Err(self.error_of(reason, &layer.diff_id));
        }
        let what = digest::hexadecimal(&layer.diff_id).unwrap_or_default();
        let Some(_claim) = self.claim(what, &key, if_claimed)? else {
            return Ok(());
        };
        let request = (self.make)(&image.source).progress(Arc::clone(&self.progress));
        let read = caught(&image.source, || {
            self.checker.keep_layer(&request, &layer.diff_id)
        });
        self.check()?;
        match &read {
            Ok(()) => {
                self.learn(&key);
                self.layers_read.fetch_add(1, Ordering::Relaxed);
                self.bytes_read.fetch_add(layer.size, Ordering::Relaxed);
            }
            Err(error) if is_about_bytes(error) => {
                let reason = reason_of(error);
                self.broken().insert(layer.diff_id.clone(), reason);
            }
            Err(_) => {}
        }
        read
    }

    /// The images of the shard, with the layers that are still missing. Returns those that cannot be read, with their references.
    fn read_images(&self) -> Result<Vec<(String, String)>> {
        let images = self.plan.images.iter().enumerate();
        let own = images.filter(|(at, _)| self.options.shard.has(*at));
        let missing: Vec<(usize, &PlannedImage)> = own
            .filter(|(_, image)| !self.knows(&self.checker.image_key(&image.name)))
            .collect();
        let ticker = Ticker::new(&*self.progress, "images", missing.len());
        let read = parallel::map(self.options.jobs, missing.len(), |at| {
            let (position, image) = missing[at];
            let read = self.read_image(image);
            ticker.tick();
            match read {
                Ok(()) => Ok(None),
                Err(error) if is_fatal(&error) => Err(error),
                Err(error) => {
                    self.checker.keep_reason(&image.name, &reason_of(&error));
                    self.check()?;
                    Ok(Some((self.plan.named(position, image), explained(&error))))
                }
            }
        })?;
        Ok(read.into_iter().flatten().collect())
    }

    fn read_image(&self, image: &PlannedImage) -> Result<()> {
        if image.is_in_registry() {
            for layer in image.layers.iter().filter_map(|at| self.plan.layer(*at)) {
                self.read_layer(layer, image, IfClaimed::Wait)?;
            }
        }
        let key = self.checker.image_key(&image.name);
        let what = digest::hexadecimal(&image.name).unwrap_or_default();
        let Some(_claim) = self.claim(what, &key, IfClaimed::Wait)? else {
            return Ok(());
        };
        let request = (self.make)(&image.source).progress(Arc::new(NoProgress));
        let planned = |found: &Image| {
            found.config_digest.as_ref() == Some(&image.config) && found.platform == image.platform
        };
        let kept = caught(&image.source, || {
            self.checker.keep_image(&request, &image.name, planned)
        });
        self.check()?;
        self.learn(&key);
        kept
    }

    /// Claims what the store does not have. `None` if it has it now, or if another worker reads it and is not waited for.
    fn claim(&self, what: &str, key: &Key, if_claimed: IfClaimed) -> Result<Option<Claim<'_>>> {
        while !self.knows(key) {
            if let Some(claim) = self.claims.claim(what)? {
                // Whoever held it before may just have finished.
                return Ok((!self.has(key)?).then_some(claim));
            }
            if if_claimed == IfClaimed::Leave {
                return Ok(None);
            }
            self.end.sleep(POLL)?;
            self.has(key)?;
        }
        Ok(None)
    }

    /// The error of a layer that could not be read for one of its images.
    fn error_of(&self, reason: &UnreadReason, diff_id: &str) -> Error {
        let subject = match self.plan.images_with(diff_id) {
            1 => "a layer of this image".to_owned(),
            count => format!("a layer that {count} images share"),
        };
        Error::new(reason.code, subject, reason.message.clone())
    }

    /// Whether the store is known to have something.
    fn knows(&self, key: &Key) -> bool {
        key.name().is_some_and(|name| self.known().contains(&name))
    }

    /// Whether the store has something now.
    fn has(&self, key: &Key) -> Result<bool> {
        let name = key.name().unwrap_or_default();
        let state = self.store.state(&name, &self.end);
        let found = state.map_err(|failure| problem(self.store, failure))?;
        if found.is_some() {
            self.known().insert(name);
        }
        Ok(found.is_some())
    }

    fn learn(&self, key: &Key) {
        self.known().extend(key.name());
    }

    /// # Errors
    /// The run was cancelled, or the store failed.
    fn check(&self) -> Result<()> {
        self.end.check()?;
        check_store(self.checker.store(), self.store)
    }

    fn known(&self) -> MutexGuard<'_, HashSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broken(&self) -> MutexGuard<'_, HashMap<String, UnreadReason>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Errors
/// The store failed since the last call.
pub(crate) fn check_store(cache: &Cache, store: &ObjectStorage) -> Result<()> {
    match cache.warnings().into_iter().next() {
        None => Ok(()),
        Some(text) => {
            let own = format!("the store {}: ", store.address());
            let text = text.strip_prefix(&own).unwrap_or(&text).to_owned();
            Err(problem(
                store,
                imgcheck_source::object_storage::Failure::Problem(text),
            ))
        }
    }
}

/// Whether an error ends the worker: the run was cancelled, or the store fails.
fn is_fatal(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Cancelled | ErrorCode::Usage) || is_of_store(error)
}

/// Whether the store fails, not a registry.
fn is_of_store(error: &Error) -> bool {
    error
        .subject()
        .is_some_and(|it| it.starts_with("the store "))
}

/// Whether another image with the same layer would have the same problem.
fn is_about_bytes(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::Damaged | ErrorCode::Unsupported | ErrorCode::Limit | ErrorCode::Internal
    )
}

fn reason_of(error: &Error) -> UnreadReason {
    UnreadReason {
        code: error.code(),
        message: error.message(),
    }
}
