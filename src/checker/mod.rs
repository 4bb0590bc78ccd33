//! Joins the boxes: a target becomes images, an image becomes facts, facts become findings.
//!
//! This is the only file that knows all of them, and the only one that times and reports progress.

mod held;
mod ignores;
mod lint;
mod stream;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::NaiveDate;

use crate::cancellation::Cancellation;
use crate::claims::Grammar;
use crate::elf::Depth;
use crate::error::{Error, Result};
use crate::image::{RootFilesystem, configuration, provenance};
use crate::knowledge::Knowledge;
use crate::launch::{Launch, Overlay};
use crate::layer::{LayerReader, ReadContext, ReadLayer, ReadMethod};
use crate::policy::{Member, Policy, Subjects};
use crate::process::Programs;
use crate::process::tree::Tree;
pub use crate::progress::Progress;
use crate::reference::name::Name;
use crate::reference::transport::ImageReference;
use crate::report::{FileReport, ImageReport, Inspection, Layer, ReferenceReport, Verdict};
use crate::rules::{self, Facts, RuleSet};
use crate::source::{self, Access, Found, Image, LayerBlob, Selection};
use crate::stack;
use crate::targets;
pub use ignores::judge_ignores;
pub use lint::{Linted, lint, once};

/// What the user chose for reading images.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Which of the images of a source.
    pub selection: Selection,
    /// How much of each file is read.
    pub depth: Depth,
    /// The reference to compare with, in place of the one that the source records.
    pub reference: Option<String>,
    /// How what is not a file is reached.
    pub access: Access,
    /// Whether the loader model is wanted as a tree, too.
    pub tree: bool,
}

/// One image as read, before any rule.
#[derive(Debug)]
pub struct Scan {
    /// What the report tells.
    pub facts: Inspection,
    /// What the rules see.
    pub rule_facts: Facts,
    /// The loader model as a tree; empty unless it was asked for.
    pub tree: Tree,
    /// How long that took.
    pub elapsed: Duration,
}

/// The knowledge that reading needs, loaded once for all images.
#[derive(Debug)]
pub struct Scanner {
    reading: Reading,
    layers: LayerReader,
    knowledge: Arc<Knowledge>,
}

impl Scanner {
    /// Loads the knowledge.
    ///
    /// # Errors
    /// A built-in table is broken, which the tests exclude.
    pub fn new(reading: Reading) -> Result<Self> {
        let knowledge = Arc::new(Knowledge::builtin()?);
        let (patterns, recipes) = (&knowledge.patterns, &knowledge.recipes);
        let cache = reading.access.cache.clone();
        Ok(Scanner {
            layers: LayerReader::new(Arc::clone(patterns), Arc::clone(recipes), cache),
            knowledge,
            reading,
        })
    }

    /// Reads every image of a target.
    ///
    /// # Errors
    /// The first image that cannot be read whole: a failed scan is never a pass.
    pub fn scan(&self, target: &ImageReference, progress: &dyn Progress) -> Result<Vec<Scan>> {
        let mut started = Instant::now();
        let mut scans = Vec::new();
        let context = self.context(progress);
        let found = source::find(target, &self.reading.selection, &self.reading.access)?;
        let images = match found {
            Found::Images(images) => images,
            Found::Instead(images, tried) => {
                progress.note(&format!(
                    "the engine could not be asked ({tried}); what is checked is the image of the registry"
                ));
                images
            }
            Found::Passing(passing) => stream::read(&context, *passing)?,
            Found::Held(held) => held::read(&context, *held)?,
        };
        if self.reading.reference.is_some() {
            one_image(&images)?;
        }
        for image in images {
            scans.push(self.scan_image(&context, image, target, started)?);
            started = Instant::now();
        }
        Ok(scans)
    }

    /// Reads one image that was opened already; `target` is what it was named by.
    ///
    /// # Errors
    /// A layer cannot be read whole.
    pub fn scan_one(
        &self,
        image: Image,
        target: &ImageReference,
        progress: &dyn Progress,
    ) -> Result<Scan> {
        self.scan_image(&self.context(progress), image, target, Instant::now())
    }

    fn context<'a>(&self, progress: &'a dyn Progress) -> ReadContext<'a> {
        let limits = self.reading.access.limits;
        let never = Cancellation::default();
        self.layers
            .request(self.reading.depth, limits, never, progress)
    }

    fn scan_image(
        &self,
        context: &ReadContext,
        image: Image,
        target: &ImageReference,
        started: Instant,
    ) -> Result<Scan> {
        let chosen = self.reading.reference.clone();
        let image = Image {
            reference: chosen.or(image.reference),
            ..image
        };
        let layers = context.read_image(&image)?;
        let reference = image.reference;

        let facts = layers.iter().map(|layer| &*layer.facts);
        let root = RootFilesystem::merge_within(facts, &context.limits)
            .map_err(|passed| Error::limit("all layers together", passed))?;
        let launch = Launch::of(&root, &image.config, &Overlay::default());
        let mut stack = stack::read(
            &root,
            &image.config,
            &launch,
            &self.knowledge.catalogue,
            &context.limits,
        )
        .map_err(|passed| Error::limit("the Python environments", passed))?;
        let environment = configuration::environment(&image.config);
        let labels = configuration::labels(&image.config);
        let claims =
            self.knowledge
                .grammar
                .image_claims(reference.as_deref(), &labels, &environment);
        let described = image.config_digest.is_some();
        let about = rules::ImageFacts {
            platform: Some(image.platform.clone()).filter(|platform| !platform.is_empty()),
            // A root directory has no configuration that could be wrong.
            os: described.then(|| image.config.os().to_string()),
            architecture: described.then(|| image.config.architecture().to_string()),
            env: Some(environment),
            labels: Some(labels),
            ..named(reference.as_deref())
        };
        let programs = Programs::of(&root, &launch, &stack, &self.knowledge.processes);
        let model = programs.model();
        let loader = model.facts();
        let tree = self.reading.tree.then(|| model.tree());
        stack.follow(loader.main_files());
        let driver = stack.driver_floor(&self.knowledge.toolkits);
        Ok(Scan {
            tree: tree.unwrap_or_default(),
            rule_facts: Facts {
                gpu: serde_json::to_value(&stack.gpu).ok(),
                driver: driver
                    .as_ref()
                    .and_then(|floor| serde_json::to_value(floor).ok()),
                loader: Some(loader.clone()),
                ..Facts::of_image(about, claims.clone(), &stack)
            },
            facts: Inspection {
                reference,
                named: target.to_string(),
                source: image.kind,
                access: image.way,
                platform: image.platform,
                depth: self.reading.depth,
                digest: image.digest,
                config_digest: image.config_digest,
                layers: report_layers(
                    &image.layers,
                    &layers,
                    &provenance::build_steps(&image.config, image.layers.len()),
                ),
                claims,
                driver,
                stack: stack.components,
                gpu: stack.gpu,
                loader: Some(loader),
                files: root.files().count(),
            },
            elapsed: started.elapsed(),
        })
    }
}

/// A reference that the user gives is the name of one image, on whatever platforms.
fn one_image(images: &[Image]) -> Result<()> {
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
    Err(Error::Usage {
        problem: format!(
            "--as gives a name to one image, and there are several: {}",
            names.join(", ")
        ),
        help: Some("pick one, as in docker-archive:PATH:REFERENCE".to_owned()),
    })
}

/// What a reference says of the image itself; a text that is no reference says nothing but itself.
fn named(reference: Option<&str>) -> rules::ImageFacts {
    let reference = reference.unwrap_or_default();
    let written = rules::ImageFacts {
        reference: reference.to_owned(),
        ..rules::ImageFacts::default()
    };
    match reference.parse::<Name>() {
        Err(_) => written,
        Ok(name) => rules::ImageFacts {
            registry: name.registry.unwrap_or_default(),
            repository: name.repository,
            tag: name.tag,
            digest: name.digest,
            ..written
        },
    }
}

fn report_layers(blobs: &[LayerBlob], read: &[ReadLayer], steps: &[String]) -> Vec<Layer> {
    blobs
        .iter()
        .zip(read)
        .zip(steps)
        .enumerate()
        .map(|(index, ((blob, read), step))| Layer {
            index,
            diff_id: blob.diff_id.clone(),
            digest: blob.digest.clone(),
            size: blob.size,
            created_by: step.clone(),
            cached: read.method == ReadMethod::Cache,
            in_parts: read.method == ReadMethod::Chunks,
        })
        .collect()
}

/// Judges the images of one call by the rules and by what the team asked for. `today` decides which ignores still hold.
///
/// An image for which a rule cannot be evaluated is not judged, and the others are.
///
/// # Errors
/// A target names a GPU or driver that is none.
pub fn judge(
    scans: Vec<Scan>,
    rules: &RuleSet,
    policy: &Policy,
    today: NaiveDate,
) -> Result<Judgement> {
    let asked = policy.facts(&fleet(&scans, policy));
    let mut judgement = Judgement::default();
    for scan in scans {
        let begun = Instant::now();
        let targets =
            targets::judge(&policy.targets, &evidence(&scan.facts)).map_err(Error::misread)?;
        let facts = Facts {
            targets: targets.clone(),
            policy: asked.clone(),
            ..scan.rule_facts
        };
        let found = match rules.evaluate(&facts) {
            Ok(found) => found,
            Err(error) => {
                judgement.unjudged.push(Unjudged::of(&scan.facts, &error));
                continue;
            }
        };
        let name = scan.facts.reference.clone().unwrap_or_default();
        let mut judged = policy.apply(found, &name, today);
        // The policy may have changed the severities.
        judged.findings.sort_by_key(|it| Reverse(it.severity));
        judgement.used_ignores.extend(judged.used);
        let elapsed = scan.elapsed + begun.elapsed();
        judgement.images.push(ImageReport {
            facts: scan.facts,
            tree: scan.tree,
            verdict: Verdict::of(&judged.findings, policy.fail_on),
            targets,
            findings: judged.findings,
            ignored: judged.ignored,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
    }
    Ok(judgement)
}

/// The images of one call, judged.
#[derive(Debug, Default)]
pub struct Judgement {
    /// One report an image.
    pub images: Vec<ImageReport>,
    /// Images that the rules could not be asked about.
    pub unjudged: Vec<Unjudged>,
    /// Indexes of the policy's ignores that some finding met.
    pub used_ignores: BTreeSet<usize>,
}

/// An image that could be read, but not judged.
#[derive(Debug)]
pub struct Unjudged {
    /// Its name.
    pub image: String,
    /// Why; the exit code is that of an image that could not be read.
    pub error: Error,
}

impl Unjudged {
    fn of(facts: &Inspection, error: &Error) -> Self {
        let (image, cannot) = (facts.name(), "it cannot be judged");
        let error = match error {
            Error::Limit { subject, passed } => {
                Error::limit(format!("{image}: {cannot}: {subject}"), *passed)
            }
            error => Error::new(error.code(), image, format!("{cannot}: {}", error.quoted())),
        };
        Unjudged {
            image: image.to_owned(),
            error,
        }
    }
}

impl Judgement {
    /// What the rules say of the configuration itself, now that all images were judged. `None` if they say nothing.
    ///
    /// # Errors
    /// A rule cannot be evaluated.
    pub fn configuration(
        &self,
        rules: &RuleSet,
        policy: &Policy,
        today: NaiveDate,
    ) -> Result<Option<FileReport>> {
        let images = self.images.iter();
        let names: Vec<&str> = images
            .map(|image| image.facts.reference.as_deref().unwrap_or_default())
            .collect();
        let subjects = Subjects::Images(&names);
        judge_ignores(subjects, &self.used_ignores, rules, policy, today)
    }
}

/// The images of a call with the versions that must agree.
fn fleet(scans: &[Scan], policy: &Policy) -> Vec<Member> {
    let mut twins: HashMap<&str, usize> = HashMap::new();
    for scan in scans {
        *twins.entry(scan.facts.name()).or_default() += 1;
    }
    let member = |scan: &Scan| {
        let name = scan.facts.name();
        let known = scan.rule_facts.versions.iter().flatten();
        let wanted = known.filter(|(name, _)| policy.consistent.contains(name));
        Member {
            image: match twins[name] {
                1 => name.to_owned(),
                _ => format!("{name} ({})", scan.facts.platform),
            },
            versions: wanted
                .map(|(name, version)| (name.clone(), version.clone()))
                .collect(),
        }
    };
    scans.iter().map(member).collect()
}

/// What decides whether an image runs on a target.
fn evidence(facts: &Inspection) -> targets::TargetInput<'_> {
    targets::TargetInput {
        depth: facts.depth,
        gpu: &facts.gpu,
        loader: facts.loader.as_ref(),
        stack: &facts.stack,
        driver: facts.driver.as_ref(),
    }
}

/// What a reference promises, and what the rules say of the promises alone. No image is read, and a text that is no
/// reference promises nothing.
///
/// # Errors
/// A rule cannot be evaluated.
pub fn claims(reference: &str, grammar: &Grammar, rules: &RuleSet) -> Result<ReferenceReport> {
    let (claims, error) = match grammar.claims(reference) {
        Ok(claims) => (claims, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let findings = match error {
        None => rules.evaluate(&Facts::of_reference(named(Some(reference)), claims.clone()))?,
        Some(_) => Vec::new(),
    };
    Ok(ReferenceReport {
        reference: reference.to_owned(),
        claims,
        findings,
        ignored: Vec::new(),
        error,
    })
}
