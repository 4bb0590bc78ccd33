//! Which classes of nodes the scheduler may choose for a container.

use std::collections::BTreeSet;

#[cfg(feature = "gate")]
use crate::digest::sha256;
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
            let mut refused = None;
            let placement = &container.placement;
            let mut nodes = class.nodes.iter();
            let is_reachable = nodes.any(|node| match placement.admits(node) {
                Ok(()) => true,
                Err(reason) => {
                    refused.get_or_insert(reason);
                    false
                }
            });
            let lacks_gpu = container.gpu.is_some() && !class.has_gpu;
            match (is_reachable, lacks_gpu) {
                (true, false) => schedule.reachable.push(class),
                (true, true) => schedule.excluded.push((class, "it has no GPU".to_owned())),
                (false, _) => {
                    let reason = refused.map(|it| it.to_string());
                    schedule.excluded.push((class, reason.unwrap_or_default()));
                }
            }
        }
        schedule
    }

    /// What of the cluster decides a judgement, as a digest. The labels of nodes are not in it: they decide which node affinity is
    /// suggested, and nothing else.
    #[cfg(feature = "gate")]
    pub fn digest(&self) -> String {
        let reachable = self.reachable.iter().map(|class| {
            let NodeClass {
                target,
                has_gpu,
                architecture,
                cdi,
                nodes: _,
            } = class;
            (target, has_gpu, architecture, cdi)
        });
        let reachable: Vec<_> = reachable.collect();
        let excluded = self.excluded.iter();
        let excluded =
            excluded.map(|(class, reason)| (&class.target, &class.architecture, class.cdi, reason));
        let excluded: Vec<_> = excluded.collect();
        sha256(format!("{reachable:?} {excluded:?}").as_bytes())
    }

    /// A label that all nodes of the classes on which the image runs have with other values than those of the rest.
    pub fn affinity(&self, reports: &[ClassReport]) -> Option<AffinityFacts> {
        if reports.iter().all(|it| it.verdict == Verdict::Pass) {
            return None;
        }
        let labels = |runs: bool| {
            let classes = self.reachable.iter().zip(reports);
            let classes = classes.filter(move |(_, it)| (it.verdict == Verdict::Pass) == runs);
            classes.flat_map(|(class, _)| class.nodes.iter().map(|node| node.labels.as_ref()))
        };
        let rank = |key: &&String| {
            let place = PREFERRED.iter().position(|it| *it == key.as_str());
            place.unwrap_or(PREFERRED.len())
        };
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
