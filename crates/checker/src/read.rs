//! Reads images into facts.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::facts::ImageFacts;
use super::facts::{FactsSchema, ImageLayer, is_encoded};
use super::modules::read_modules;
use super::request::ImageRequest;
use super::state::Checker;
use super::subject::Subject;
use super::subject::{LayerOrigin, Origin};
use imgcheck_base::error::{Error, Result, caught};
use imgcheck_base::limits::Limit;
use imgcheck_base::reference::name::Name;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_launch::Overlay;
use imgcheck_layer::read_linked_files;
use imgcheck_layer::{ReadContext, ReadMethod, SourceLayers, Trust};
use imgcheck_source::source::registry::Registries;
use imgcheck_source::source::{self, Image, LayerBlob, LayerLocation, Request, registry};

/// Number of leading bytes that identify a file of facts.
const START: usize = 64;

impl Checker {
    /// Reads the only image of a request.
    ///
    /// # Errors
    /// The image cannot be found or read completely, the request was cancelled, or it has several images: then
    /// [`images`](Self::images) reads them all.
    pub fn facts(&self, request: &ImageRequest) -> Result<ImageFacts> {
        let mut images = self.images(request)?;
        match (images.pop(), images.len()) {
            (Some((facts, _)), 0) => Ok(facts),
            (_, others) => {
                let problem = format!("{} contains {} images", request.name(), others + 1);
                let help = "choose one: docker-archive:PATH:REFERENCE, or --platform";
                Err(Error::usage(problem).with_help(help))
            }
        }
    }

    /// Reads every image of a request, each with the reference that it records. An image with several tags is several images,
    /// because each tag is a promise.
    ///
    /// # Errors
    /// An image cannot be found or read completely, or the request was cancelled.
    pub fn images(&self, request: &ImageRequest) -> Result<Vec<(ImageFacts, Subject)>> {
        self.images_or_known(request, |_, _| None)
    }

    /// The images of a request as [`images`](Self::images), or what is known of those whose layers need not be read.
    pub(crate) fn images_or_known<T: Clone + From<ImageFacts>>(
        &self,
        request: &ImageRequest,
        known: impl Fn(&ReadContext, &Image) -> Option<T>,
    ) -> Result<Vec<(T, Subject)>> {
        let images = caught(request.name(), || images(self, request, known));
        // After an error the source may not have finished it.
        request.progress.finish();
        images
    }

    /// The digest of the manifest or index of an image in a registry, by a HEAD request. No layer is read.
    ///
    /// # Errors
    /// The request does not name an image in a registry, the registry does not have it or denies access, or the request was cancelled.
    pub fn resolve(&self, request: &ImageRequest) -> Result<String> {
        self.digest_of(request, |registries| registries)
    }

    /// Same as [`resolve`](Self::resolve), for whoever cannot wait: a registry that limits requests is an error at once.
    ///
    /// # Errors
    /// Same as [`resolve`](Self::resolve).
    pub fn resolve_at_once(&self, request: &ImageRequest) -> Result<String> {
        self.digest_of(request, |registries| registries.at_once())
    }

    fn digest_of(
        &self,
        request: &ImageRequest,
        access: impl Fn(Registries) -> Registries,
    ) -> Result<String> {
        let Some(reference) = request.in_registry() else {
            let problem = format!("{} is not an image in a registry", request.name());
            return Err(Error::usage(problem).with_help("write docker://REFERENCE"));
        };
        request.cancellation.check()?;
        let mut source = source_request(self, request);
        source.registries = access(source.registries);
        registry::digest_of(reference, &source)
    }
}

/// All images of a request, each with the reference that it records.
fn images<T: Clone + From<ImageFacts>>(
    checker: &Checker,
    request: &ImageRequest,
    known: impl Fn(&ReadContext, &Image) -> Option<T>,
) -> Result<Vec<(T, Subject)>> {
    if let Some(reference) = &request.reference {
        reference.parse::<Name>()?;
    }
    request.cancellation.check()?;
    if let Some(path) = facts_file(&request.target) {
        let (facts, subject) = saved(checker, request, path)?;
        return Ok(vec![(facts.into(), subject)]);
    }
    let mut started = Instant::now();
    let bounds = checker.bounds(request.limits, &request.cancellation);
    let context = checker
        .layers()?
        .request(request.depth, bounds, &*request.progress)
        .with_trust(Trust {
            strict: checker.policy.strict,
            no_lazy: checker.no_lazy,
        });
    let source_request = source_request(checker, request);
    let mut layers = SourceLayers::new(&context);
    let images = source::read(&request.target, &source_request, &mut layers)?;
    if request.reference.is_some() {
        check_one_image(&images)?;
    }
    let mut read_before = HashMap::new();
    let read = |image: Image| {
        request.cancellation.check()?;
        let (read, methods) = match checker.attested(request, &image)? {
            Some(facts) => (facts.into(), Vec::new()),
            None => match known(&context, &image) {
                Some(known) => (known, vec![ReadMethod::Cache; image.layers.len()]),
                None => {
                    let (facts, methods) =
                        facts(checker, &context, request, &mut read_before, &image)?;
                    (facts.into(), methods)
                }
            },
        };
        let reading = std::mem::replace(&mut started, Instant::now()).elapsed();
        Ok((read, subject(request, image, &methods, reading)))
    };
    let read: Vec<_> = images.into_iter().map(read).collect::<Result<_>>()?;
    let others = request.aliases.iter().map(|alias| request.renamed(alias));
    let others: Vec<_> = others.flat_map(|alias| under_name(&read, &alias)).collect();
    Ok(read.into_iter().chain(others).collect())
}

/// Images under another name, which is a promise of its own.
fn under_name<T: Clone>(images: &[(T, Subject)], alias: &ImageRequest) -> Vec<(T, Subject)> {
    let named = |(read, subject): &(T, Subject)| {
        let subject = Subject {
            typed: alias.typed(),
            typed_name: alias.typed_name(),
            named: alias.target.to_string(),
            reference: Some(alias.typed()),
            ..subject.clone()
        };
        (read.clone(), subject)
    };
    images.iter().map(named).collect()
}

/// The subject of an image. `methods` says how each layer was read; it is empty if none was.
pub(crate) fn subject(
    request: &ImageRequest,
    image: Image,
    methods: &[ReadMethod],
    reading: Duration,
) -> Subject {
    let layers = image.layers.iter().enumerate();
    let layers = layers.map(|(at, blob)| layer_origin(blob, methods.get(at).copied()));
    Subject {
        typed: request.typed(),
        typed_name: request.typed_name(),
        named: request.target.to_string(),
        day: request.day,
        overlay: Overlay::default(),
        limits: request.limits,
        cancellation: request.cancellation.clone(),
        origin: Origin {
            source: image.kind,
            access: image.access,
            layers: layers.collect(),
            digest: image.digest,
            attestations: image.attestations,
            reading,
        },
        own_frameworks: Arc::default(),
        reference: request.reference.clone().or(image.reference),
    }
}

pub(crate) fn source_request(checker: &Checker, request: &ImageRequest) -> Request {
    let registries = match request.cached_only {
        true => &checker.offline,
        false => &checker.registries,
    };
    Request {
        platform: request.platform.clone(),
        all_platforms: request.all_platforms,
        registries: registries.clone(),
        without_registry: request.without_registry.clone(),
        credentials: request.credentials.clone(),
        cache: checker.cache.with_cancellation(&request.cancellation),
        bounds: checker.bounds(request.limits, &request.cancellation),
    }
}

/// The facts of images by configuration and layers, and how each layer was read.
type KnownImages = HashMap<(Option<String>, Vec<LayerLocation>), (ImageFacts, Vec<ReadMethod>)>;

/// The facts of an image, which are shared with an image that was read before and differs in its reference only.
fn facts(
    checker: &Checker,
    context: &ReadContext,
    request: &ImageRequest,
    known: &mut KnownImages,
    image: &Image,
) -> Result<(ImageFacts, Vec<ReadMethod>)> {
    let locations = image.layers.iter().map(|layer| layer.data.location());
    let key = (image.config_digest.clone(), locations.collect());
    if let Some(same) = known
        .get(&key)
        .filter(|(it, _)| it.config == image.config && it.platform == image.platform)
    {
        return Ok(same.clone());
    }
    let mut layers = context.read_image(image)?;
    read_linked_files(context, &image.layers, &mut layers)?;
    read_modules(checker, context, image, &request.overlays, &mut layers)?;
    let methods = layers.iter().map(|layer| layer.method).collect();
    let layers = image.layers.iter().zip(layers);
    let facts = ImageFacts {
        schema: FactsSchema::V1,
        reference: None,
        depth: context.depth,
        platform: image.platform.clone(),
        config_digest: image.config_digest.clone(),
        config: image.config.clone(),
        layers: layers
            .map(|(blob, layer)| ImageLayer {
                diff_id: blob.diff_id.clone(),
                facts: layer.facts,
            })
            .collect(),
    };
    let read: (ImageFacts, Vec<ReadMethod>) = (facts, methods);
    known.insert(key, read.clone());
    Ok(read)
}

fn layer_origin(blob: &LayerBlob, method: Option<ReadMethod>) -> LayerOrigin {
    LayerOrigin {
        digest: blob.digest.clone(),
        size: blob.size,
        method,
    }
}

/// A file of [`ImageFacts::encode`], if the target is one.
fn facts_file(target: &ImageReference) -> Option<&Path> {
    let ImageReference::Path(path) = target else {
        return None;
    };
    if !path.is_file() {
        return None;
    }
    let mut start = Vec::with_capacity(START);
    let file = File::open(path).ok()?;
    file.take(START as u64).read_to_end(&mut start).ok()?;
    is_encoded(&start).then_some(path)
}

/// The facts that a file holds, with the reference that they were read by unless the request names another.
fn saved(checker: &Checker, request: &ImageRequest, path: &Path) -> Result<(ImageFacts, Subject)> {
    let started = Instant::now();
    let name = path.display().to_string();
    let limits = checker.limits_of(request);
    let limit = limits.of(Limit::FactsBytes).saturating_add(1);
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| Error::io(&name, error))?;
    limits
        .check(Limit::FactsBytes, bytes.len() as u64)
        .map_err(|exceeded| Error::limit(&name, exceeded))?;
    let facts = ImageFacts::decode_within(&bytes, &limits)
        .map_err(|error| error.in_context(format!("{name}: ")))?;
    let mut subject = Subject::new("", request.day);
    subject.named = name;
    subject.typed = request.typed();
    subject.typed_name = request.typed_name();
    subject.limits = request.limits;
    subject.cancellation = request.cancellation.clone();
    subject.reference = request.reference.clone().or(facts.reference.clone());
    subject.origin.reading = started.elapsed();
    Ok((facts, subject))
}

/// A reference that the user gives names one image, on any number of platforms.
fn check_one_image(images: &[Image]) -> Result<()> {
    let several = images.iter().enumerate().any(|(index, image)| {
        let same_platform = |other: &&Image| other.platform == image.platform;
        let twin = images[..index].iter().find(same_platform);
        twin.is_some_and(|twin| twin.config_digest != image.config_digest)
    });
    if !several {
        return Ok(());
    }
    let names: Vec<&str> = images
        .iter()
        .filter_map(|image| image.reference.as_deref())
        .collect();
    let problem = format!(
        "--as names one image, but the source has {}",
        names.join(", ")
    );
    Err(Error::usage(problem).with_help("choose one: docker-archive:PATH:REFERENCE"))
}
