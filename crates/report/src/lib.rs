//! Reports: the data of a report, and one module for each output format.

pub mod cyclonedx;
mod details;
pub mod difference;
mod escape;
pub mod fleet;
pub mod github;
pub mod gitlab;
mod heading;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod requirements;
pub mod sarif;
mod size;
mod started;
mod summary;
mod targets;
pub mod text;
pub mod tree;
mod verdict;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_base::gap::Gap;
use imgcheck_elf::Depth;
use imgcheck_launch::LaunchFacts;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{AcknowledgedGap, Finding, IgnoredFinding};
use imgcheck_model::imports::ImportTree;
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::tree::Tree;
use imgcheck_model::size::{CauseSize, ImageSize};
use imgcheck_model::stack::{Component, Gpu};
use imgcheck_model::targets::TargetFacts;
use imgcheck_rules::rules::{Questions, RuleSet};
use imgcheck_source::source::{AccessMethod, SourceKind};

pub use escape::{json as to_json, one_line, printable, safe_json};
pub use verdict::{NOT_COUNTED, UNSCHEDULABLE, Verdict, WARNING};

/// Everything known about an image before rules are evaluated.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The reference whose claims are checked; `None` for an image without one.
    pub reference: Option<String>,
    /// The image as the user named it, such as `dir:root`; displayed if there is no reference.
    pub named: String,
    /// The container that starts the image, of a manifest: `Deployment ml/train, worker: repository:tag`; displayed if there is one.
    pub title: Option<String>,
    /// The kind of source.
    pub source: SourceKind,
    /// How the image was read from Docker or Podman; `None` for other sources.
    pub access: Option<AccessMethod>,
    /// `os/architecture[/variant]`; empty for a root directory.
    pub platform: String,
    /// How much of each file was read. Only a deep read finds GPU code outside the usual sections.
    pub depth: Depth,
    /// Digest of the manifest.
    pub digest: Option<String>,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// The layers, bottom first.
    pub layers: Vec<Layer>,
    /// Claims of the reference, the labels and the environment.
    pub claims: Vec<Claim>,
    /// Every copy of every component.
    pub stack: Arc<[Component]>,
    /// GPU code of the libraries.
    pub gpu: Arc<Gpu>,
    /// The driver that the CUDA runtime requires; `None` without a CUDA runtime, or if its release is unknown.
    pub driver: Option<imgcheck_model::stack::DriverFloor>,
    /// What the dynamic loader does in the processes of the image.
    pub loader: Option<Arc<LoaderFacts>>,
    /// What a container of the image starts.
    pub launch: LaunchFacts,
    /// What could not be judged, before the configuration acknowledges some of it.
    pub gaps: Vec<Gap>,
    /// Number of files in the merged root filesystem.
    pub files: usize,
    /// Where the bytes are.
    pub size: Arc<ImageSize>,
}

/// An image or file that could not be read.
#[derive(Debug, Clone)]
pub struct UnreadImage {
    /// The image or file as the user named it.
    pub image: String,
    /// The whole error message, with help.
    pub error: String,
    /// The kind of error.
    pub code: ErrorCode,
    /// What was being read, and what is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl UnreadImage {
    /// Describes an error; `image` is the image or file as the user named it.
    pub fn new(image: impl Into<String>, error: &Error) -> Self {
        UnreadImage {
            image: image.into(),
            error: error.quoted(),
            code: error.code(),
            message: error.message(),
            help: error.help(),
        }
    }
}

/// One layer of an image.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Position, from 0 at the bottom.
    pub index: usize,
    /// Digest of the uncompressed tar.
    pub diff_id: String,
    /// Digest of the blob as stored.
    pub digest: Option<String>,
    /// Bytes of the blob as stored.
    pub size: u64,
    /// The build step that created the layer.
    pub created_by: String,
    /// Whether its facts came from the cache.
    pub cached: bool,
    /// Whether the layer was read lazily: only the files that matter were fetched, by its table of contents.
    pub is_lazy: bool,
}

/// The report of one image.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, ImageRequest, Verdict};
///
/// let image = ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar");
/// let report = Checker::builder().build()?.check(&[image]);
/// assert_eq!(report.images[0].verdict, Verdict::Fail);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ImageReport {
    /// What is known about the image.
    pub facts: Inspection,
    /// The loader model as a tree, for formats that draw it; empty unless requested.
    pub tree: Arc<Tree>,
    /// What its Python programs import; empty unless requested.
    pub imports: Arc<Vec<ImportTree>>,
    /// The result.
    pub verdict: Verdict,
    /// The verdicts on the targets.
    pub targets: Vec<TargetFacts>,
    /// GPU code that none of the GPUs of the targets can select; `None` without one.
    pub unselectable: Option<CauseSize>,
    /// What the user requested.
    pub questions: Questions,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Findings that the configuration or the baseline suppresses.
    pub ignored: Vec<IgnoredFinding>,
    /// The subjects of the claims that a suppressed finding contradicts.
    pub muted: BTreeSet<String>,
    /// What could not be judged.
    pub gaps: Vec<Gap>,
    /// Gaps that the configuration acknowledges.
    pub acknowledged: Vec<AcknowledgedGap>,
    /// The ids of the rules that do not apply because a fact is missing, by the name of the fact; empty unless requested.
    pub skipped: BTreeMap<String, Vec<String>>,
    /// Elapsed time for this image, in milliseconds.
    pub elapsed_ms: u64,
}

/// The report of one file: a Dockerfile or similar, or the configuration.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// The file as the user named it.
    pub file: String,
    /// `dockerfile`, `requirements` …; empty for what is no input.
    pub kind: String,
    /// Pass or fail.
    pub verdict: Verdict,
    /// The findings, in the order of the lines.
    pub findings: Vec<Finding>,
    /// Findings that the configuration or the baseline suppresses.
    pub ignored: Vec<IgnoredFinding>,
    /// What could not be judged.
    pub gaps: Vec<Gap>,
}

/// What a manifest deploys, judged.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, PreflightRequest, Verdict};
///
/// let request = PreflightRequest::new(["testdata/preflight/deployment.yaml"])
///     .images_file("testdata/preflight/images.yaml")
///     .nodes("testdata/preflight/nodes.json");
/// let report = Checker::builder().build()?.preflight(&request)?;
/// let container = &report.workloads[0].containers[0];
/// assert_eq!(container.name, "trainer");
/// assert!(container.classes.iter().any(|class| class.verdict == Verdict::Fail));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WorkloadReport {
    /// The file as the user named it.
    pub file: String,
    /// The kind: `Deployment`, `RayCluster`.
    pub kind: String,
    /// The namespace; empty if the manifest does not say.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// `Deployment ml/train`.
    pub title: String,
    /// The containers in order.
    pub containers: Vec<ContainerReport>,
    /// What looks like an image or a GPU request, and belongs to none of the containers.
    pub gaps: Vec<Gap>,
    /// Gaps that the configuration acknowledges.
    pub acknowledged: Vec<AcknowledgedGap>,
    /// Incomplete if a gap counts; the containers have verdicts of their own.
    pub verdict: Verdict,
}

/// A container, judged.
#[derive(Debug, Clone, Default)]
pub struct ContainerReport {
    /// Its name.
    pub name: String,
    /// The part of the workload that it belongs to; empty if there is only one.
    pub group: String,
    /// `main`, `init`, `sidecar` or `ephemeral`.
    pub role: &'static str,
    /// The image reference; empty if another object decides it.
    pub image: String,
    /// `Deployment ml/train, worker: repository:tag`.
    pub title: String,
    /// Whether the nodes of the cluster are known.
    pub knows_nodes: bool,
    /// The classes of nodes that the scheduler may choose.
    pub classes: Vec<ClassReport>,
    /// The report of the image; `None` if it could not be read.
    pub judged: Option<ImageReport>,
    /// Why the image could not be read.
    pub problem: Option<String>,
    /// The findings, if the image could not be read.
    pub findings: Vec<Finding>,
    /// Suppressed findings, if the image could not be read.
    pub ignored: Vec<IgnoredFinding>,
}

/// A class of nodes, judged for a container.
#[derive(Debug, Clone)]
pub struct ClassReport {
    /// Its name.
    pub name: String,
    /// Whether the image runs there; incomplete if that is unknown.
    pub verdict: Verdict,
    /// Why not, or why that is unknown; empty if it runs.
    pub reason: String,
    /// How many nodes it has; `None` for a class that the configuration declares.
    pub nodes: Option<usize>,
    /// The findings that the image has on these nodes only.
    pub findings: Vec<Finding>,
}

/// The results of one run, from which each format is made.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// The images of a check.
    pub images: &'r [ImageReport],
    /// The files of `imgcheck lint`; in a check the configuration, if it has findings.
    pub files: &'r [FileReport],
    /// The workloads of `imgcheck preflight`, whose images and files are in the lists above, too.
    pub workloads: &'r [WorkloadReport],
    /// Images and files that could not be read.
    pub errors: &'r [UnreadImage],
    /// The rules that were evaluated.
    pub rules: &'r RuleSet,
    /// The tables that the images were judged by.
    pub knowledge: &'r Knowledge,
    /// The configuration file in use.
    pub configuration: Option<&'r str>,
}

/// An image or file that was checked.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'r> {
    /// An image.
    Image(&'r ImageReport),
    /// A Dockerfile or similar file, or the configuration.
    File(&'r FileReport),
}

impl<'r> Report<'r> {
    /// All images and files, in the order of the command line.
    pub fn subjects(&self) -> impl Iterator<Item = Subject<'r>> {
        let images = self.images.iter().map(Subject::Image);
        images.chain(self.files.iter().map(Subject::File))
    }

    /// What everything was judged by, as labels and texts: the day of the knowledge tables, and the configuration file in use.
    pub fn judged_by(&self) -> impl Iterator<Item = (&'static str, &'r str)> {
        let tables = ("Knowledge tables", self.knowledge.date.as_str());
        let configuration = self.configuration.map(|file| ("Configuration", file));
        std::iter::once(tables).chain(configuration)
    }
}

impl<'r> Subject<'r> {
    /// The name to display.
    pub fn name(&self) -> &'r str {
        match self {
            Subject::Image(image) => image.facts.name(),
            Subject::File(file) => &file.file,
        }
    }

    /// What is known about it, if it is an image.
    pub fn facts(&self) -> Option<&'r Inspection> {
        match self {
            Subject::Image(image) => Some(&image.facts),
            Subject::File(_) => None,
        }
    }

    /// Pass or fail.
    pub fn verdict(&self) -> Verdict {
        match self {
            Subject::Image(image) => image.verdict,
            Subject::File(file) => file.verdict,
        }
    }

    /// The findings that count.
    pub fn findings(&self) -> &'r [Finding] {
        match self {
            Subject::Image(image) => &image.findings,
            Subject::File(file) => &file.findings,
        }
    }

    /// What could not be judged.
    pub fn gaps(&self) -> &'r [Gap] {
        match self {
            Subject::Image(image) => &image.gaps,
            Subject::File(file) => &file.gaps,
        }
    }

    /// The findings that the configuration or the baseline suppresses.
    pub fn ignored(&self) -> &'r [IgnoredFinding] {
        match self {
            Subject::Image(image) => &image.ignored,
            Subject::File(file) => &file.ignored,
        }
    }
}

impl Inspection {
    /// The name to display: the container, the reference, or what the user typed.
    pub fn name(&self) -> &str {
        let reference = self.reference.as_deref();
        self.title.as_deref().or(reference).unwrap_or(&self.named)
    }
}

/// The claims of one reference, and the findings on them.
#[derive(Debug, Clone)]
pub struct ReferenceReport {
    /// The reference as written.
    pub reference: String,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The findings on the claims alone.
    pub findings: Vec<Finding>,
    /// Findings that the configuration ignores.
    pub ignored: Vec<IgnoredFinding>,
    /// Why the text is not a valid reference.
    pub error: Option<String>,
}
