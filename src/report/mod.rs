//! What is told of a check: the report, and one file a format.

pub mod cyclonedx;
mod details;
pub mod difference;
mod escape;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod json;
pub mod junit;
pub mod lint;
pub mod markdown;
pub mod sarif;
mod summary;
mod targets;
pub mod text;
pub mod tree;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::claims::Claim;
use crate::elf::Depth;
use crate::finding::{Finding, IgnoredFinding, Severity};
use crate::process::LoaderFacts;
use crate::process::tree::Tree;
use crate::rules::RuleSet;
use crate::source::{SourceKind, Way};
use crate::stack::Component;
use crate::targets::TargetFacts;

pub use escape::{json as to_json, one_line, printable, safe_json};

/// All that was learnt of one image before any rule looked at it. The keys are those of the JSON report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Inspection {
    /// The reference that the image is compared with; `None` for an image without a name.
    pub reference: Option<String>,
    /// What the user named the image by, `dir:root`; how people know it where it has no reference.
    #[serde(skip)]
    pub named: String,
    /// How the image is stored.
    pub source: SourceKind,
    /// How it was got at, where an engine holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Way>,
    /// `os/architecture[/variant]`; empty for a root directory.
    pub platform: String,
    /// How much of each file was read; GPU code outside the usual sections is found only in the deep one.
    pub depth: Depth,
    /// Digest of the manifest.
    pub digest: Option<String>,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// The layers, lowest first.
    pub layers: Vec<Layer>,
    /// What the reference, the labels and the environment promise.
    pub claims: Vec<Claim>,
    /// Every copy of every part of the stack.
    pub stack: Vec<Component>,
    /// GPU code of the libraries.
    pub gpu: crate::stack::Gpu,
    /// The driver that the CUDA runtime needs; `None` without one, or where the tables do not know it.
    pub driver: Option<crate::stack::DriverFloor>,
    /// What the dynamic loader would do in the processes of the image.
    pub loader: Option<LoaderFacts>,
    /// Number of files in the merged root filesystem; in the text report only.
    #[serde(skip)]
    pub files: usize,
}

/// An image that could not be read whole.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadImage {
    /// The image as it was named.
    pub image: String,
    /// What was being read, what is wrong, and what to do.
    pub error: String,
}

/// One layer in the report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Layer {
    /// Position, lowest 0.
    pub index: usize,
    /// Digest of the uncompressed tar.
    pub diff_id: String,
    /// Digest of the blob as stored.
    pub digest: Option<String>,
    /// Bytes of the blob as stored.
    pub size: u64,
    /// The build step that made the layer.
    pub created_by: String,
    /// Whether its facts came from the cache.
    pub cached: bool,
    /// Whether only the parts that matter were fetched, found by its table of contents; only written if so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_parts: bool,
}

/// The report of one image.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImageReport {
    /// What was learnt.
    #[serde(flatten)]
    pub facts: Inspection,
    /// The loader model as a tree, for formats that draw it; empty unless one was asked for.
    #[serde(skip)]
    pub tree: Tree,
    /// Whether a finding reaches the severity that fails.
    pub verdict: Verdict,
    /// The machines that the image must run on, judged; only written if some were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFacts>,
    /// What the rules found, worst first.
    pub findings: Vec<Finding>,
    /// Findings that do not count: the configuration ignores them, or the baseline knows them.
    pub ignored: Vec<IgnoredFinding>,
    /// Wall time of this image in milliseconds.
    pub elapsed_ms: u64,
}

/// The report of one file of the user: one that an image is built from, or the configuration.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The file as the user named it.
    pub file: String,
    /// Whether a finding reaches the severity that fails.
    pub verdict: Verdict,
    /// What the rules found, in the order of the lines.
    pub findings: Vec<Finding>,
    /// Findings that the team ignores, and why.
    pub ignored: Vec<IgnoredFinding>,
}

/// All that one call of the program found; each format is made of this.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// The images of a check.
    pub images: &'r [ImageReport],
    /// The files of a lint; in a check the configuration, if the rules say something of it.
    pub files: &'r [FileReport],
    /// What could not be read.
    pub errors: &'r [UnreadImage],
    /// The rules that were asked, for their titles and pages.
    pub rules: &'r RuleSet,
}

/// One image or file that was judged.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'r> {
    /// An image.
    Image(&'r ImageReport),
    /// A file.
    File(&'r FileReport),
}

impl<'r> Report<'r> {
    /// Everything that was judged, in the order of the command line.
    pub fn subjects(&self) -> impl Iterator<Item = Subject<'r>> {
        let images = self.images.iter().map(Subject::Image);
        images.chain(self.files.iter().map(Subject::File))
    }
}

impl<'r> Subject<'r> {
    /// What it is called.
    pub fn name(&self) -> &'r str {
        match self {
            Subject::Image(image) => image.facts.name(),
            Subject::File(file) => &file.file,
        }
    }

    /// Pass or fail.
    pub fn verdict(&self) -> Verdict {
        match self {
            Subject::Image(image) => image.verdict,
            Subject::File(file) => file.verdict,
        }
    }

    /// What the rules found.
    pub fn findings(&self) -> &'r [Finding] {
        match self {
            Subject::Image(image) => &image.findings,
            Subject::File(file) => &file.findings,
        }
    }

    /// What the rules found and what does not count.
    pub fn ignored(&self) -> &'r [IgnoredFinding] {
        match self {
            Subject::Image(image) => &image.ignored,
            Subject::File(file) => &file.ignored,
        }
    }
}

impl Inspection {
    /// What the image is called where people read it: its reference, else as the user named it.
    pub fn name(&self) -> &str {
        self.reference.as_deref().unwrap_or(&self.named)
    }
}

/// Pass or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No finding reaches the severity that fails.
    Pass,
    /// At least one does.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
        })
    }
}

impl Verdict {
    /// The verdict on findings, where `fail_on` is the least severity that fails; `None` never fails.
    pub fn of(findings: &[Finding], fail_on: Option<Severity>) -> Self {
        match fail_on {
            Some(threshold) if findings.iter().any(|finding| finding.severity >= threshold) => {
                Verdict::Fail
            }
            _ => Verdict::Pass,
        }
    }
}

/// What one reference promises, and whether such an image was ever published.
#[derive(Debug, Clone, Serialize)]
pub struct ReferenceReport {
    /// The reference as it was written.
    pub reference: String,
    /// What it promises.
    pub claims: Vec<Claim>,
    /// What the rules say of the promises alone.
    pub findings: Vec<Finding>,
    /// Findings that the configuration ignores. Only written if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredFinding>,
    /// Why the text is no reference, if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
