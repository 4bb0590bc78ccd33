//! Which objects start containers, and where in them these are: `rules/knowledge/workloads.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::hints::{Hints, ScriptHints};
use imgcheck_base::glob::matches_any;
use imgcheck_base::spelling::nearest;

/// The table.
#[derive(Debug, Deserialize)]
pub struct Kinds {
    kinds: Vec<Kind>,
    inert: Vec<Inert>,
    gpu_resources: Vec<String>,
    gpu_share_resources: Vec<String>,
    perhaps_gpu_resources: Vec<String>,
    other_gpu_resources: Vec<String>,
    mig_resources: Vec<String>,
    misspelled_gpu_resources: BTreeMap<String, Vec<String>>,
    rdma_resources: Vec<String>,
    gpu_device_classes: Vec<String>,
    gpu_runtime_classes: Vec<String>,
    pub(super) injected_volumes: Vec<InjectedVolume>,
    /// Patterns of the variables that every container of a Pod has.
    pub(super) pod_variables: Vec<String>,
    /// Patterns of those that it has of the Services of its namespace, unless `enableServiceLinks` is off.
    pub(super) service_variables: Vec<String>,
    /// Patterns of those of a step of a Slurm job.
    pub(super) slurm_variables: Vec<String>,
    pub(super) hints: Hints,
    pub(super) scripts: ScriptHints,
}

/// A volume that a webhook mounts into the containers of a Pod.
#[derive(Debug, Deserialize)]
pub(super) struct InjectedVolume {
    pub annotation: String,
    pub value: String,
    pub path: String,
}

/// Kinds that start no container themselves.
#[derive(Debug, Deserialize)]
struct Inert {
    group: String,
    /// Patterns.
    kinds: Vec<String>,
}

/// An object that starts containers. `[]` in a path is every element of a list, `*` every value of a map, and `NAME=` before it names the part
/// of the workload.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kind {
    /// Its kind: `TrainingRun`.
    pub kind: String,
    /// The API group: `ml.example.com`; empty for the core.
    #[serde(default)]
    group: String,
    /// Its name in the URLs of the API, by which webhooks select it.
    #[serde(default, rename = "resource")]
    #[schemars(skip)]
    _resource: Option<String>,
    /// Paths of Pod templates, which are maps whose `spec` is that of a Pod: `spec.workers[].template`.
    #[serde(default)]
    pub(super) templates: Vec<String>,
    /// Paths of specifications of Pods.
    #[serde(default)]
    pub(super) pods: Vec<String>,
    /// Pods that the object describes with fields of its own.
    #[serde(default)]
    pub(super) parts: Vec<Part>,
    /// How a placeholder begins, such as `{{`: an image with one is decided when the object runs.
    #[serde(default)]
    pub(super) placeholder: Option<String>,
    /// Its controller mounts a volume at `/dev/shm`.
    #[serde(default)]
    pub(super) shared_memory: bool,
    /// Its controller brings no files into the containers.
    #[serde(default)]
    pub(super) mounts_known: bool,
    /// What its controller does with the resources of its containers. If it brings no files, it hands them on.
    #[serde(default)]
    pub(super) resources: Option<Resources>,
    /// Paths in the object. Where one of them is there, its controller brings files all the same: `spec.templates[].inputs.artifacts`.
    #[serde(default)]
    pub(super) brings_files: Vec<String>,
    /// Variables that its controller sets in the containers, as patterns: `RANK`, `TRAIN_*`.
    #[serde(default)]
    pub(super) variables: Vec<String>,
    /// What its controller requires of the map with the templates.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) replica_specs: Option<ReplicaSpecs>,
    /// Where this is specified.
    #[serde(default, rename = "source")]
    #[schemars(skip)]
    _source: String,
}

/// What Kubeflow's training operator requires of the replicas of a job.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReplicaSpecs {
    /// Allowed replica types; any if empty.
    pub types: Vec<String>,
    /// Each replica has a container of this name.
    pub container: String,
    /// The replica type that has exactly one replica.
    pub single: Option<String>,
}

/// What becomes of resources that an object has for its containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resources {
    /// They are those of the Pod.
    Kept,
    /// The controller adds those of another object where the Pod has none, such as a limit.
    Completed,
}

/// A Pod that an object describes with fields of its own. Paths begin at `at`, or with `/` at the object.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Part {
    /// Where the fields are: `spec.server`.
    pub(super) at: String,
    /// What lies beneath these fields.
    pub(super) defaults: Option<String>,
    /// The specification of the Pod, with `nodeSelector`, `tolerations` and so on; `at` itself if empty.
    pub(super) pod: String,
    /// Containers that may be there, beside those in the lists of the Pod.
    pub(super) containers: Vec<String>,
    /// A container that is always there, even if nothing is at its path; empty for `at` itself.
    pub(super) container: Option<String>,
    /// The name of a container that has none; that of the object if absent.
    pub(super) name: Option<String>,
    /// What lies beneath each of these containers.
    pub(super) container_defaults: Option<String>,
    /// Fields of a container or a Pod that are elsewhere, by their names in Kubernetes: `{image: server.image, resources: resources}`. An image is
    /// text, or a map of registry, repository, tag and digest.
    pub(super) fields: BTreeMap<String, String>,
    /// Fields of a container with names of their own, by their names in Kubernetes.
    pub(super) renamed: BTreeMap<String, String>,
    /// The first arguments that the controller gives these containers.
    pub(super) args: Vec<String>,
    /// A number of GPUs: the first of these that is there.
    pub(super) gpus: Vec<String>,
    /// The extended resource of these GPUs, if it is not `nvidia.com/gpu`.
    pub(super) gpu_resource: Option<String>,
    /// Texts that are strategic merge patches of the Pod, in YAML or JSON.
    pub(super) patches: Vec<String>,
    /// A list of resource claims, each with the fields of one in a Pod.
    pub(super) claims: Option<String>,
}

impl Kinds {
    /// The same with other kinds, which count more.
    pub fn with(mut self, kinds: &[Kind]) -> Self {
        self.kinds.splice(0..0, kinds.iter().cloned());
        self
    }

    /// The row of a kind.
    pub(super) fn find(&self, group: &str, kind: &str) -> Option<&Kind> {
        let mut kinds = self.kinds.iter();
        kinds.find(|it| it.kind == kind && it.group == group)
    }

    /// Whether objects of a kind start no container, whatever is in them.
    pub(super) fn is_inert(&self, group: &str, kind: &str) -> bool {
        let mut rows = self.inert.iter().filter(|it| it.group == group);
        self.find(group, kind).is_none() && rows.any(|it| matches_any(kind, &it.kinds))
    }

    /// Whether an extended resource is a GPU of NVIDIA, or a share of one.
    pub(super) fn is_gpu_resource(&self, name: &str) -> bool {
        is_listed(&self.gpu_resources, name) || self.is_gpu_share(name)
    }

    /// Whether an extended resource is memory or time of a GPU: its amount is no number of GPUs, and no node lists it.
    pub(super) fn is_gpu_share(&self, name: &str) -> bool {
        is_listed(&self.gpu_share_resources, name)
    }

    /// Whether an extended resource may be a GPU that the driver of the node does not serve.
    pub(super) fn is_perhaps_gpu(&self, name: &str) -> bool {
        let is_other = self.is_gpu_resource(name) || self.is_rdma_resource(name);
        !is_other && is_listed(&self.perhaps_gpu_resources, name)
    }

    /// Whether an extended resource is a GPU of another vendor.
    pub(super) fn is_other_gpu(&self, name: &str) -> bool {
        is_listed(&self.other_gpu_resources, name)
    }

    /// The resource that a misspelled name of a GPU means: one that people are known to write, one in other letters, one below a misspelled domain, or
    /// that of a MIG profile with other punctuation.
    pub(super) fn misspelled_gpu(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        let mut profiles = self.mig_resources.iter();
        if let Some(meant) = profiles.find(|it| is_same_word(it, &lower)) {
            return (meant != name).then_some(meant);
        }
        if self.is_gpu_resource(name) {
            return None;
        }
        let mut written = self.misspelled_gpu_resources.iter();
        let known = written.find(|(_, names)| names.contains(&lower));
        let known = known.map(|(meant, _)| meant.as_str());
        known.or_else(|| {
            let (domain, resource) = lower.split_once('/')?;
            let mut meant = self.gpu_resources.iter();
            let meant = meant.find(|it| {
                it.split_once('/')
                    .is_some_and(|(known, it)| it == resource && nearest(domain, [known]).is_some())
            });
            meant.map(String::as_str)
        })
    }

    /// Whether an extended resource is an adapter for RDMA.
    pub(super) fn is_rdma_resource(&self, name: &str) -> bool {
        matches_any(name, &self.rdma_resources)
    }

    /// Whether Pods of a runtime class may get a GPU that they do not request.
    pub fn is_gpu_runtime(&self, name: &str) -> bool {
        is_listed(&self.gpu_runtime_classes, name)
    }

    /// Whether a device class is for GPUs of NVIDIA.
    pub(super) fn is_gpu_class(&self, name: &str) -> bool {
        is_listed(&self.gpu_device_classes, name)
    }
}

impl Kind {
    /// Whether it says where containers are.
    pub fn has_containers(&self) -> bool {
        !(self.templates.is_empty() && self.pods.is_empty() && self.parts.is_empty())
    }

    /// Whether an image has a placeholder of the kind's controller. `{{ .Values.image }}` is one of Helm.
    pub(super) fn is_decided_later(&self, image: &str) -> bool {
        let Some(open) = &self.placeholder else {
            return false;
        };
        let mut after = image.split(open.as_str()).skip(1);
        after.any(|it| !it.trim_start().starts_with('.'))
    }
}

/// Whether two texts have the same letters and digits in the same order.
fn is_same_word(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|it| it.chars().filter(char::is_ascii_alphanumeric));
    one.eq(other)
}

/// Whether a list has a name; `*` at the end of an item stands for any text.
fn is_listed(list: &[String], name: &str) -> bool {
    list.iter().any(|known| match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == known,
    })
}
