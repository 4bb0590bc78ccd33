//! From sources to a plan: lists references, asks for their digests, and describes each image once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};

use super::listed::Listed;
use super::plan::{
    PlannedImage, PlannedLayer, PlannedReference, REGISTRY, Skipped, SweepPlan, SweepTotals,
};
use super::sources::{Listing, Source};
use super::ticker::Ticker;
use crate::checker::{Checker, ImageRequest};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::glob::glob;
use crate::parallel;
use crate::reference::name::Name;
use crate::source::Image;

/// Requests at once: they wait for the network.
const REQUESTS: usize = 16;
/// Why an image is skipped that a filter leaves out after its configuration was read.
const FILTERED: &str = "filtered";

/// What a plan is made of.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{Checker, SweepRequest};
///
/// let request = SweepRequest::new(["testdata/sample"])?.include("*pytorch*");
/// let (plan, totals) = Checker::builder().build()?.plan_sweep(&request)?;
/// assert!(plan.is_complete());
/// assert_eq!(totals.listed, totals.planned);
/// # Ok(())
/// # }
/// ```
pub struct SweepRequest {
    sources: Vec<Source>,
    include: Vec<String>,
    exclude: Vec<String>,
    tags: Vec<String>,
    since: Option<NaiveDate>,
    known: Option<SweepPlan>,
    make: Box<dyn Fn(&str) -> ImageRequest + Send + Sync>,
}

/// What a source has: the same for all references with a digest.
type Described = Arc<std::result::Result<Vec<Planned>, (String, String)>>;

/// An image before its layers have positions.
struct Planned {
    image: PlannedImage,
    layers: Vec<PlannedLayer>,
    /// What the image records of itself.
    reference: Option<String>,
    created: Option<DateTime<Utc>>,
}

impl SweepRequest {
    /// Sources: `registry:HOST[/PREFIX]`, `cluster:[CONTEXT]`, `pods:FILE`, a file with an image in each line, or a directory of archives.
    ///
    /// # Errors
    /// A text is none of these.
    pub fn new<S: AsRef<str>>(sources: impl IntoIterator<Item = S>) -> Result<Self> {
        let sources = sources.into_iter().map(|it| it.as_ref().parse());
        Ok(SweepRequest {
            sources: sources.collect::<Result<_>>()?,
            include: Vec::new(),
            exclude: Vec::new(),
            tags: Vec::new(),
            since: None,
            known: None,
            make: Box::new(|image| ImageRequest::new(image)),
        })
    }

    /// Keeps only references that match this pattern, in which `*` and `?` stand for other characters; with several, one of them.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<String>) -> Self {
        self.include.push(pattern.into());
        self
    }

    /// Leaves out references that match this pattern.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<String>) -> Self {
        self.exclude.push(pattern.into());
        self
    }

    /// Keeps only references whose tag matches this pattern; with several, one of them.
    #[must_use]
    pub fn tag(mut self, pattern: impl Into<String>) -> Self {
        self.tags.push(pattern.into());
        self
    }

    /// Leaves out images that were built before this day, by their own configuration.
    #[must_use]
    pub fn since(mut self, day: NaiveDate) -> Self {
        self.since = Some(day);
        self
    }

    /// Takes over the references of an earlier plan that was not complete; they are not asked for again.
    #[must_use]
    pub fn resume(mut self, plan: SweepPlan) -> Self {
        self.known = Some(plan);
        self
    }

    /// How images are asked for: platform, credentials, limits, cancellation, progress.
    #[must_use]
    pub fn reading(mut self, make: impl Fn(&str) -> ImageRequest + Send + Sync + 'static) -> Self {
        self.make = Box::new(make);
        self
    }

    fn wants(&self, listed: &Listed) -> bool {
        let name = listed.reference.as_ref().unwrap_or(&listed.source);
        let matches = |patterns: &[String], text: &str| patterns.iter().any(|it| glob(text, it));
        let tag = || name.parse::<Name>().ok().and_then(|it| it.canonical().tag);
        (self.include.is_empty() || matches(&self.include, name))
            && !matches(&self.exclude, name)
            && (self.tags.is_empty() || tag().is_some_and(|tag| matches(&self.tags, &tag)))
    }
}

impl Checker {
    /// Lists the references of a sweep and describes their images. No layer is read.
    ///
    /// What cannot be described is skipped, with a reason; a list that cannot be read to its end makes the plan
    /// [incomplete](SweepPlan::is_complete).
    ///
    /// # Errors
    /// A file cannot be read or is wrong, a cluster or the store does not answer, or the run was cancelled.
    pub fn plan_sweep(&self, request: &SweepRequest) -> Result<(SweepPlan, SweepTotals)> {
        let mut listing = Listing::default();
        for source in &request.sources {
            source.list(self, &request.make, &mut listing)?;
        }
        let mut plan = SweepPlan {
            unlisted: listing.unlisted,
            ..SweepPlan::default()
        };
        let mut seen = HashSet::new();
        let mut listed = Vec::new();
        for it in listing.listed {
            match request.wants(&it) {
                false => plan.filtered += 1,
                true if is_artifact(&it) => plan.filtered += 1,
                // One list may name what another has.
                true if seen.insert((it.reference.clone(), it.source.clone())) => listed.push(it),
                true => {}
            }
        }
        let mut builder = Builder::new(plan, request.since);
        if let Some(known) = &request.known {
            let mut places: HashMap<&str, Vec<&PlannedReference>> = HashMap::new();
            for it in &known.references {
                places.entry(&it.reference).or_default().push(it);
            }
            listed.retain(|it| {
                let reference = it.reference.as_deref().unwrap_or_default();
                let same = places.get(reference).into_iter().flatten();
                builder.take_over(known, same.copied(), it.pods) == 0
            });
        }
        self.describe_all(request, &listed, &mut builder)?;
        let plan = builder.finish();
        let known = self.known_layers(&request.make)?;
        let totals = plan.totals(&known);
        Ok((plan, totals))
    }

    fn describe_all(
        &self,
        request: &SweepRequest,
        listed: &[Listed],
        builder: &mut Builder,
    ) -> Result<()> {
        let end = (request.make)("").own_cancellation();
        let progress = (request.make)("").own_progress();
        let ticker = Ticker::new(&*progress, "references resolved", listed.len());
        let pinned = parallel::map(REQUESTS, listed.len(), |at| {
            end.check()?;
            let pinned = self.pinned(&(request.make)(&listed[at].source).in_own_registry());
            ticker.tick();
            Ok::<_, Error>(pinned)
        })?;
        end.check()?;
        let mut sources: Vec<&str> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for source in pinned.iter().flatten() {
            places.entry(key_of(source)).or_insert_with(|| {
                sources.push(source);
                sources.len() - 1
            });
        }
        let ticker = Ticker::new(&*progress, "images described", sources.len());
        let described: Vec<Described> = parallel::map(REQUESTS, sources.len(), |at| {
            end.check()?;
            let images = self.describe(&(request.make)(sources[at]).in_own_registry());
            ticker.tick();
            let images = images.and_then(|images| planned(sources[at], images));
            Ok::<_, Error>(Arc::new(images.map_err(|error| reason(&error))))
        })?;
        end.check()?;
        for (listed, source) in listed.iter().zip(&pinned) {
            match source {
                Ok(source) => match &*described[places[key_of(source)]] {
                    Ok(images) => builder.add(listed, images),
                    Err((code, message)) => builder.skip(listed, code, message),
                },
                Err(error) => {
                    let (code, message) = reason(error);
                    builder.skip(listed, &code, &message);
                }
            }
        }
        Ok(())
    }

    /// The source of an image; in a registry by digest.
    fn pinned(&self, request: &ImageRequest) -> Result<String> {
        let Some(reference) = request.in_registry() else {
            return Ok(request.name().to_owned());
        };
        let name = reference.parse::<Name>()?.canonical();
        let digest = match &name.digest {
            Some(digest) => digest.clone(),
            None => self.resolve(request)?,
        };
        let registry = name.registry.unwrap_or_default();
        Ok(format!("{REGISTRY}{registry}/{}@{digest}", name.repository))
    }

    /// The diff IDs of the layers whose facts the store has. Without a store: none.
    fn known_layers(&self, make: &dyn Fn(&str) -> ImageRequest) -> Result<HashSet<String>> {
        let mut known = HashSet::new();
        let Some(objects) = self.store().objects() else {
            return Ok(known);
        };
        let prefix = format!("facts-{}-", self.facts_version());
        let listed = objects.list(&make("").own_cancellation(), |name| {
            known.extend(
                name.strip_prefix(&prefix)
                    .map(|hex| format!("sha256:{hex}")),
            );
        });
        listed.map_err(|failure| super::claims::problem(objects, failure))?;
        Ok(known)
    }
}

/// Signatures, attestations and SBOMs are stored under tags that contain a digest.
fn is_artifact(listed: &Listed) -> bool {
    let tag = listed
        .reference
        .as_deref()
        .and_then(|it| it.rsplit_once(':'));
    tag.is_some_and(|(_, tag)| {
        let hex = tag.strip_prefix("sha256-").map(|it| it.split('.').next());
        hex.flatten().is_some_and(crate::digest::is_hexadecimal)
    })
}

/// What is the same for equal images: a digest, or the whole source.
fn key_of(source: &str) -> &str {
    let digest = source
        .strip_prefix(REGISTRY)
        .and_then(|it| it.split_once('@'));
    digest.map_or(source, |(_, digest)| digest)
}

fn reason(error: &Error) -> (String, String) {
    (error.code().as_str().to_owned(), error.to_string())
}

fn planned(source: &str, images: Vec<Image>) -> Result<Vec<Planned>> {
    let image = |image: Image| {
        let Some(config) = image.config_digest else {
            let problem = "a root directory has no digest by which a store could know it";
            return Err(
                Error::unsupported(source, problem).with_help("check it with `imgcheck check`")
            );
        };
        let name = match &image.digest {
            Some(digest) if source.starts_with(REGISTRY) => digest.clone(),
            // Nobody has verified that the layers have the digests that the configuration claims.
            _ => sha256(format!("{source} {config}").as_bytes()),
        };
        let created = image.config.created().as_deref();
        let created = created.and_then(|it| DateTime::parse_from_rfc3339(it).ok());
        Ok(Planned {
            layers: image
                .layers
                .into_iter()
                .map(|layer| PlannedLayer {
                    diff_id: layer.diff_id,
                    digest: layer.digest,
                    size: layer.size,
                })
                .collect(),
            image: PlannedImage {
                name,
                source: source.to_owned(),
                digest: image.digest,
                config,
                platform: image.platform,
                layers: Vec::new(),
            },
            reference: image.reference,
            created: created.map(|it| it.with_timezone(&Utc)),
        })
    };
    images.into_iter().map(image).collect()
}

/// Adds images to a plan, each image and each layer once.
struct Builder {
    plan: SweepPlan,
    since: Option<DateTime<Utc>>,
    layers: HashMap<String, u32>,
    images: HashMap<String, u32>,
}

impl Builder {
    fn new(plan: SweepPlan, since: Option<NaiveDate>) -> Self {
        Builder {
            plan,
            since: since.and_then(|day| Some(day.and_hms_opt(0, 0, 0)?.and_utc())),
            layers: HashMap::new(),
            images: HashMap::new(),
        }
    }

    fn skip(&mut self, listed: &Listed, code: &str, message: &str) {
        self.plan.skipped.push(Skipped {
            reference: listed.reference.as_ref().unwrap_or(&listed.source).clone(),
            source: listed.source.clone(),
            code: code.to_owned(),
            message: message.to_owned(),
        });
    }

    fn add(&mut self, listed: &Listed, images: &[Planned]) {
        let is_old = |it: &&Planned| self.since > it.created && it.created.is_some();
        if let Some(created) = images.iter().find(is_old).and_then(|it| it.created) {
            let day = created.date_naive();
            self.skip(listed, FILTERED, &format!("it was built on {day}"));
            return;
        }
        for planned in images {
            let image = self.image(&planned.image, &planned.layers);
            let recorded = || planned.reference.clone();
            let reference = listed.reference.clone().or_else(recorded);
            self.plan.references.push(PlannedReference {
                reference: reference.unwrap_or_else(|| listed.source.clone()),
                image,
                pods: listed.pods,
            });
        }
    }

    fn image(&mut self, image: &PlannedImage, layers: &[PlannedLayer]) -> u32 {
        if let Some(at) = self.images.get(&image.name) {
            return *at;
        }
        let layers = layers.iter().map(|layer| self.layer(layer)).collect();
        let at = u32::try_from(self.plan.images.len()).unwrap_or(u32::MAX);
        self.images.insert(image.name.clone(), at);
        self.plan.images.push(PlannedImage {
            layers,
            ..image.clone()
        });
        at
    }

    fn layer(&mut self, layer: &PlannedLayer) -> u32 {
        if let Some(at) = self.layers.get(&layer.diff_id) {
            return *at;
        }
        let at = u32::try_from(self.plan.layers.len()).unwrap_or(u32::MAX);
        self.layers.insert(layer.diff_id.clone(), at);
        self.plan.layers.push(layer.clone());
        at
    }

    /// Adds these references of an earlier plan, and returns how many they are.
    fn take_over<'p>(
        &mut self,
        known: &'p SweepPlan,
        references: impl Iterator<Item = &'p PlannedReference>,
        pods: Option<u64>,
    ) -> usize {
        let mut taken = 0;
        for it in references {
            let Some(image) = known.images.get(it.image as usize) else {
                continue;
            };
            let layers = image
                .layers
                .iter()
                .filter_map(|at| known.layer(*at).cloned());
            let image = self.image(image, &layers.collect::<Vec<_>>());
            self.plan.references.push(PlannedReference {
                image,
                pods,
                reference: it.reference.clone(),
            });
            taken += 1;
        }
        taken
    }

    fn finish(mut self) -> SweepPlan {
        self.plan.sort();
        self.plan
    }
}
