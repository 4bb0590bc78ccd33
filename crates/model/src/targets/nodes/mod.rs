//! The nodes of a cluster, grouped into classes that are equal in what decides whether an image runs.

mod kubernetes;
mod labels;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Target;
pub use kubernetes::{Object, classes_of, read};
pub use labels::NodeLabels;

/// The nodes of one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its name; empty for nodes from a file.
    pub name: String,
    /// The classes in the order in which they were declared or found. Shared, because they have thousands of nodes.
    pub classes: Vec<Arc<NodeClass>>,
}

impl Cluster {
    /// The cluster with a name; without a name the only one, or `None` if there is none.
    ///
    /// # Errors
    /// Says that the configuration declares none with this name, or several.
    pub fn choose<'c>(
        clusters: &'c [Self],
        name: Option<&str>,
    ) -> Result<Option<&'c Self>, String> {
        match (name, clusters) {
            (None, []) => Ok(None),
            (None, [only]) => Ok(Some(only)),
            (None, _) => Err("the configuration declares several clusters".to_owned()),
            (Some(name), all) => match all.iter().find(|it| it.name == name) {
                Some(cluster) => Ok(Some(cluster)),
                None => Err(format!("the configuration declares no cluster `{name}`")),
            },
        }
    }
}

/// Nodes with the same GPUs, driver and architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeClass {
    /// The GPUs and the driver, with the name of the class.
    pub target: Target,
    /// Whether its nodes have a GPU.
    pub has_gpu: bool,
    /// `amd64`, `arm64`; empty if unknown.
    pub architecture: String,
    /// Whether devices are injected by CDI; absent if unknown.
    pub cdi: Option<bool>,
    /// The nodes; a declared class has one that stands for all.
    pub nodes: Vec<Node>,
    /// Whether the configuration declares it, so that the number of its nodes is unknown.
    pub is_declared: bool,
}

/// What the scheduler compares of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Its labels; absent if nobody declared them. Shared, because thousands of nodes have dozens.
    pub labels: Option<Arc<BTreeMap<String, String>>>,
    /// Its architecture, if it has no labels.
    pub architecture: String,
    /// Taints of the node.
    pub taints: Vec<Taint>,
    /// Its extended resources; absent if unknown.
    pub resources: Option<BTreeMap<String, u64>>,
}

/// A taint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taint {
    /// Its key: `nvidia.com/gpu`.
    pub key: String,
    /// Its value; often empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// The value of a label, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label<'n> {
    /// Nobody declared the labels of the node.
    Unknown,
    /// The node does not have it.
    Absent,
    /// Its value.
    Value(&'n str),
}

impl<'n> Label<'n> {
    /// Whether it is known what the node has.
    pub fn is_known(self) -> bool {
        self != Label::Unknown
    }

    /// The value, if there is one.
    pub fn value(self) -> Option<&'n str> {
        match self {
            Label::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl Node {
    /// The value of a label. The architecture and the operating system of a declared class are labels, too.
    pub fn label(&self, key: &str) -> Label<'_> {
        let own = self.labels.as_ref().and_then(|labels| labels.get(key));
        let declared = match key {
            "kubernetes.io/arch" if !self.architecture.is_empty() => Some(&*self.architecture),
            "kubernetes.io/os" if self.labels.is_none() => Some("linux"),
            _ => None,
        };
        match (own.map(String::as_str).or(declared), &self.labels) {
            (Some(value), _) => Label::Value(value),
            (None, Some(_)) => Label::Absent,
            (None, None) => Label::Unknown,
        }
    }
}

impl Taint {
    /// Reads `key=value:NoSchedule` or `key:NoSchedule`, as `kubectl taint` takes it.
    pub fn parse(text: &str) -> Option<Self> {
        let (pair, effect) = text.rsplit_once(':')?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_effect = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
        (is_effect && !key.is_empty()).then(|| Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        })
    }

    /// Whether Pods that do not tolerate it stay away.
    pub fn repels(&self) -> bool {
        self.effect != "PreferNoSchedule"
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint { key, value, effect } = self;
        match value.as_str() {
            "" => write!(formatter, "{key}:{effect}"),
            value => write!(formatter, "{key}={value}:{effect}"),
        }
    }
}
