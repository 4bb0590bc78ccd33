//! A container as rules see it: `workload`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::{Container, Role, Workload};
use imgcheck_model::finding::Location;

/// One container of a workload, with what was found out about its image and its nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadFacts {
    /// The file as the user named it.
    pub file: String,
    /// The kind: `Deployment`, `RayCluster`, `compose`, `script`.
    pub kind: String,
    /// The namespace; empty if the manifest does not say.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The container that is judged.
    pub container: Container,
    /// All containers of the workload, this one too, in order.
    pub containers: Vec<Peer>,
    /// Position of the container in `containers`.
    pub index: usize,
    /// The node classes that the scheduler may choose. Absent if no nodes are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<ClassFacts>>,
    /// All node classes, each with the reason why the scheduler cannot choose it. Empty if it can choose any.
    pub excluded: Vec<ClassFacts>,
    /// A label that tells the classes on which the image runs from the others. Absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<AffinityFacts>,
    /// GPU frameworks that the command reaches. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frameworks: Option<Vec<String>>,
    /// GPU frameworks that the command of the image alone reaches. Absent if the container replaces nothing, or no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_frameworks: Option<Vec<String>>,
    /// Files of the image that the process loads, and that a volume hides.
    pub hidden: Vec<HiddenFiles>,
    /// Programs that the kubelet starts in the container for its probes and its lifecycle, and that certainly do not start.
    pub exec_failures: Vec<ExecFailure>,
    /// Why the kubelet does not start the container as its user; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_user: Option<RefusedUser>,
    /// The policy requires images by digest in this namespace.
    pub digest_required: bool,
}

/// A container of the same workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Peer {
    /// Its name, with its group: `head/ray`.
    pub name: String,
    /// The part of the workload that it belongs to.
    pub group: String,
    /// When it runs.
    pub role: Role,
    /// The image reference.
    pub image: String,
    /// Whether it requests a GPU, or may do so by a resource claim that is not in the input.
    pub gpu: bool,
    /// Versions of the components that its process loads; empty if the image was not read.
    pub versions: BTreeMap<String, String>,
}

/// A node class, judged for the container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClassFacts {
    /// Its name.
    pub name: String,
    /// Its GPUs; empty if unknown or none.
    pub gpus: Vec<String>,
    /// Its driver; absent if unknown or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// `amd64`, `arm64`; empty if unknown.
    pub architecture: String,
    /// Whether devices are injected by CDI; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdi: Option<bool>,
    /// The configuration declares it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    /// `pass`, `fail`, or `incomplete` if it is not known whether the image runs there.
    pub verdict: String,
    /// Why it does not run there, or why that is unknown; for an excluded class why the scheduler cannot choose it.
    pub reason: String,
}

/// A label and the values that the image runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AffinityFacts {
    /// The label.
    pub key: String,
    /// Its values on the nodes on which the image runs.
    pub values: Vec<String>,
}

/// Files that a volume hides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HiddenFiles {
    /// Where the volume is mounted.
    pub path: String,
    /// The name of the volume.
    pub volume: String,
    /// Its kind.
    pub kind: String,
    /// The first of the files.
    pub file: String,
    /// How many.
    pub count: usize,
    /// It is the script that Python certainly executes, and the volume is empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub script: bool,
    /// Where it is mounted.
    pub location: Location,
}

/// A program of a probe or of a handler of the lifecycle that certainly does not start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecFailure {
    /// The field of the container: `livenessProbe`, `lifecycle.postStart`.
    pub field: String,
    /// The program.
    pub program: String,
    /// What the container runtime or the shell says.
    pub says: String,
    /// Where its command is.
    pub location: Location,
}

/// A user that the kubelet does not start a container as.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusedUser {
    /// What the kubelet says.
    pub says: String,
    /// Where the manifest sets what it breaks.
    pub location: Location,
}

impl WorkloadFacts {
    /// The facts of one container, before its image is looked at.
    pub fn of(workload: &Workload, index: usize) -> Self {
        let peer = |it: &Container| Peer {
            name: it.title(),
            group: it.group.clone(),
            role: it.role,
            image: it.image.clone(),
            gpu: it.gpu.is_some() || it.may_have_gpu,
            versions: BTreeMap::new(),
        };
        WorkloadFacts {
            file: workload.file.clone(),
            kind: workload.kind.clone(),
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            container: workload.containers[index].clone(),
            containers: workload.containers.iter().map(peer).collect(),
            index,
            ..WorkloadFacts::default()
        }
    }
}
