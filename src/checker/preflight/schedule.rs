//! Which classes of nodes the scheduler may choose for a container.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{ClassReport, Verdict};
use crate::targets::nodes::NodeClass;
use crate::workload::{AffinityFacts, Container};

/// The classes of a cluster, for one container.
#[derive(Debug, Default)]
pub(super) struct Schedule<'c> {
    /// Classes with a node that the scheduler may choose.
    pub reachable: Vec<&'c NodeClass>,
    /// The others, with what speaks against their first node.
    pub excluded: Vec<(&'c NodeClass, String)>,
}

impl<'c> Schedule<'c> {
    pub fn of(container: &Container, classes: &'c [NodeClass]) -> Self {
        let mut schedule = Schedule::default();
        for class in classes {
            let mut refused = Vec::new();
            let placement = &container.placement;
            let mut nodes = class.nodes.iter();
            let is_reachable = nodes.any(|node| match placement.admits(node) {
                Ok(()) => true,
                Err(reason) => {
                    refused.push(reason);
                    false
                }
            });
            let lacks_gpu = container.gpu.is_some() && !class.has_gpu;
            match (is_reachable, lacks_gpu) {
                (true, false) => schedule.reachable.push(class),
                (true, true) => schedule.excluded.push((class, "it has no GPU".to_owned())),
                (false, _) => {
                    let reason = refused.into_iter().next().unwrap_or_default();
                    schedule.excluded.push((class, reason));
                }
            }
        }
        schedule
    }

    /// A label that all nodes of the classes on which the image runs have with other values than those of the rest.
    pub fn affinity(&self, reports: &[ClassReport]) -> Option<AffinityFacts> {
        let labels = |runs: bool| {
            let classes = self.reachable.iter().zip(reports);
            let classes = classes.filter(move |(_, it)| (it.verdict == Verdict::Pass) == runs);
            classes.flat_map(|(class, _)| class.nodes.iter().map(|node| node.labels.as_ref()))
        };
        let values = |runs: bool, key: &str| -> (bool, BTreeSet<String>) {
            let all: Vec<Option<&String>> = labels(runs).map(|it| it?.get(key)).collect();
            let complete = !all.is_empty() && all.iter().all(Option::is_some);
            (complete, all.into_iter().flatten().cloned().collect())
        };
        let keys: BTreeSet<&String> = labels(true).flatten().flat_map(BTreeMap::keys).collect();
        let rank = |key: &&&String| {
            let place = PREFERRED.iter().position(|it| *it == key.as_str());
            place.unwrap_or(PREFERRED.len())
        };
        let mut keys: Vec<&&String> = keys.iter().filter(|it| **it != HOST_NAME).collect();
        keys.sort_by_key(rank);
        keys.into_iter().find_map(|key| {
            let ((complete, good), (_, bad)) = (values(true, key), values(false, key));
            let tells = complete && !good.is_empty() && good.is_disjoint(&bad);
            tells.then(|| AffinityFacts {
                key: (**key).clone(),
                values: good.into_iter().collect(),
            })
        })
    }
}

/// Labels that people select nodes by, the best first.
const PREFERRED: [&str; 5] = [
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.family",
    "nvidia.com/cuda.driver-version.full",
    "cloud.google.com/gke-accelerator",
    "kubernetes.io/arch",
];
/// Every node has a value of its own.
const HOST_NAME: &str = "kubernetes.io/hostname";
