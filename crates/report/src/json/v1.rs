//! The frozen types of `imgcheck/report/v1`, `imgcheck/facts/v1`, `imgcheck/lint/v1` and `imgcheck/claims/v1`.
//!
//! Internal types can change freely: each `From` here keeps the keys. Keys are only added, and readers must ignore unknown ones.
//! Findings, and the facts inside an image (claims, stack, GPU code, driver, loader, targets), are embedded as they are: baselines
//! and rules read the same types, so their names are a contract already.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Inspection, Verdict};
use imgcheck_base::error::ErrorCode;
use imgcheck_base::gap::Gap;
use imgcheck_elf::Depth;
use imgcheck_launch::LaunchFacts;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{AcknowledgedGap, Finding, IgnoredFinding};
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::stack::{Component, DriverFloor, Gpu};
use imgcheck_model::targets::TargetFacts;
use imgcheck_source::source::{AccessMethod, SourceKind};

pub(super) const REPORT: &str = "imgcheck/report/v1";

/// The program that wrote the report.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tool {
    /// Name of the program.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
}

/// The report of `imgcheck check --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck report")]
pub(super) struct Report<'a> {
    /// The version of this format. Keys are only added, never renamed or removed.
    #[schemars(extend("const" = REPORT))]
    pub schema: &'static str,
    /// The program that wrote the report.
    pub tool: Tool,
    /// The images that could be read.
    pub images: Vec<Image<'a>>,
    /// Findings on the configuration, such as expired or unused ignores. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<&'a Finding>,
    /// The images that could not be read. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<UnreadImage<'a>>,
    /// The knowledge tables that the images were judged by.
    pub knowledge: Knowledge<'a>,
    /// The configuration file in use; null without one.
    pub config: Option<&'a str>,
}

/// The knowledge tables.
#[derive(Serialize, JsonSchema)]
pub(super) struct Knowledge<'a> {
    /// The day on which they were last compared with what is published: `2026-11-21`.
    date: &'a str,
}

impl<'a> From<&'a imgcheck_model::knowledge::Knowledge> for Knowledge<'a> {
    fn from(knowledge: &'a imgcheck_model::knowledge::Knowledge) -> Self {
        Knowledge {
            date: &knowledge.date,
        }
    }
}

/// An image that could not be read.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnreadImage<'a> {
    /// The image as the user named it; the same as `reference`.
    pub image: &'a str,
    /// The whole error message, with help.
    pub error: &'a str,
    /// The image as the user named it.
    pub reference: &'a str,
    /// The kind of error; stable across versions.
    pub code: ErrorCode,
    /// What was being read, and what is wrong.
    pub message: &'a str,
    /// What to do.
    pub help: Option<&'a str>,
}

impl<'a> From<&'a crate::UnreadImage> for UnreadImage<'a> {
    fn from(unread: &'a crate::UnreadImage) -> Self {
        UnreadImage {
            image: &unread.image,
            error: &unread.error,
            reference: &unread.image,
            code: unread.code,
            message: &unread.message,
            help: unread.help.as_deref(),
        }
    }
}

/// The contents of an image.
#[derive(Serialize, JsonSchema)]
pub(super) struct Contents<'a> {
    /// The reference whose claims are checked; null for an image without one.
    reference: Option<&'a str>,
    /// The kind of source.
    source: SourceKind,
    /// How the image was read from Docker or Podman. Absent for other sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<AccessMethod>,
    /// `os/architecture[/variant]`; empty for a root directory.
    platform: &'a str,
    /// How much of each file was read. Only a deep read finds GPU code outside the usual sections.
    depth: Depth,
    /// Digest of the manifest.
    digest: Option<&'a str>,
    /// Digest of the configuration.
    config_digest: Option<&'a str>,
    /// The layers, bottom first.
    layers: Vec<Layer<'a>>,
    /// Claims of the reference, the labels and the environment.
    claims: &'a [Claim],
    /// Every copy of every component.
    stack: &'a [Component],
    /// GPU code of the libraries.
    gpu: &'a Gpu,
    /// The driver that the CUDA runtime requires; null without a CUDA runtime, or if its release is unknown.
    driver: Option<&'a DriverFloor>,
    /// What the dynamic loader does in the processes of the image.
    loader: Option<&'a LoaderFacts>,
    /// Whether everything was judged.
    judged: Judged<'a>,
    /// What a container of the image starts.
    launch: &'a LaunchFacts,
}

impl<'a> From<&'a Inspection> for Contents<'a> {
    fn from(image: &'a Inspection) -> Self {
        Contents {
            reference: image.reference.as_deref(),
            source: image.source,
            access: image.access,
            platform: &image.platform,
            depth: image.depth,
            digest: image.digest.as_deref(),
            config_digest: image.config_digest.as_deref(),
            layers: image.layers.iter().map(Layer::from).collect(),
            claims: &image.claims,
            stack: &image.stack,
            gpu: &image.gpu,
            driver: image.driver.as_ref(),
            loader: image.loader.as_deref(),
            judged: Judged::of(&image.gaps, &[]),
            launch: &image.launch,
        }
    }
}

/// Whether everything that matters was judged.
#[derive(Serialize, JsonSchema)]
struct Judged<'a> {
    /// Nothing is missing, or the configuration acknowledges all that is.
    complete: bool,
    /// What could not be judged.
    gaps: &'a [Gap],
    /// Gaps that the configuration acknowledges. Omitted when empty.
    #[serde(skip_serializing_if = "<[AcknowledgedGap]>::is_empty")]
    acknowledged: &'a [AcknowledgedGap],
}

impl<'a> Judged<'a> {
    fn of(gaps: &'a [Gap], acknowledged: &'a [AcknowledgedGap]) -> Self {
        Judged {
            complete: gaps.is_empty(),
            gaps,
            acknowledged,
        }
    }
}

/// A layer.
#[derive(Serialize, JsonSchema)]
struct Layer<'a> {
    /// Position, from 0 at the bottom.
    index: usize,
    /// Digest of the uncompressed tar.
    diff_id: &'a str,
    /// Digest of the blob as stored.
    digest: Option<&'a str>,
    /// Bytes of the blob as stored.
    size: u64,
    /// The build step that created the layer.
    created_by: &'a str,
    /// Whether its facts came from the cache.
    cached: bool,
    /// The layer was read lazily: only the files that matter were fetched. Absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_parts: bool,
}

impl<'a> From<&'a crate::Layer> for Layer<'a> {
    fn from(layer: &'a crate::Layer) -> Self {
        Layer {
            index: layer.index,
            diff_id: &layer.diff_id,
            digest: layer.digest.as_deref(),
            size: layer.size,
            created_by: &layer.created_by,
            cached: layer.cached,
            in_parts: layer.is_lazy,
        }
    }
}

/// The report of one image.
#[derive(Serialize, JsonSchema)]
pub(super) struct Image<'a> {
    /// What is known about the image.
    #[serde(flatten)]
    contents: Contents<'a>,
    /// The result.
    verdict: Verdict,
    /// The verdicts on the targets. Absent without targets.
    #[serde(skip_serializing_if = "<[TargetFacts]>::is_empty")]
    targets: &'a [TargetFacts],
    /// The findings, worst first.
    findings: &'a [Finding],
    /// Findings that the configuration or the baseline suppresses.
    ignored: &'a [IgnoredFinding],
    /// Elapsed time for this image, in milliseconds.
    elapsed_ms: u64,
}

impl<'a> From<&'a crate::ImageReport> for Image<'a> {
    fn from(image: &'a crate::ImageReport) -> Self {
        Image {
            contents: Contents {
                judged: Judged::of(&image.gaps, &image.acknowledged),
                ..Contents::from(&image.facts)
            },
            verdict: image.verdict,
            targets: &image.targets,
            findings: &image.findings,
            ignored: &image.ignored,
            elapsed_ms: image.elapsed_ms,
        }
    }
}

pub(super) const LINT: &str = "imgcheck/lint/v1";

/// The report of `imgcheck lint --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck lint")]
pub(super) struct Lint<'a> {
    /// The version of this format. Keys are only added, never renamed or removed.
    #[schemars(extend("const" = LINT))]
    pub schema: &'static str,
    /// The program that wrote the report.
    pub tool: Tool,
    /// The files that could be read.
    pub files: Vec<File<'a>>,
    /// The files that could not be read. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<UnreadFile<'a>>,
    /// The knowledge tables that the files were judged by.
    pub knowledge: Knowledge<'a>,
    /// The configuration file in use; null without one.
    pub config: Option<&'a str>,
}

/// The report of one Dockerfile or similar file.
#[derive(Serialize, JsonSchema)]
pub(super) struct File<'a> {
    /// The file as it was named.
    file: &'a str,
    /// What it was read as: `dockerfile`, `requirements`. Omitted for a configuration file.
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'a str,
    /// The verdict on the file.
    verdict: Verdict,
    /// Its findings.
    findings: &'a [Finding],
    /// Findings that do not count, each with the reason.
    ignored: &'a [IgnoredFinding],
}

impl<'a> From<&'a crate::FileReport> for File<'a> {
    fn from(file: &'a crate::FileReport) -> Self {
        File {
            file: &file.file,
            kind: &file.kind,
            verdict: file.verdict,
            findings: &file.findings,
            ignored: &file.ignored,
        }
    }
}

/// A file that could not be read or parsed.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnreadFile<'a> {
    /// The file as it was named.
    file: &'a str,
    /// What is wrong, in one text.
    error: &'a str,
    /// The kind of error.
    code: ErrorCode,
    /// What is wrong, without the name of the file.
    message: &'a str,
    /// What to do; null if that is not known.
    help: Option<&'a str>,
}

impl<'a> From<&'a crate::UnreadImage> for UnreadFile<'a> {
    fn from(unread: &'a crate::UnreadImage) -> Self {
        UnreadFile {
            file: &unread.image,
            error: &unread.error,
            code: unread.code,
            message: &unread.message,
            help: unread.help.as_deref(),
        }
    }
}

/// The claims of one reference.
#[derive(Serialize)]
pub(super) struct Reference<'a> {
    reference: &'a str,
    claims: &'a [Claim],
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ignored: &'a [IgnoredFinding],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> From<&'a crate::ReferenceReport> for Reference<'a> {
    fn from(reference: &'a crate::ReferenceReport) -> Self {
        Reference {
            reference: &reference.reference,
            claims: &reference.claims,
            findings: &reference.findings,
            ignored: &reference.ignored,
            error: reference.error.as_deref(),
        }
    }
}
