//! Queues of Kueue: which nodes the flavors of a queue lead to (Kueue, "Resource Flavor", "Cluster Queue").

use std::collections::HashMap;

use super::scheduling::{taint, toleration};
use crate::workload::placement::{Flavor, Placement};
use imgcheck_base::document::Node;
use imgcheck_model::targets::nodes::Taint;

/// The label, or in old versions the annotation, that puts an object into a queue of its namespace.
pub const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Combinations of flavors that are compared with nodes.
const MAX_COMBINATIONS: usize = 1_000;

/// The queues and flavors of the input.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// The cluster queue of each local queue, by namespace and name.
    local: HashMap<(String, String), String>,
    /// The resource groups of each cluster queue.
    cluster: HashMap<String, Vec<Group>>,
    flavors: HashMap<String, KnownFlavor>,
}

/// Resources, and the flavors of which a Pod that requests them gets one.
#[derive(Debug)]
struct Group {
    resources: Vec<String>,
    flavors: Vec<String>,
}

#[derive(Debug, Default, Clone)]
struct KnownFlavor {
    flavor: Flavor,
    /// Taints that a Pod must tolerate to get the flavor.
    taints: Vec<Taint>,
}

impl Queues {
    /// Adds an object if it is one of Kueue's; `namespace` and `name` are its own.
    pub fn add(&mut self, object: &Node, (namespace, name): (&str, &str)) {
        // A flavor without a specification is that of all nodes.
        let spec = object.get("spec").unwrap_or(object);
        match object.text_of("kind") {
            Some("LocalQueue") => {
                let queue = spec.text_of("clusterQueue").unwrap_or_default();
                let key = (namespace.to_owned(), name.to_owned());
                self.local.insert(key, queue.to_owned());
            }
            Some("ClusterQueue") => {
                let groups = spec.items_of("resourceGroups").map(Group::read);
                self.cluster.insert(name.to_owned(), groups.collect());
            }
            Some("ResourceFlavor") => {
                let known = KnownFlavor {
                    flavor: Flavor {
                        selector: spec
                            .get("nodeLabels")
                            .map(Node::text_map)
                            .unwrap_or_default(),
                        tolerations: spec.items_of("tolerations").map(toleration).collect(),
                    },
                    taints: spec.items_of("nodeTaints").map(taint).collect(),
                };
                self.flavors.insert(name.to_owned(), known);
            }
            _ => {}
        }
    }

    /// The flavors of which a Pod of an object gets one. `None` if the object is in no queue, or the queue or a flavor of it is not in
    /// the input: then any node counts.
    pub fn flavors(&self, object: &Node, namespace: &str, pod: &Placement) -> Option<Vec<Flavor>> {
        let named = |kind: &str| object.at(["metadata", kind, QUEUE]).and_then(Node::text);
        let queue = named("labels").or(named("annotations"))?;
        let queue = self.local.get(&(namespace.to_owned(), queue.to_owned()))?;
        let mut all = vec![Flavor::default()];
        for group in self.cluster.get(queue)? {
            // Every container counts as one that requests a processor and memory.
            let is_requested = |it: &String| !it.contains('/') || pod.resources.contains_key(it);
            if !group.resources.iter().any(is_requested) {
                continue;
            }
            let flavors = group.flavors.iter().map(|it| self.flavors.get(it));
            let flavors: Vec<&KnownFlavor> = flavors.collect::<Option<_>>()?;
            let usable = flavors.into_iter().filter(|it| it.admits(pod));
            let usable: Vec<&Flavor> = usable.map(|it| &it.flavor).collect();
            if all.len() * usable.len() > MAX_COMBINATIONS {
                return None;
            }
            let with =
                |one: &Flavor| -> Vec<Flavor> { usable.iter().map(|it| one.and(it)).collect() };
            all = all.iter().flat_map(with).collect();
        }
        Some(all)
    }
}

impl Group {
    fn read(group: &Node) -> Self {
        let texts = |key: &str| group.get(key).map(Node::texts).unwrap_or_default();
        let flavors = group.items_of("flavors");
        let flavors = flavors.filter_map(|it| it.text_of("name").map(str::to_owned));
        Group {
            resources: texts("coveredResources"),
            flavors: flavors.collect(),
        }
    }
}

impl KnownFlavor {
    fn admits(&self, pod: &Placement) -> bool {
        let mut taints = self.taints.iter().filter(|it| it.repels());
        taints.all(|taint| pod.tolerates(taint, &self.flavor))
    }
}
