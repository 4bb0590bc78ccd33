//! What a manifest deploys: `workload` in rules, and the input of a judgement.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::Placement;
use imgcheck_launch::Overlay;
use imgcheck_model::finding::Location;

/// How the volume of the ServiceAccount of a Pod begins (kubernetes/kubernetes, plugin/pkg/admission/serviceaccount).
const ACCOUNT_VOLUME: &str = "kube-api-access-";

/// An object that starts containers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// The file as the user named it.
    pub file: String,
    /// Its kind: `Deployment`, `RayCluster`, `compose`, `script`.
    pub kind: String,
    /// Its namespace; empty if the manifest does not say.
    pub namespace: String,
    /// Its name; empty if it has none.
    pub name: String,
    /// The containers in order.
    pub containers: Vec<Container>,
    /// What looks like an image or a GPU request, and belongs to none of the containers, and references to objects that are not in the input.
    pub not_understood: Vec<Evidence>,
}

/// A container of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// The part of the workload that it belongs to, such as `head` or `Worker`; empty if there is only one.
    pub group: String,
    /// When it runs.
    pub role: Role,
    /// The image reference; empty if another object decides it.
    pub image: String,
    /// What decides the image, if that is known and the manifest does not name it: `ServingRuntime llama`, `{{item.image}}`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub decided_by: String,
    /// Where the image is named.
    pub location: Location,
    /// What it replaces in the configuration of the image.
    pub overlay: Overlay,
    /// Where the command or the arguments are; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_location: Option<Location>,
    /// The variables that it sets, in order.
    pub env: Vec<Variable>,
    /// What it replaces with something that is not in the manifest.
    pub unknown: Vec<Unknown>,
    /// Volumes and files that are mounted into it.
    pub mounts: Vec<Mount>,
    /// The GPUs that it requests; absent if it requests none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuRequest>,
    /// Misspelled names of GPU resources that it requests, unless a node has such a resource.
    pub misspelled_gpus: Vec<MisspelledGpu>,
    /// A GPU of another vendor that it requests: `amd.com/gpu`; empty if it requests none.
    pub other_gpu: String,
    /// Resources that the API server refuses, and so the Pod, or that Compose refuses. Only given where nothing changes them before.
    pub refused_resources: Vec<RefusedResource>,
    /// Fields of its object, and of the ConfigMaps and Secrets of the input that it needs, that the API server refuses. Those of the object are given
    /// with its first container, and only where nothing changes them before.
    pub refused_fields: Vec<RefusedField>,
    /// Keys of ConfigMaps and Secrets of the input without which the kubelet does not start it. Only given where nothing changes it before.
    pub missing_keys: Vec<MissingKey>,
    /// The GPUs of the nodes that it can land on, or that it selects by their labels. Only given if its image was not read.
    pub gpus: Vec<PossibleGpu>,
    /// The network adapter for RDMA that it requests; absent if it requests none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdma: Option<RdmaRequest>,
    /// It is privileged, and so has all devices of its node, those that it does not request too.
    pub privileged: bool,
    /// It may get a GPU that it does not request for certain: by a resource claim that is not in the input, by NVIDIA_VISIBLE_DEVICES, by
    /// a device that is passed to a virtual machine, or because it is privileged and has the devices of its node.
    #[serde(skip)]
    pub may_have_gpu: bool,
    /// The runtime class of its Pod, or the runtime of a Compose service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class: Option<RuntimeClass>,
    /// The programs that the kubelet starts in it while it runs.
    #[serde(skip)]
    pub exec_actions: Vec<ExecAction>,
    /// Where `runAsNonRoot` is set for it.
    #[serde(skip)]
    pub run_as_non_root: Option<Location>,
    /// `/dev/shm` has the 64 MB that container engines give by default, or a volume that is not larger.
    pub default_shm: bool,
    /// Where its Pod may run.
    #[serde(skip)]
    pub placement: Arc<Placement>,
}

/// A program that the kubelet starts in a container that runs: `exec` of a probe, or of a handler of its lifecycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecAction {
    /// The field: `livenessProbe`, `lifecycle.postStart`.
    pub field: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where the command is.
    pub location: Location,
}

/// A GPU of a node that a container can land on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PossibleGpu {
    /// Its name, as labels or the configuration write it.
    pub name: String,
    /// Its compute capability: `9.0`.
    pub capability: String,
}

/// When a container runs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// As long as the Pod.
    #[default]
    Main,
    /// Before the others.
    Init,
    /// Beside the others: an init container that is restarted always, or a sidecar of a workflow.
    Sidecar,
    /// When somebody adds it to debug.
    Ephemeral,
}

/// A variable that a container sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where it is set.
    pub location: Location,
}

/// Something whose content is not in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unknown {
    /// The only variable that it sets; absent if it may set any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// What is unknown, and why, in one sentence.
    pub message: String,
    /// Where it is named.
    pub location: Location,
}

/// A volume or file that is mounted into a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mount {
    /// The path in the container.
    pub path: String,
    /// The name of the volume, or the path on the host.
    pub volume: String,
    /// The kind of the volume: `emptyDir`, `persistentVolumeClaim`, `configMap`, `hostPath`; empty if unknown.
    pub kind: String,
    /// An `emptyDir` that no other container of the Pod mounts: it is empty when the container starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Where it is mounted.
    pub location: Location,
}

/// A request for GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuRequest {
    /// The resource or device class: `nvidia.com/gpu`.
    pub resource: String,
    /// How many; absent if unknown, or all there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where they are requested.
    pub location: Location,
}

/// A request with a misspelled name of a GPU resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MisspelledGpu {
    /// The resource as written: `nvidia.com/gpus`.
    pub resource: String,
    /// The resource that it means: `nvidia.com/gpu`.
    pub meant: String,
    /// Where it is requested.
    pub location: Location,
}

/// A resource of a container that the API server or Compose refuses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusedResource {
    /// The resource as written: `nvidia.com/gpu`.
    pub resource: String,
    /// Its amount as written; empty if that is not text.
    pub value: String,
    /// `capabilities` (a device of a Compose file has none), `unknown-field` (it is beside `limits` and `requests`), `unqualified` (its name has no domain), `name`, `quantity`, `integer`, `limit` (it
    /// has only a request), `unequal` (its request does not fit its limit).
    pub problem: String,
    /// What the API server or Compose says.
    pub says: String,
    /// Where it is.
    pub location: Location,
}

/// A field that the API server refuses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusedField {
    /// The object, if it is another than that of the container: `ConfigMap settings`; else empty.
    pub object: String,
    /// The name of the container that has it; empty if it is a field of the Pod or of another object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// The path of the field: `spec.containers[0].env[1].value`.
    pub field: String,
    /// Its value as written, if that is short; else empty.
    pub value: String,
    /// `type` (its value is of another type), `unknown-field` (it is misspelled), `invalid` (its value, or its absence, is not allowed),
    /// `undefined` (it names a template that the workflow does not have).
    pub problem: String,
    /// What its value is, and what the field takes, if the type is wrong: `text`, `a number`, `a truth value`, `a list`, `a map`.
    pub is: String,
    /// See `is`.
    pub takes: String,
    /// What to write instead, if that is known: `volumeMounts`.
    pub meant: String,
    /// What the API server says of an invalid value.
    pub says: String,
    /// Where it is.
    pub location: Location,
}

/// A request for a network adapter for RDMA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RdmaRequest {
    /// The resource: `rdma/hca_shared_devices_a`, `vpc.amazonaws.com/efa`.
    pub resource: String,
    /// Where it is requested.
    pub location: Location,
}

/// A key that a ConfigMap or Secret of the input lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MissingKey {
    /// The kind and name of the object: `ConfigMap settings`.
    pub object: String,
    /// The key.
    pub key: String,
    /// Where it is named.
    pub location: Location,
}

/// A text that looks like an image or a GPU request, or starts what is not in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What it looks like.
    pub kind: EvidenceKind,
    /// The image as far as it is known, the resource, the command, or the kind and name of an object.
    pub text: String,
    /// Where it is.
    pub location: Location,
}

/// What something looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceKind {
    /// A container image.
    Image,
    /// A request for GPUs.
    Gpu,
    /// A command that starts a container.
    Command,
    /// A reference to an object that starts containers, and is not in the input.
    Reference,
    /// A manifest in a subdirectory, which is not read.
    Subdirectory,
}

/// The runtime class of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuntimeClass {
    /// Its name.
    pub name: String,
    /// Where it is named.
    pub location: Location,
}

/// Patterns of the variables that something that is not in the manifest may set.
pub(super) fn patterns(unknown: &[Unknown]) -> Vec<String> {
    let names = unknown.iter().map(|it| it.variable.as_deref());
    names.map(|it| it.unwrap_or("*").to_owned()).collect()
}

/// Whether something that is not in the manifest may set PATH.
pub(super) fn may_set_path(unknown: &[Unknown]) -> bool {
    let mut variables = unknown.iter().map(|it| it.variable.as_deref());
    variables.any(|it| it.is_none_or(|it| it == "PATH"))
}

impl Role {
    /// The role as in the JSON report.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Main => "main",
            Role::Init => "init",
            Role::Sidecar => "sidecar",
            Role::Ephemeral => "ephemeral",
        }
    }
}

impl Workload {
    /// The workload as one of a namespace, without what differs between equal Pods: its name, and the random end of the volume of the
    /// ServiceAccount.
    pub(super) fn in_cluster(mut self, namespace: &str) -> Self {
        self.namespace = namespace.to_owned();
        self.name = String::new();
        let mounts = self.containers.iter_mut().flat_map(|it| &mut it.mounts);
        for mount in mounts.filter(|it| it.volume.starts_with(ACCOUNT_VOLUME)) {
            mount.volume = ACCOUNT_VOLUME.to_owned();
        }
        self
    }

    /// `Deployment ml/train`.
    pub fn title(&self) -> String {
        let words = [self.namespace.as_str(), self.name.as_str()];
        let name: Vec<&str> = words.into_iter().filter(|it| !it.is_empty()).collect();
        match name.is_empty() {
            true => self.kind.clone(),
            false => format!("{} {}", self.kind, name.join("/")),
        }
    }
}

impl Container {
    /// The name with its group: `head/ray`.
    pub fn title(&self) -> String {
        match self.group.as_str() {
            "" => self.name.clone(),
            group => format!("{group}/{}", self.name),
        }
    }

    /// The mounts of volumes whose files are not in the input.
    pub fn unknown_mounts(&self) -> impl Iterator<Item = &Mount> {
        let mounts = self.mounts.iter();
        mounts.filter(|it| !self.overlay.config_maps.contains_key(&it.path))
    }

    /// Takes away what the API server or the kubelet refuses: a controller may change it before they see it.
    pub(super) fn clear_refusals(&mut self) {
        self.refused_resources.clear();
        self.refused_fields.clear();
        self.missing_keys.clear();
    }
}
