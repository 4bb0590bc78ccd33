//! The frozen types of `imgcheck/report/v1`, `imgcheck/facts/v1`, `imgcheck/lint/v1` and `imgcheck/claims/v1`.
//!
//! Internal types can change freely: each `From` here keeps the keys. Keys are only added, and readers must ignore unknown ones.
//! The facts inside an image (claims, stack, GPU code, driver, loader, targets) are embedded as they are: rules read the same
//! types, so their names are part of the contract with rule authors already.

use schemars::JsonSchema;
use serde::Serialize;

use crate::claims::Claim;
use crate::elf::Depth;
use crate::error::ErrorCode;
use crate::finding::{self, Confidence, Location, Severity};
use crate::process::LoaderFacts;
use crate::report::{self, Inspection};
use crate::source::{AccessMethod, SourceKind};
use crate::stack::{Component, DriverFloor, Evidence, Gpu};
use crate::targets::TargetFacts;

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
    /// Findings on the configuration, such as expired or unused ignores. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding<'a>>,
    /// The images that could not be read. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<UnreadImage<'a>>,
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

impl<'a> From<&'a report::UnreadImage> for UnreadImage<'a> {
    fn from(unread: &'a report::UnreadImage) -> Self {
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
            loader: image.loader.as_ref(),
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

impl<'a> From<&'a report::Layer> for Layer<'a> {
    fn from(layer: &'a report::Layer) -> Self {
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
    /// Whether a finding reaches the severity that fails.
    verdict: Verdict,
    /// The verdicts on the targets. Absent without targets.
    #[serde(skip_serializing_if = "<[TargetFacts]>::is_empty")]
    targets: &'a [TargetFacts],
    /// The findings, worst first.
    findings: Vec<Finding<'a>>,
    /// Findings that the configuration or the baseline suppresses.
    ignored: Vec<IgnoredFinding<'a>>,
    /// Elapsed time for this image, in milliseconds.
    elapsed_ms: u64,
}

impl<'a> From<&'a report::ImageReport> for Image<'a> {
    fn from(image: &'a report::ImageReport) -> Self {
        Image {
            contents: Contents::from(&image.facts),
            verdict: image.verdict.into(),
            targets: &image.targets,
            findings: image.findings.iter().map(Finding::from).collect(),
            ignored: image.ignored.iter().map(IgnoredFinding::from).collect(),
            elapsed_ms: image.elapsed_ms,
        }
    }
}

/// The result of a check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// No finding is as severe as the threshold.
    Pass,
    /// At least one finding is.
    Fail,
}

impl From<report::Verdict> for Verdict {
    fn from(verdict: report::Verdict) -> Self {
        match verdict {
            report::Verdict::Pass => Verdict::Pass,
            report::Verdict::Fail => Verdict::Fail,
        }
    }
}

/// A fault of an image or file.
#[derive(Serialize, JsonSchema)]
pub(super) struct Finding<'a> {
    /// Rule id.
    rule: &'a str,
    /// How severe it is.
    severity: Severity,
    /// How certain it is.
    confidence: Confidence,
    /// What is wrong, in one sentence.
    message: &'a str,
    /// The claim that is not met. Absent for rules that do not check claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<&'a Claim>,
    /// What to do.
    help: Option<&'a str>,
    /// The file in the image.
    path: Option<&'a str>,
    /// Index of the layer that contains the file.
    layer: Option<usize>,
    /// The location in a Dockerfile or similar file. Absent for images.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a Location>,
    /// What the message is based on.
    evidence: &'a [Evidence],
    /// Stays the same when the image is rebuilt and the fault remains.
    fingerprint: &'a str,
    /// Address of the rule's documentation; for a user's rule its first reference, or empty.
    docs: &'a str,
}

impl<'a> From<&'a finding::Finding> for Finding<'a> {
    fn from(finding: &'a finding::Finding) -> Self {
        Finding {
            rule: &finding.rule,
            severity: finding.severity,
            confidence: finding.confidence,
            message: &finding.message,
            claim: finding.claim.as_ref(),
            help: finding.help.as_deref(),
            path: finding.path.as_deref(),
            layer: finding.layer,
            location: finding.location.as_ref(),
            evidence: &finding.evidence,
            fingerprint: &finding.fingerprint,
            docs: &finding.docs,
        }
    }
}

/// A suppressed finding.
#[derive(Serialize, JsonSchema)]
pub(super) struct IgnoredFinding<'a> {
    /// The finding.
    #[serde(flatten)]
    finding: Finding<'a>,
    /// Why it is suppressed.
    ignore: IgnoreReason<'a>,
}

/// Why a finding is suppressed.
#[derive(Serialize, JsonSchema)]
struct IgnoreReason<'a> {
    /// The reason in the configuration, or `in the baseline`.
    reason: &'a str,
    /// The last day the ignore is valid, such as `2027-03-01`. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
}

impl<'a> From<&'a finding::IgnoredFinding> for IgnoredFinding<'a> {
    fn from(ignored: &'a finding::IgnoredFinding) -> Self {
        IgnoredFinding {
            finding: Finding::from(&ignored.finding),
            ignore: IgnoreReason {
                reason: &ignored.ignore.reason,
                expires: ignored.ignore.expires.as_deref(),
            },
        }
    }
}

/// The report of one Dockerfile or similar file.
#[derive(Serialize)]
pub(super) struct File<'a> {
    file: &'a str,
    verdict: Verdict,
    findings: Vec<Finding<'a>>,
    ignored: Vec<IgnoredFinding<'a>>,
}

impl<'a> From<&'a report::FileReport> for File<'a> {
    fn from(file: &'a report::FileReport) -> Self {
        File {
            file: &file.file,
            verdict: file.verdict.into(),
            findings: file.findings.iter().map(Finding::from).collect(),
            ignored: file.ignored.iter().map(IgnoredFinding::from).collect(),
        }
    }
}

/// A file that could not be read or parsed.
#[derive(Serialize)]
pub(super) struct UnreadFile<'a> {
    file: &'a str,
    error: &'a str,
    code: ErrorCode,
    message: &'a str,
    help: Option<&'a str>,
}

impl<'a> From<&'a report::UnreadImage> for UnreadFile<'a> {
    fn from(unread: &'a report::UnreadImage) -> Self {
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
    findings: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<IgnoredFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> From<&'a report::ReferenceReport> for Reference<'a> {
    fn from(reference: &'a report::ReferenceReport) -> Self {
        Reference {
            reference: &reference.reference,
            claims: &reference.claims,
            findings: reference.findings.iter().map(Finding::from).collect(),
            ignored: reference.ignored.iter().map(IgnoredFinding::from).collect(),
            error: reference.error.as_deref(),
        }
    }
}
