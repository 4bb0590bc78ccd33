//! How a cluster is reached, and what is known about it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use imgcheck_model::targets::nodes::{self, NodeClass};

/// How to reach the API server of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// As `kubectl` does it.
    Kubeconfig {
        /// The file; `None` for those that KUBECONFIG names, or `~/.kube/config`.
        file: Option<PathBuf>,
        /// The context; `None` for the current one of the file.
        context: Option<String>,
    },
    /// As a Pod of the cluster, with its ServiceAccount.
    InCluster,
}

impl Connection {
    /// The connection that a file or a context of it names; `None` if neither is given.
    pub fn named(file: Option<PathBuf>, context: Option<String>) -> Option<Self> {
        let is_named = file.is_some() || context.is_some();
        is_named.then_some(Connection::Kubeconfig { file, context })
    }
}

/// What a cluster has, as one request for each kind found it.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Nodes and ResourceSlices.
    pub nodes: Vec<nodes::Object>,
    /// The runtime classes, and what was asked for beside.
    pub related: Vec<serde_json::Value>,
}

/// Which objects to list that workloads refer to. Not everybody may list them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Related {
    /// The queues of Kueue with their flavors.
    pub queues: bool,
    /// The runtimes of TrainJobs.
    pub runtimes: bool,
    /// The runtimes of InferenceServices.
    pub serving: bool,
}

/// What is known about a cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterState {
    /// The classes of its nodes; `None` if no nodes are known. The gate adds those that the configuration declares, such as pools that
    /// are scaled to zero.
    pub classes: Option<Vec<Arc<NodeClass>>>,
    /// The labels of its namespaces, by name.
    pub namespaces: BTreeMap<String, Labels>,
    /// The node selectors of its runtime classes, by name.
    pub runtime_classes: BTreeMap<String, Labels>,
    /// The objects that workloads refer to: the queues of Kueue with their flavors, and the runtimes of TrainJobs and InferenceServices.
    pub related: Vec<serde_json::Value>,
}

/// Labels and their values.
pub type Labels = BTreeMap<String, String>;
