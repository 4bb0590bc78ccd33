//! What a sweep keeps in its store: the facts of each layer once, and of each image what is its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use oci_spec::image::ImageConfiguration;
use serde::{Deserialize, Serialize};

use super::analyze::Analysis;
use super::facts::{FactsSchema, ImageFacts, ImageLayer};
use super::judge;
use super::model::Models;
use super::modules::read_modules;
use super::read::source_request;
use super::request::ImageRequest;
use super::state::Checker;
use super::subject::{Origin, Subject};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_elf::Depth;
use imgcheck_image::{EntryKind, LayerFacts};
use imgcheck_layer::cache::{FactsCache, version};
use imgcheck_layer::read_linked_files;
use imgcheck_layer::{ReadContext, ReadLayer, SourceLayers, Trust};
use imgcheck_report::ImageReport;
use imgcheck_source::cache::{Cache, Key};
use imgcheck_source::source::{self, Image, LayerBlob, registry};

/// An image in the store.
#[derive(Serialize, Deserialize)]
struct KeptImage {
    platform: String,
    config_digest: Option<String>,
    /// JSON.
    config: Vec<u8>,
    layers: Vec<KeptLayer>,
}

/// A layer of an image in the store.
#[derive(Serialize, Deserialize)]
struct KeptLayer {
    diff_id: String,
    /// Its facts, if they are not in the store on their own: nobody read every byte of the layer, so they count for this image only.
    own: Option<LayerFacts>,
    /// Entries that are different in this image, by position: files that links give a meaning, and sources that are imported.
    changed: Vec<(usize, EntryKind)>,
}

/// Why an image could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadReason {
    /// The code of the error.
    pub code: ErrorCode,
    /// The error message.
    pub message: String,
}

/// Decoded facts of layers that several images share.
#[derive(Default)]
pub struct SharedLayers(Mutex<HashMap<String, Arc<LayerFacts>>>);

/// Reports of images that share models.
pub struct Reports<'c> {
    checker: &'c Checker,
    models: Models,
}

impl Checker {
    /// When registries may be contacted.
    pub fn pace(&self) -> &registry::Pace {
        self.registries.pace()
    }

    /// Lists the repositories of a registry.
    pub fn repositories(&self, registry: &str, request: &ImageRequest) -> registry::Listing {
        registry::repositories(registry, &source_request(self, request))
    }

    /// Lists the tags of a repository.
    pub fn tags(&self, repository: &str, request: &ImageRequest) -> registry::Listing {
        registry::tags(repository, &source_request(self, request))
    }

    /// Lists the tags of a Harbor, or of one of its projects.
    pub fn harbor(
        &self,
        host: &str,
        project: Option<&str>,
        request: &ImageRequest,
    ) -> registry::TagListing {
        registry::harbor(host, project, &source_request(self, request))
    }

    /// Lists the tags in the container registries of a GitLab, or of one of its groups or projects.
    pub fn gitlab(
        &self,
        host: &str,
        place: Option<&str>,
        request: &ImageRequest,
    ) -> registry::TagListing {
        registry::gitlab(host, place, &source_request(self, request))
    }

    /// The names of all images of the container engine that a request is for.
    ///
    /// # Errors
    /// No engine answers, or the request was cancelled.
    pub fn engine_images(&self, request: &ImageRequest) -> Result<Vec<String>> {
        let images = source::all_images(&request.target, &request.cancellation)?;
        let images = images.into_iter().flatten();
        Ok(images.flat_map(|image| image.names).collect())
    }

    /// The images of a request, as their source describes them. No layer is read.
    ///
    /// # Errors
    /// Same as [`images`](Self::images).
    pub fn describe(&self, request: &ImageRequest) -> Result<Vec<Image>> {
        source::open(&request.target, &source_request(self, request))
    }

    /// The cache, which a sweep uses as its store.
    pub fn store(&self) -> &Cache {
        &self.cache
    }

    /// The version of facts that this checker writes and reads.
    pub fn facts_version(&self) -> String {
        version(Depth::Default, &self.limits)
    }

    /// Reads one layer of an image in a registry to its end, into the store.
    ///
    /// # Errors
    /// Same as [`images`](Self::images).
    pub fn keep_layer(&self, request: &ImageRequest, diff_id: &str) -> Result<()> {
        let images = self.describe(request)?;
        let blobs = images.iter().flat_map(|image| &image.layers);
        let Some(blob) = blobs.into_iter().find(|blob| blob.diff_id == diff_id) else {
            let problem = format!("it has no layer {diff_id} any more");
            return Err(Error::not_found(request.name(), problem).with_help("make a new plan"));
        };
        let context = self.sweep_context(request)?;
        context.read_layers(std::slice::from_ref(blob)).map(drop)
    }

    /// Reads an image completely and keeps it in the store under this name. `chosen` says which image of the request it is.
    ///
    /// # Errors
    /// Same as [`images`](Self::images).
    pub fn keep_image(
        &self,
        request: &ImageRequest,
        name: &str,
        chosen: impl Fn(&Image) -> bool,
    ) -> Result<()> {
        let context = self.sweep_context(request)?;
        let mut layers = SourceLayers::new(&context);
        let source_request = source_request(self, request);
        let images = source::read(&request.target, &source_request, &mut layers)?;
        let Some(image) = images.into_iter().find(chosen) else {
            let problem = "it is not the image that was planned";
            return Err(Error::not_found(request.name(), problem).with_help("make a new plan"));
        };
        let before = context.read_image(&image)?;
        let mut after = before.clone();
        read_linked_files(&context, &image.layers, &mut after)?;
        read_modules(self, &context, &image, &[], &mut after)?;
        let layers = image.layers.iter().zip(before.iter().zip(&after));
        let config = serde_json::to_vec(&*image.config);
        let kept = KeptImage {
            platform: image.platform.clone(),
            config_digest: image.config_digest.clone(),
            config: config.map_err(|error| Error::output("the image configuration", error))?,
            layers: layers
                .map(|(blob, (before, after))| KeptLayer::of(blob, before, after))
                .collect(),
        };
        let bytes = postcard::to_stdvec(&kept);
        let bytes = bytes.map_err(|error| Error::output("the facts of an image", error))?;
        self.cache.put(&self.image_key(name), &bytes);
        Ok(())
    }

    fn sweep_context<'r>(&self, request: &'r ImageRequest) -> Result<ReadContext<'r>> {
        let bounds = self.bounds(request.limits, &request.cancellation);
        let context = self
            .layers()?
            .request(Depth::Default, bounds, &*request.progress);
        // What others will believe is read to its end.
        Ok(context.with_trust(Trust {
            strict: false,
            no_lazy: true,
        }))
    }

    /// An image from the store; `None` if it is not there. The facts of its layers are, unless somebody removed them.
    ///
    /// # Errors
    /// The store has the image, but not all of its layers.
    pub fn kept_image(&self, name: &str, shared: &SharedLayers) -> Result<Option<ImageFacts>> {
        let Some(bytes) = self.cache.get(&self.image_key(name)) else {
            return Ok(None);
        };
        let damaged = |problem: String| Error::damaged(format!("{name} in the store"), problem);
        let kept: KeptImage =
            postcard::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
        let config: ImageConfiguration =
            serde_json::from_slice(&kept.config).map_err(|error| damaged(error.to_string()))?;
        let cache = FactsCache::new(self.cache.clone(), Depth::Default, &self.limits);
        let layer = |layer: KeptLayer| {
            let diff_id = layer.diff_id.clone();
            let missing = || damaged(format!("the facts of its layer {diff_id} are missing"));
            Ok(ImageLayer {
                facts: layer.facts(&cache, shared).ok_or_else(missing)?,
                diff_id,
            })
        };
        Ok(Some(ImageFacts {
            schema: FactsSchema::V1,
            reference: None,
            depth: Depth::Default,
            platform: kept.platform,
            config_digest: kept.config_digest,
            config: Arc::new(config),
            layers: kept.layers.into_iter().map(layer).collect::<Result<_>>()?,
        }))
    }

    /// Keeps why an image could not be read.
    pub fn keep_reason(&self, name: &str, reason: &UnreadReason) {
        if let Ok(bytes) = postcard::to_stdvec(reason) {
            self.cache.put(&self.unread_key(name), &bytes);
        }
    }

    /// Why an image could not be read, if a worker tried.
    pub fn kept_reason(&self, name: &str) -> Option<UnreadReason> {
        let bytes = self.cache.get(&self.unread_key(name))?;
        postcard::from_bytes(&bytes).ok()
    }

    /// The key of the facts of a layer.
    pub fn layer_key(&self, diff_id: &str) -> Key {
        Key::Facts {
            diff_id: diff_id.to_owned(),
            version: self.facts_version(),
        }
    }

    /// The key of an image.
    pub fn image_key(&self, name: &str) -> Key {
        Key::Image {
            image: name.to_owned(),
            version: self.facts_version(),
        }
    }

    fn unread_key(&self, name: &str) -> Key {
        Key::Unread {
            image: name.to_owned(),
            version: self.facts_version(),
        }
    }
}

impl KeptLayer {
    fn of(blob: &LayerBlob, before: &ReadLayer, after: &ReadLayer) -> Self {
        let is_kept = before.method.is_verified();
        let pairs = before.facts.entries.iter().zip(&after.facts.entries);
        let changed = pairs.enumerate().filter(|(_, (one, other))| one != other);
        KeptLayer {
            diff_id: blob.diff_id.clone(),
            own: (!is_kept).then(|| LayerFacts::clone(&after.facts)),
            changed: match is_kept {
                true => changed
                    .map(|(at, (_, after))| (at, after.kind.clone()))
                    .collect(),
                false => Vec::new(),
            },
        }
    }

    /// `None` if the store does not have them.
    fn facts(self, cache: &FactsCache, shared: &SharedLayers) -> Option<Arc<LayerFacts>> {
        if let Some(own) = self.own {
            return Some(Arc::new(own));
        }
        let facts = shared.get_or_read(&self.diff_id, cache)?;
        if self.changed.is_empty() {
            return Some(facts);
        }
        let mut facts = LayerFacts::clone(&facts);
        for (at, kind) in self.changed {
            facts.entries.get_mut(at)?.kind = kind;
        }
        Some(Arc::new(facts))
    }
}

impl SharedLayers {
    fn get_or_read(&self, diff_id: &str, cache: &FactsCache) -> Option<Arc<LayerFacts>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(facts) = known().get(diff_id) {
            return Some(Arc::clone(facts));
        }
        let facts = Arc::new(cache.get(diff_id)?);
        known().insert(diff_id.to_owned(), Arc::clone(&facts));
        Some(facts)
    }
}

impl<'c> Reports<'c> {
    /// No models yet.
    pub fn new(checker: &'c Checker) -> Self {
        Reports {
            checker,
            models: Models::default(),
        }
    }

    /// The report of an image, by the rules, targets and policy of any checker with the same limits.
    ///
    /// # Errors
    /// Same as [`Checker::report`].
    pub fn of(
        &mut self,
        checker: &Checker,
        facts: &ImageFacts,
        subject: &Subject,
    ) -> Result<ImageReport> {
        let analysis = Analysis::of(self.checker, &mut self.models, facts, subject)?;
        let fleet = judge::fleet(&checker.policy, &[&analysis]);
        Ok(judge::judge(checker, &analysis, &fleet)?.report)
    }
}

impl ImageRequest {
    /// What the image behind a reference of a plan is judged as, with the day, limits and cancellation of this request.
    pub fn subject_of(&self, reference: &str, digest: Option<&str>) -> Subject {
        let subject = Subject::new(reference, self.day).cancellation(self.cancellation.clone());
        Subject {
            limits: self.limits,
            origin: Origin {
                digest: digest.map(str::to_owned),
                ..subject.origin
            },
            ..subject
        }
    }
}
