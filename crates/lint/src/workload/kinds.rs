//! Which objects start containers, and where in them these are: `rules/knowledge/workloads.yaml`.

use serde::Deserialize;

use super::hints::{Hints, ScriptHints};
use imgcheck_base::glob::glob;

/// The table.
#[derive(Debug, Deserialize)]
pub struct Kinds {
    kinds: Vec<Kind>,
    inert: Vec<Inert>,
    gpu_resources: Vec<String>,
    rdma_resources: Vec<String>,
    gpu_device_classes: Vec<String>,
    gpu_runtime_classes: Vec<String>,
    pub(super) hints: Hints,
    pub(super) scripts: ScriptHints,
}

/// Kinds that start no container themselves.
#[derive(Debug, Deserialize)]
struct Inert {
    group: String,
    /// Patterns.
    kinds: Vec<String>,
}

/// An object that starts containers. Paths are in the form of `kubernetes/path.rs`.
#[derive(Debug, Deserialize)]
pub struct Kind {
    kind: String,
    /// The API group; empty for the core.
    #[serde(default)]
    group: String,
    /// Pod templates: maps whose `spec` is that of a Pod.
    #[serde(default)]
    pub(super) templates: Vec<String>,
    /// Specifications of Pods.
    #[serde(default)]
    pub(super) pods: Vec<String>,
    /// Containers outside of a Pod's lists.
    #[serde(default)]
    pub(super) containers: Vec<String>,
    /// The image of those that name none.
    #[serde(default)]
    pub(super) image: Option<String>,
}

impl Kinds {
    /// The row of a kind.
    pub(super) fn find(&self, group: &str, kind: &str) -> Option<&Kind> {
        let mut kinds = self.kinds.iter();
        kinds.find(|it| it.kind == kind && it.group == group)
    }

    /// Whether objects of a kind start no container, whatever is in them.
    pub(super) fn is_inert(&self, group: &str, kind: &str) -> bool {
        let rows = self.inert.iter().filter(|it| it.group == group);
        rows.flat_map(|it| &it.kinds)
            .any(|pattern| glob(kind, pattern))
    }

    /// Whether an extended resource is a GPU of NVIDIA.
    pub(super) fn is_gpu_resource(&self, name: &str) -> bool {
        is_listed(&self.gpu_resources, name)
    }

    /// Whether an extended resource is an adapter for RDMA.
    pub(super) fn is_rdma_resource(&self, name: &str) -> bool {
        let mut patterns = self.rdma_resources.iter();
        patterns.any(|pattern| glob(name, pattern))
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

/// Whether a list has a name; `*` at the end of an item stands for any text.
fn is_listed(list: &[String], name: &str) -> bool {
    list.iter().any(|known| match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == known,
    })
}
