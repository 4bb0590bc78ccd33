//! Which classes of nodes the scheduler may choose for a container.

use std::collections::BTreeSet;
use std::sync::Arc;

use imgcheck_base::digest::sha256;
use imgcheck_lint::workload::{AffinityFacts, Container, Placement};
use imgcheck_model::targets::nodes::{Node, NodeClass};
use imgcheck_report::{ClassReport, Verdict};

/// The classes of a cluster, for one container.
#[derive(Debug)]
pub struct Schedule {
    /// Classes with a node that the scheduler may choose.
    pub reachable: Vec<Arc<NodeClass>>,
    /// How many nodes of each of them it may choose; `None` if that is unknown.
    pub nodes: Vec<Option<usize>>,
    /// All classes, each with why its nodes are refused; empty if one is reachable.
    pub excluded: Vec<(Arc<NodeClass>, String)>,
    placement: Arc<Placement>,
}

impl Schedule {
    /// The classes of nodes that may run a container.
    pub fn of(container: &Container, classes: &[Arc<NodeClass>]) -> Self {
        let placement = &container.placement;
        // All containers of a Pod run on one node.
        let needs_gpu = container.gpu.is_some() || placement.has_gpu;
        let lacks_gpu = |class: &NodeClass| needs_gpu && !class.has_gpu;
        let count = |class: &NodeClass| admitted(class, placement).count();
        let lacks_features = |class: &NodeClass| !has_features(class, &placement.features, classes);
        let reachable = classes.iter().filter(|it| !lacks_gpu(it));
        let reachable = reachable.filter(|it| !lacks_features(it));
        let reachable = reachable.map(|it| (it.clone(), count(it)));
        let reachable = reachable.filter(|(_, it)| *it > 0);
        let counted = |(class, nodes): (Arc<NodeClass>, usize)| {
            let nodes = (!class.is_declared).then_some(nodes);
            (class, nodes)
        };
        let (reachable, nodes): (Vec<_>, Vec<_>) = reachable.map(counted).unzip();
        let reason = |class: &NodeClass| {
            if lacks_gpu(class) && count(class) > 0 {
                return "it has no GPU".to_owned();
            }
            if lacks_features(class) && count(class) > 0 {
                return "the job asks for other features or GPUs".to_owned();
            }
            refusal(class, placement)
        };
        let excluded = match reachable.is_empty() {
            true => classes.iter().map(|it| (it.clone(), reason(it))).collect(),
            false => Vec::new(),
        };
        Schedule {
            reachable,
            nodes,
            excluded,
            placement: placement.clone(),
        }
    }

    /// A digest of the parts of the cluster that decide a judgment. The labels of nodes are not in it: they decide which node affinity is
    /// suggested, and nothing else.
    pub fn digest(&self) -> String {
        fn known(class: &NodeClass) -> impl std::fmt::Debug {
            let NodeClass {
                target,
                has_gpu,
                architecture,
                cdi,
                nodes: _,
                is_declared: _,
            } = class;
            (target, has_gpu, architecture, cdi)
        }
        let reachable: Vec<_> = self.reachable.iter().map(|it| known(it)).collect();
        let excluded = self.excluded.iter();
        let excluded: Vec<_> = excluded.map(|(class, it)| (known(class), it)).collect();
        sha256(format!("{reachable:?} {excluded:?}").as_bytes())
    }

    /// Whether a node that the scheduler may choose has an extended resource.
    pub fn has_resource(&self, name: &str) -> bool {
        let mut nodes = self.reachable.iter().flat_map(|class| &class.nodes);
        nodes.any(|node| {
            node.resources
                .as_ref()
                .is_some_and(|it| it.contains_key(name))
        })
    }

    /// A label that all nodes of the classes on which the image runs have with other values than those of the rest.
    pub fn affinity(&self, reports: &[ClassReport]) -> Option<AffinityFacts> {
        if reports.iter().all(|it| it.verdict == Verdict::Pass) {
            return None;
        }
        let labels = |runs: bool| {
            let classes = self.reachable.iter().zip(reports);
            let classes = classes.filter(move |(_, it)| (it.verdict == Verdict::Pass) == runs);
            let nodes = classes.flat_map(|(class, _)| admitted(class, &self.placement));
            nodes.map(|node| node.labels.as_ref())
        };
        let rank = |key: &&String| {
            let place = PREFERRED.iter().position(|it| *it == key.as_str());
            place.unwrap_or(PREFERRED.len())
        };
        // No selector leaves out a node whose labels nobody knows.
        if labels(false).any(|it| it.is_none()) {
            return None;
        }
        // What all nodes have, the first one has.
        let first = labels(true).next()??;
        let mut keys: Vec<&String> = first.keys().filter(|it| *it != HOST_NAME).collect();
        keys.sort_by_key(rank);
        keys.into_iter().find_map(|key| {
            let good = labels(true).map(|it| it?.get(key));
            let good: BTreeSet<&String> = good.collect::<Option<_>>()?;
            let mut bad = labels(false).filter_map(|it| it?.get(key));
            let tells = !bad.any(|value| good.contains(value));
            tells.then(|| AffinityFacts {
                key: key.clone(),
                values: good.into_iter().cloned().collect(),
            })
        })
    }
}

/// Why no node of a class is admitted: the first reason that holds for all of them, or else the first one of the first.
fn refusal(class: &NodeClass, placement: &Placement) -> String {
    let texts = |node: &Node| -> Vec<String> {
        let refusals = placement.refusals(node).into_iter();
        refusals.map(|it| it.to_string()).collect()
    };
    let mut all = class.nodes.iter().map(texts);
    let first = all.next().unwrap_or_default();
    let others: Vec<_> = all.collect();
    let mut common = first.iter();
    let common = common.find(|reason| others.iter().all(|it| it.contains(reason)));
    common.or(first.first()).cloned().unwrap_or_default()
}

/// Whether a class has all features of one of these lists. A feature counts only if it is the name or the GPU of one of the classes.
fn has_features(class: &NodeClass, features: &[Vec<String>], classes: &[Arc<NodeClass>]) -> bool {
    let has = |class: &NodeClass, feature: &str| {
        let mut names = class.target.gpus.iter().chain([&class.target.name]);
        names.any(|it| it.eq_ignore_ascii_case(feature))
    };
    let is_known = |feature: &str| classes.iter().any(|it| has(it, feature));
    let has_all = |all: &Vec<String>| all.iter().all(|it| has(class, it) || !is_known(it));
    features.is_empty() || features.iter().any(has_all)
}

/// The nodes of a class that a Pod can land on.
fn admitted<'c>(class: &'c NodeClass, placement: &Placement) -> impl Iterator<Item = &'c Node> {
    let nodes = class.nodes.iter();
    nodes.filter(|it| placement.admits(it).is_ok())
}

/// Labels that people select nodes by, the best first.
const PREFERRED: [&str; 5] = [
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.family",
    "nvidia.com/cuda.driver-version.full",
    "cloud.google.com/gke-accelerator",
    "kubernetes.io/arch",
];
/// Every node has a different value.
const HOST_NAME: &str = "kubernetes.io/hostname";
