//! Where a Pod may run: node selector, required node affinity, tolerations and extended resources, as the scheduler compares them
//! with a node (Kubernetes, "Assigning Pods to Nodes", "Taints and Tolerations").

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use imgcheck_model::targets::nodes::{Node, Taint};

/// What a Pod demands of its node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Labels that the node must have.
    pub selector: BTreeMap<String, String>,
    /// The node must meet one of these lists of requirements; empty if any node will do.
    pub affinity: Vec<Vec<Requirement>>,
    /// Taints that the Pod tolerates.
    pub tolerations: Vec<Toleration>,
    /// The only node that it may run on.
    pub node_name: Option<String>,
    /// Extended resources, such as `nvidia.com/gpu`, with their numbers.
    pub resources: BTreeMap<String, u64>,
    /// Whether a container of the Pod requests a GPU.
    pub has_gpu: bool,
    /// Misspelled names of resources: only a node that lists one has it.
    pub misspelled: BTreeSet<String>,
    /// What its queue adds: one of these, and nothing if the list is empty, because then it never starts. `None` without a queue.
    pub flavors: Option<Vec<Flavor>>,
    /// Of these lists of features, the nodes of a Slurm job have all of one: `--constraint=h100|a100`, `--gres=gpu:h100:8`. Empty if it
    /// demands none. What a feature means is up to the cluster.
    pub features: Vec<Vec<String>>,
}

/// What a flavor of Kueue adds to a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Flavor {
    /// Labels that the node must have.
    pub selector: BTreeMap<String, String>,
    /// Taints that the Pod tolerates as well.
    pub tolerations: Vec<Toleration>,
}

/// A requirement on one label of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label; `metadata.name` is the name of the node.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    pub operator: String,
    /// The values.
    pub values: Vec<String>,
}

/// A taint that a Pod tolerates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// The key; `None` for all.
    pub key: Option<String>,
    /// The value; `None` for any.
    pub value: Option<String>,
    /// The effect; `None` for all.
    pub effect: Option<String>,
}

/// The label of the architecture.
const ARCHITECTURE: &str = "kubernetes.io/arch";

/// Why a Pod may not run on a node. It is worded only for the nodes that a report names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<'r> {
    /// The Pod names another node.
    NodeName(&'r str),
    /// The node does not have a label of the selector: its key, the value, and the value that the node has.
    Label(&'r str, &'r str, Option<&'r str>),
    /// It does not meet the required node affinity.
    Affinity,
    /// No flavor of the queue leads to it.
    Flavor,
    /// The Pod does not tolerate a taint.
    Taint(&'r Taint),
    /// The node has less of an extended resource.
    Resource(&'r str, u64),
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NodeName(name) => write!(formatter, "nodeName is {name}"),
            Refusal::Label(key, value, None) => write!(formatter, "it has no label {key}={value}"),
            Refusal::Label(key, value, Some(own)) => {
                write!(formatter, "its label {key} is {own}, not {value}")
            }
            Refusal::Affinity => formatter.write_str("it does not meet the required nodeAffinity"),
            Refusal::Flavor => formatter.write_str("no flavor of its queue leads to it"),
            Refusal::Taint(taint) => write!(formatter, "its taint {taint} is not tolerated"),
            Refusal::Resource(name, count) => write!(formatter, "it does not have {count} {name}"),
        }
    }
}

impl Placement {
    /// Whether the scheduler may place the Pod on a node; else why not.
    pub fn admits<'r>(&'r self, node: &'r Node) -> Result<(), Refusal<'r>> {
        match self.refusals(node).into_iter().next() {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Why the scheduler does not place the Pod on a node, each reason by itself; empty if it may.
    pub fn refusals<'r>(&'r self, node: &'r Node) -> Vec<Refusal<'r>> {
        let other_node = self.node_name.as_ref().filter(|name| **name != node.name);
        let met = |term: &Vec<Requirement>| !term.is_empty() && term.iter().all(|it| it.met(node));
        let has_affinity = self.affinity.is_empty() || self.affinity.iter().any(met);
        let held = |name: &str| node.resources.as_ref().map(|it| it.get(name).copied());
        let mut misspelled = self.misspelled.iter();
        let misspelled = misspelled.find(|name| held(name).flatten().is_none());
        let lacks = |name: &str, count: u64| {
            held(name).is_some_and(|held| held.unwrap_or_default() < count)
        };
        let mut resources = self.resources.iter();
        let lacking = resources.find(|(name, count)| lacks(name, **count));
        let reasons = [
            other_node.map(|name| Refusal::NodeName(name)),
            unmet(&self.selector, node).map(|(key, value)| {
                let own = node.labels.as_ref().and_then(|it| it.get(key));
                Refusal::Label(key, value, own.map(String::as_str))
            }),
            (!has_affinity).then_some(Refusal::Affinity),
            self.refusing_flavor(node),
            misspelled.map(|name| Refusal::Resource(name, 1)),
            lacking.map(|(name, count)| Refusal::Resource(name, *count)),
        ];
        reasons.into_iter().flatten().collect()
    }

    /// Whether no flavor of the queue leads to a node, or none whose Pods tolerate its taints.
    fn refusing_flavor<'r>(&self, node: &'r Node) -> Option<Refusal<'r>> {
        let none = [Flavor::default()];
        let flavors = self.flavors.as_deref().unwrap_or(&none);
        let mut leading = flavors
            .iter()
            .filter(|it| unmet(&it.selector, node).is_none());
        let repelling = |flavor| {
            let mut taints = node.taints.iter();
            taints.find(|taint| taint.repels() && !self.tolerates(taint, flavor))
        };
        let Some(first) = leading.next() else {
            return Some(Refusal::Flavor);
        };
        let taint = repelling(first)?;
        (!leading.any(|it| repelling(it).is_none())).then_some(Refusal::Taint(taint))
    }

    /// A resource's own taint is tolerated by the admission plugin ExtendedResourceToleration.
    pub(super) fn tolerates(&self, taint: &Taint, flavor: &Flavor) -> bool {
        let mut all = self.tolerations.iter().chain(&flavor.tolerations);
        all.any(|it| it.matches(taint)) || self.resources.contains_key(&taint.key)
    }

    /// The architectures that it names; empty for any.
    pub fn architectures(&self) -> Vec<&str> {
        if let Some(one) = self.selector.get(ARCHITECTURE) {
            return vec![one];
        }
        let named = self.affinity.iter().flatten();
        let named = named.filter(|it| it.key == ARCHITECTURE && it.operator == "In");
        named
            .flat_map(|it| it.values.iter().map(String::as_str))
            .collect()
    }
}

/// The first label that a node is known not to have.
fn unmet<'s>(
    selector: &'s BTreeMap<String, String>,
    node: &Node,
) -> Option<(&'s String, &'s String)> {
    selector.iter().find(|(key, value)| {
        let label = node.label(key);
        label.is_known() && label.value() != Some(value.as_str())
    })
}

impl Flavor {
    /// Two flavors at once, for different resources.
    pub(super) fn and(&self, other: &Flavor) -> Flavor {
        let mut both = self.clone();
        both.selector.extend(other.selector.clone());
        both.tolerations.extend(other.tolerations.clone());
        both
    }
}

impl Requirement {
    fn met(&self, node: &Node) -> bool {
        let label = match self.key.as_str() {
            "metadata.name" => return self.holds(Some(&node.name)),
            key => node.label(key),
        };
        !label.is_known() || self.holds(label.value())
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|it| it == value));
        let compared = |is_met: fn(&i64, &i64) -> bool| {
            let wanted = self.values.first().and_then(|it| it.parse().ok());
            let found = value.and_then(|it| it.parse().ok());
            found
                .zip(wanted)
                .is_some_and(|(found, wanted): (i64, i64)| is_met(&found, &wanted))
        };
        match self.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => compared(i64::gt),
            "Lt" => compared(i64::lt),
            _ => false,
        }
    }
}

impl Toleration {
    fn matches(&self, taint: &Taint) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        is(&self.key, &taint.key)
            && is(&self.value, &taint.value)
            && is(&self.effect, &taint.effect)
    }
}
