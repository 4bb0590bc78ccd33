//! The frozen types of `imgcheck/preflight/v1`. Keys are only added, and readers must ignore unknown ones.

use schemars::JsonSchema;
use serde::Serialize;

use super::v1::{Knowledge, Tool, UnreadImage};
use crate::Verdict;
use imgcheck_base::gap::Gap;
use imgcheck_model::finding::{Finding, IgnoredFinding, Severity};

pub(super) const SCHEMA: &str = "imgcheck/preflight/v1";

/// The report of `imgcheck preflight --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck preflight report")]
pub(super) struct Report<'a> {
    /// The version of this format. Keys are only added, never renamed or removed.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The program that wrote the report.
    pub tool: Tool,
    /// The workloads in the order of the files.
    pub workloads: Vec<Workload<'a>>,
    /// Findings on the configuration, such as expired or unused ignores. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<&'a Finding>,
    /// The files and images that could not be read. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<UnreadImage<'a>>,
    /// The knowledge tables that the images were judged by.
    pub knowledge: Knowledge<'a>,
    /// The configuration file in use; null without one.
    pub config: Option<&'a str>,
}

/// An object that starts containers.
#[derive(Serialize, JsonSchema)]
pub(super) struct Workload<'a> {
    /// The file as the user named it.
    file: &'a str,
    /// The kind: `Deployment`, `RayCluster`, `compose`, `script`.
    kind: &'a str,
    /// The namespace; empty if the manifest does not say.
    namespace: &'a str,
    /// The name; empty if it has none.
    name: &'a str,
    /// The containers in order.
    containers: Vec<Container<'a>>,
    /// What looks like an image or a GPU request, and belongs to none of the containers.
    gaps: &'a [Gap],
}

/// A container.
#[derive(Serialize, JsonSchema)]
struct Container<'a> {
    /// Its name.
    name: &'a str,
    /// The part of the workload that it belongs to; empty if there is only one.
    group: &'a str,
    /// `main`, `init`, `sidecar` or `ephemeral`.
    role: &'a str,
    /// The image reference; empty if another object decides it.
    image: &'a str,
    /// Digest of the manifest of the image; null if unknown, or if the image could not be read.
    digest: Option<&'a str>,
    /// `linux/amd64`; null if the image could not be read.
    platform: Option<&'a str>,
    /// The result; `incomplete` if the image could not be read.
    verdict: Verdict,
    /// The classes of nodes that the scheduler may choose; null if no nodes are known.
    node_classes: Option<Vec<NodeClass<'a>>>,
    /// The findings, worst first, each with its place in the file.
    findings: &'a [Finding],
    /// Findings that the configuration or the baseline suppresses.
    ignored: &'a [IgnoredFinding],
    /// What could not be judged.
    gaps: &'a [Gap],
}

/// A class of nodes.
#[derive(Serialize, JsonSchema)]
struct NodeClass<'a> {
    /// Its name.
    name: &'a str,
    /// Whether the image runs there; `incomplete` if that is unknown.
    verdict: Verdict,
    /// Why not, or why that is unknown; empty if it runs.
    reason: &'a str,
    /// How many nodes it has; null for a class that the configuration declares.
    nodes: Option<usize>,
    /// The findings that the image has on these nodes only.
    findings: &'a [Finding],
}

impl<'a> Workload<'a> {
    pub fn of(workload: &'a crate::WorkloadReport, fail_on: Option<Severity>) -> Self {
        let containers = workload.containers.iter();
        Workload {
            file: &workload.file,
            kind: &workload.kind,
            namespace: &workload.namespace,
            name: &workload.name,
            containers: containers.map(|it| Container::of(it, fail_on)).collect(),
            gaps: &workload.gaps,
        }
    }
}

impl<'a> Container<'a> {
    fn of(container: &'a crate::ContainerReport, fail_on: Option<Severity>) -> Self {
        let image = container.judged.as_ref();
        let classes = container.classes.iter().map(|class| NodeClass {
            name: &class.name,
            verdict: class.verdict,
            reason: &class.reason,
            nodes: class.nodes,
            findings: &class.findings,
        });
        Container {
            name: &container.name,
            group: &container.group,
            role: container.role,
            image: &container.image,
            digest: image.and_then(|it| it.facts.digest.as_deref()),
            platform: image.map(|it| it.facts.platform.as_str()),
            verdict: container.verdict(fail_on),
            node_classes: container.knows_nodes.then(|| classes.collect()),
            findings: container.findings(),
            ignored: container.ignored(),
            gaps: image.map_or(&[], |it| &it.gaps),
        }
    }
}
