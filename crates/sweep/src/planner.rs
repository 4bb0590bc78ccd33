//! From sources to a plan: lists references, asks for their digests, and describes each image once.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, NaiveDate, Utc};

use super::Sweep;
use super::builder::{Builder, Described, Planned};
use super::listed::Listed;
use super::plan::{
    PlannedImage, PlannedLayer, PlannedReference, REGISTRY, Skipped, SweepPlan, SweepTotals,
    Unlisted, explained,
};
use super::sources::{LIST_HELP, Listing, Source};
use super::ticker::Ticker;
use imgcheck_base::digest::sha256;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::excerpt::shortened;
use imgcheck_base::glob::matches_any;
use imgcheck_base::parallel;
use imgcheck_base::reference::name::Name;
use imgcheck_checker::ImageRequest;
use imgcheck_source::source::Image;

/// Requests at once: they wait for the network.
const REQUESTS: usize = 16;
/// Maximum length of a line of a list in a message, in characters.
const SHOWN: usize = 60;
/// References that are described together: an interrupted plan has those before.
const CHUNK: usize = 512;

/// What a plan is made of.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, Sweep, SweepRequest};
///
/// let request = SweepRequest::new(["testdata/sample"])?.include("*pytorch*");
/// let checker = Checker::builder().build()?;
/// let (plan, totals) = Sweep::new(&checker).plan(&request)?;
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

impl SweepRequest {
    /// Sources: `registry:HOST[/PREFIX]`, `harbor:HOST[/PROJECT]`, `gitlab:HOST[/GROUP[/PROJECT]]`, `cluster:[CONTEXT]`, `pods:FILE`, `docker-daemon:`, `podman:`, a file with an image in each line, or a directory of archives.
    ///
    /// # Errors
    /// The text is not a valid source.
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

    /// How images are requested: platform, credentials, limits, cancellation, progress.
    #[must_use]
    pub fn reading(mut self, make: impl Fn(&str) -> ImageRequest + Send + Sync + 'static) -> Self {
        self.make = Box::new(make);
        self
    }

    /// # Errors
    /// The filters leave out everything, or the lists are files of another kind: none of their lines is a reference.
    fn check_plan(&self, plan: &SweepPlan) -> Result<()> {
        let sources: Vec<String> = self.sources.iter().map(Source::to_string).collect();
        let sources = sources.join(", ");
        if plan.filtered > 0 && plan.check_listed().is_err() {
            let problem = format!("the filters leave out all {} references", plan.filtered);
            return Err(Error::not_found(sources, problem)
                .with_help("check --include, --exclude and --tag"));
        }
        let is_usage = |it: &Skipped| it.code == ErrorCode::Usage.as_str();
        match plan.skipped.first() {
            Some(first)
                if plan.references.is_empty()
                    && plan.skipped.iter().all(is_usage)
                    && self.sources.iter().all(Source::is_list) =>
            {
                let shown = shortened(&first.source, SHOWN);
                let problem = format!("{sources}: no line names an image, such as `{shown}`");
                Err(Error::usage(problem).with_help(LIST_HELP))
            }
            _ => Ok(()),
        }
    }

    fn wants(&self, listed: &Listed) -> bool {
        let name = listed.reference.as_ref().unwrap_or(&listed.source);
        let tag = || name.parse::<Name>().ok().and_then(|it| it.canonical().tag);
        (self.include.is_empty() || matches_any(name, &self.include))
            && !matches_any(name, &self.exclude)
            && (self.tags.is_empty() || tag().is_some_and(|tag| matches_any(&tag, &self.tags)))
    }
}

impl Sweep<'_> {
    /// Lists the references of a sweep and describes their images. No layer is read.
    ///
    /// What cannot be described is skipped, with a reason; a list that cannot be read to its end makes the plan
    /// [incomplete](SweepPlan::is_complete), and so does a cancellation after the lists were read.
    ///
    /// # Errors
    /// A source lists no image, the filters leave out all of them, a file cannot be read or is wrong, a cluster or the store does not answer, or
    /// the run was cancelled while lists were read.
    pub fn plan(&self, request: &SweepRequest) -> Result<(SweepPlan, SweepTotals)> {
        let mut listing = Listing::default();
        for source in &request.sources {
            source.list(self.checker, &request.make, &mut listing)?;
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
                builder.take_over(known, same.copied(), it) == 0
            });
        }
        let is_whole = self.describe_all(request, &listed, &mut builder)?;
        let plan = builder.finish();
        request.check_plan(&plan)?;
        let known = match is_whole {
            true => self.kept(&request.make)?,
            false => HashSet::new(),
        };
        let totals = plan.totals(&known);
        Ok((plan, totals))
    }

    /// Describes references, chunk by chunk. Returns `false` if the run was cancelled: then the plan has the chunks before, and says so.
    fn describe_all(
        &self,
        request: &SweepRequest,
        listed: &[Listed],
        builder: &mut Builder,
    ) -> Result<bool> {
        let progress = (request.make)("").own_progress();
        let ticker = Ticker::new(&*progress, "references described", listed.len());
        let mut described = HashMap::new();
        for (chunk, number) in listed.chunks(CHUNK).zip(0..) {
            let chunk = self.describe_chunk(request, chunk, &mut described, builder, &ticker);
            match chunk {
                Err(Error::Cancelled | Error::Deadline) => {
                    let left = listed.len() - number * CHUNK;
                    builder.plan.unlisted.push(Unlisted {
                        source: "the plan".to_owned(),
                        message: format!("it was interrupted: {left} references are not described"),
                    });
                    return Ok(false);
                }
                chunk => chunk?,
            }
        }
        Ok(true)
    }

    fn describe_chunk(
        &self,
        request: &SweepRequest,
        listed: &[Listed],
        described: &mut HashMap<String, Described>,
        builder: &mut Builder,
        ticker: &Ticker,
    ) -> Result<()> {
        let end = (request.make)("").own_cancellation();
        let pinned = parallel::map(REQUESTS, listed.len(), |at| {
            end.check()?;
            Ok::<_, Error>(self.pinned(&(request.make)(&listed[at].source).in_own_registry()))
        })?;
        end.check()?;
        let mut new: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        for source in pinned.iter().flatten() {
            let key = key_of(source);
            if !described.contains_key(key) && seen.insert(key) {
                new.push(source);
            }
        }
        let images = parallel::map(REQUESTS, new.len(), |at| {
            end.check()?;
            let images = self
                .checker
                .describe(&(request.make)(new[at]).in_own_registry());
            Ok::<_, Error>(images.and_then(|images| planned(new[at], images)))
        })?;
        end.check()?;
        for (source, images) in new.iter().zip(images) {
            let images = images.map_err(|error| reason(&error));
            let placed = images.and_then(|images| builder.place(images));
            described.insert(key_of(source).to_owned(), placed);
        }
        for (listed, source) in listed.iter().zip(&pinned) {
            match source {
                Ok(source) => match &described[key_of(source)] {
                    Ok(images) => builder.add(listed, images),
                    Err((code, message)) => builder.skip(listed, code, message),
                },
                Err(error) => {
                    let (code, message) = reason(error);
                    builder.skip(listed, &code, &message);
                }
            }
            ticker.tick();
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
            None => self.checker.resolve(request)?,
        };
        let registry = name.registry.unwrap_or_default();
        Ok(format!("{REGISTRY}{registry}/{}@{digest}", name.repository))
    }

    /// The diff IDs of the layers, and the names of the images, whose facts the store has. Without a store: none.
    fn kept(&self, make: &dyn Fn(&str) -> ImageRequest) -> Result<HashSet<String>> {
        let mut known = HashSet::new();
        let Some(objects) = self.checker.store().objects() else {
            return Ok(known);
        };
        let version = self.checker.facts_version();
        let prefixes = [format!("facts-{version}-"), format!("image-{version}-")];
        let listed = objects.list(&make("").own_cancellation(), |name| {
            let hex = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
            known.extend(hex.map(|hex| format!("sha256:{hex}")));
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
        hex.flatten()
            .is_some_and(imgcheck_base::digest::is_hexadecimal)
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
    (error.code().as_str().to_owned(), explained(error))
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
