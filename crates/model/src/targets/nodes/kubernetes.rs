//! Nodes and ResourceSlices as `kubectl get nodes,resourceslices -o json` prints them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::super::Target;
use super::super::gpu_table::GpuTable;
use super::labels::{GpuLabels, NodeLabels};
use super::{Node, NodeClass, Taint};
use imgcheck_base::error::{Error, Result};

/// Taints by which the control plane says how a node is now: cordoned, not ready, out of memory. Tomorrow it is back.
const CONDITIONS: &str = "node.kubernetes.io/";
/// The kind of a node.
const NODE: &str = "Node";

/// A node, a ResourceSlice, or a list of them; fields that decide nothing are not read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Object {
    kind: String,
    items: Vec<Object>,
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    labels: Arc<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    taints: Vec<NodeTaint>,
    /// Of a ResourceSlice.
    driver: String,
    node_name: String,
    devices: Vec<Device>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct NodeTaint {
    key: String,
    value: String,
    effect: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    allocatable: BTreeMap<String, serde_json::Value>,
    node_info: NodeInfo,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct NodeInfo {
    architecture: String,
}

/// A device; before `resource.k8s.io/v1` its attributes are in `basic`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Device {
    attributes: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
    basic: Option<Box<Device>>,
}

/// Reads the nodes of a cluster and groups them into classes; `name` is the file for errors.
///
/// # Errors
/// [`Error::Malformed`]: not JSON, or neither nodes nor a list of them.
pub fn read(
    name: &str,
    texts: &[&str],
    labels: &NodeLabels,
    gpus: &GpuTable,
) -> Result<Vec<Arc<NodeClass>>> {
    let mut objects = Vec::new();
    for text in texts {
        let object: Object = serde_json::from_str(text).map_err(|error| Error::Malformed {
            problem: format!(
                "error: {name}: not the output of `kubectl get nodes -o json`: {error}"
            ),
        })?;
        flatten(object, &mut objects);
    }
    if !objects.iter().any(|it| it.kind == NODE) {
        return Err(Error::Malformed {
            problem: format!(
                "error: {name}: no nodes in it (expected the output of `kubectl get nodes -o json`)"
            ),
        });
    }
    Ok(classes_of(&objects, labels, gpus))
}

/// Groups nodes into classes. ResourceSlices among the objects say what GPUs and driver a node has that has no labels.
pub fn classes_of<'o>(
    objects: impl IntoIterator<Item = &'o Object>,
    labels: &NodeLabels,
    gpus: &GpuTable,
) -> Vec<Arc<NodeClass>> {
    let (mut nodes, mut slices) = (Vec::new(), BTreeMap::new());
    for object in objects {
        match object.kind.as_str() {
            NODE => nodes.push(object),
            "ResourceSlice" if object.spec.driver == labels.slices.driver => {
                if let Some(found) = of_slice(object, labels) {
                    slices.insert(object.spec.node_name.as_str(), found);
                }
            }
            _ => {}
        }
    }
    group(&nodes, &slices, labels, gpus)
}

fn flatten(object: Object, found: &mut Vec<Object>) {
    match object.items.is_empty() {
        true => found.push(object),
        false => object.items.into_iter().for_each(|it| flatten(it, found)),
    }
}

/// What decides whether an image runs, and so what makes a class.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Key {
    gpu: Option<String>,
    driver: Option<String>,
    has_gpu: bool,
    architecture: String,
}

fn group(
    nodes: &[&Object],
    slices: &BTreeMap<&str, GpuLabels>,
    labels: &NodeLabels,
    gpus: &GpuTable,
) -> Vec<Arc<NodeClass>> {
    let mut classes: BTreeMap<Key, Vec<Node>> = BTreeMap::new();
    for object in nodes {
        let node = node(object);
        let own = node.labels.clone().unwrap_or_default();
        let read = labels.read(&own);
        let slice = slices.get(node.name.as_str()).cloned().unwrap_or_default();
        let found = GpuLabels {
            product: read.product.or(slice.product),
            capability: read.capability.or(slice.capability),
            driver: read.driver.or(slice.driver),
        };
        let resources = node.resources.clone().unwrap_or_default();
        let has_gpu = found != GpuLabels::default() || labels.has_gpu(&own, &resources);
        let key = Key {
            gpu: found.gpu(gpus),
            driver: found.driver(),
            has_gpu,
            architecture: node.architecture.clone(),
        };
        classes.entry(key).or_default().push(node);
    }
    let keys: Vec<Key> = classes.keys().cloned().collect();
    let class = |(key, nodes): (Key, Vec<Node>)| NodeClass {
        target: Target {
            name: key.name(&keys),
            gpus: key.gpu.into_iter().collect(),
            driver: key.driver,
            architecture: key.architecture.clone(),
        },
        has_gpu: key.has_gpu,
        architecture: key.architecture,
        cdi: None,
        nodes,
        is_declared: false,
    };
    classes.into_iter().map(class).map(Arc::new).collect()
}

impl Key {
    /// A name that tells the class from the others: `NVIDIA-A100-SXM4-80GB (driver 535.104.05)`.
    fn name(&self, all: &[Key]) -> String {
        let gpu = match (&self.gpu, self.has_gpu) {
            (Some(gpu), _) => gpu.as_str(),
            (None, true) => "unknown GPU",
            (None, false) => "no GPU",
        };
        let mut details = Vec::new();
        if self.has_gpu {
            let driver = self.driver.as_deref().unwrap_or("unknown");
            details.push(format!("driver {driver}"));
        }
        if all.iter().any(|it| it.architecture != self.architecture) {
            details.push(match self.architecture.as_str() {
                "" => "unknown architecture".to_owned(),
                architecture => architecture.to_owned(),
            });
        }
        match details.is_empty() {
            true => gpu.to_owned(),
            false => format!("{gpu} ({})", details.join(", ")),
        }
    }
}

fn node(object: &Object) -> Node {
    let count = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    let allocatable = object.status.allocatable.iter();
    let extended = allocatable.filter(|(name, _)| name.contains('/'));
    let resources: BTreeMap<String, u64> = extended
        .filter_map(|(name, value)| Some((name.clone(), count(value)?)))
        .collect();
    let labels = &object.metadata.labels;
    let architecture = labels.get("kubernetes.io/arch").cloned();
    Node {
        name: object.metadata.name.clone(),
        architecture: architecture.unwrap_or_else(|| object.status.node_info.architecture.clone()),
        labels: Some(Arc::clone(labels)),
        taints: object
            .spec
            .taints
            .iter()
            .filter(|taint| !taint.key.starts_with(CONDITIONS))
            .map(|taint| Taint {
                key: taint.key.clone(),
                value: taint.value.clone(),
                effect: taint.effect.clone(),
            })
            .collect(),
        resources: (!object.status.allocatable.is_empty()).then_some(resources),
    }
}

/// What the first device of a ResourceSlice says.
fn of_slice(slice: &Object, labels: &NodeLabels) -> Option<GpuLabels> {
    let device = slice.spec.devices.first()?;
    let device = device.basic.as_deref().unwrap_or(device);
    let text = |attribute: &str| {
        let value = device.attributes.get(attribute)?.values().next()?;
        value.as_str().map(str::to_owned)
    };
    Some(GpuLabels {
        product: text(&labels.slices.product),
        capability: text(&labels.slices.capability),
        driver: text(&labels.slices.version),
    })
}
