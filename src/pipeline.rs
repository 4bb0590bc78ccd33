//! Joins the boxes: a target becomes images, an image becomes facts, facts become findings.
//!
//! This is the only file that knows all of them, and the only one that times and reports progress.

use std::time::Instant;

use crate::claims::Grammar;
use crate::elf::Depth;
use crate::error::Result;
use crate::finding::{Finding, Severity};
use crate::image::{RootFilesystem, provenance};
use crate::layer::{self, LayerFacts, Wanted};
use crate::reference::transport::Target;
use crate::report::{ImageFacts, ImageReport, Layer, ReferenceReport, Verdict};
use crate::rules::{Facts, RuleSet};
use crate::source::{self, Image, LayerBlob, Selection};
use crate::stack;

/// What the user chose for reading images.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Which of the images of a source.
    pub selection: Selection,
    /// How much of each file is read.
    pub depth: Depth,
    /// The reference to compare with, in place of the one that the source records.
    pub reference: Option<String>,
}

/// Told of what goes on, from any thread; a terminal shows a bar.
pub trait Progress: Sync {
    /// An image begins: its name, and the bytes of its layers as stored.
    fn image(&self, name: &str, bytes: u64);
    /// So many more bytes of a layer are done.
    fn advance(&self, bytes: u64);
    /// The image is read.
    fn finish(&self);
}

/// One image as read, before any rule, with what only the rules see of it.
#[derive(Debug)]
pub struct Scan {
    /// What the report tells.
    pub facts: ImageFacts,
    /// What the rules see.
    pub rule_facts: Facts,
    /// When the work on it began.
    pub started: Instant,
}

/// Reads every image of a target and hands each to `then` as soon as it is read.
///
/// # Errors
/// The first image that cannot be read whole ends the run: a failed scan is never a pass.
pub fn scan<T>(
    target: &Target,
    reading: &Reading,
    progress: &dyn Progress,
    mut then: impl FnMut(Scan) -> Result<T>,
) -> Result<Vec<T>> {
    let mut started = Instant::now();
    let images = source::open(target, &reading.selection)?;
    let wanted = Wanted::builtin(reading.depth)?;
    let grammar = Grammar::builtin()?;
    let mut results = Vec::with_capacity(images.len());
    for image in images {
        results.push(then(scan_image(
            image, reading, &wanted, &grammar, progress, started,
        )?)?);
        started = Instant::now();
    }
    Ok(results)
}

fn scan_image(
    image: Image,
    reading: &Reading,
    wanted: &Wanted,
    grammar: &Grammar,
    progress: &dyn Progress,
    started: Instant,
) -> Result<Scan> {
    let reference = reading
        .reference
        .clone()
        .or_else(|| image.reference.clone());
    let bytes = image.layers.iter().map(|layer| layer.size).sum();
    progress.image(reference.as_deref().unwrap_or(&image.platform), bytes);
    let layers = image
        .layers
        .iter()
        .map(|blob| layer::scan(blob, wanted, &|bytes| progress.advance(bytes)))
        .collect::<Result<Vec<LayerFacts>>>()?;
    progress.finish();

    let root = RootFilesystem::merge(&layers);
    let configuration = stack::Configuration::of(&image.config);
    let stack = stack::read(&root, &configuration)?;
    let claims = grammar.image_claims(
        reference.as_deref(),
        &configuration.labels,
        &configuration.env,
    );
    let rule_facts = Facts::of_image(
        reference.as_deref(),
        &image.platform,
        &configuration,
        &claims,
        &stack,
    );
    let facts = ImageFacts {
        reference,
        source: image.kind,
        platform: image.platform,
        digest: image.digest,
        config_digest: image.config_digest,
        layers: report_layers(
            &image.layers,
            &provenance::build_steps(&image.config, image.layers.len()),
        ),
        claims,
        stack: stack.components,
        gpu: stack.gpu,
        driver: stack.driver,
        loader: None,
        files: root.file_count(),
    };
    Ok(Scan {
        facts,
        rule_facts,
        started,
    })
}

fn report_layers(blobs: &[LayerBlob], steps: &[String]) -> Vec<Layer> {
    blobs
        .iter()
        .zip(steps)
        .enumerate()
        .map(|(index, (blob, step))| Layer {
            index,
            diff_id: blob.diff_id.clone(),
            digest: blob.digest.clone(),
            size: blob.size,
            created_by: step.clone(),
            cached: false,
        })
        .collect()
}

/// Judges one image.
pub fn judge(scan: Scan, rules: &RuleSet, fail_on: Option<Severity>) -> Result<ImageReport> {
    let findings = rules.evaluate(&scan.rule_facts)?;
    Ok(ImageReport {
        facts: scan.facts,
        verdict: Verdict::of(&findings, fail_on),
        findings,
        ignored: Vec::new(),
        elapsed_ms: u64::try_from(scan.started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// What a reference promises, and what the rules say of the promises alone. No image is read.
pub fn claims(reference: &str, grammar: &Grammar, rules: &RuleSet) -> Result<ReferenceReport> {
    let claims = grammar.claims(reference)?;
    let findings: Vec<Finding> = rules.evaluate(&Facts::of_reference(reference, &claims))?;
    Ok(ReferenceReport {
        reference: reference.to_owned(),
        claims,
        findings,
    })
}
