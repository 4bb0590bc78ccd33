//! The part of a Pod that the scheduler reads.

use std::collections::BTreeMap;

use crate::workload::placement::{Placement, Requirement, Toleration};
use imgcheck_base::document::Node;
use imgcheck_model::targets::nodes::Taint;

/// What a Pod demands of its node; `runtime_selector` is that of its runtime class.
pub(super) fn placement(
    pod: &Node,
    runtime_selector: Option<&BTreeMap<String, String>>,
) -> Placement {
    let mut selector = pod
        .get("nodeSelector")
        .map(Node::text_map)
        .unwrap_or_default();
    selector.extend(runtime_selector.cloned().unwrap_or_default());
    let required = pod.at([
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
    ]);
    let terms = required
        .into_iter()
        .flat_map(|it| it.items_of("nodeSelectorTerms"));
    Placement {
        selector,
        affinity: terms.map(requirements).collect(),
        tolerations: pod.items_of("tolerations").map(toleration).collect(),
        node_name: pod.text_of("nodeName").map(str::to_owned),
        resources: resources(pod),
        ..Placement::default()
    }
}

fn requirements(term: &Node) -> Vec<Requirement> {
    let lists = ["matchExpressions", "matchFields"];
    let all = lists.into_iter().flat_map(|list| term.items_of(list));
    all.map(|it| Requirement {
        key: it.text_of("key").unwrap_or_default().to_owned(),
        operator: it.text_of("operator").unwrap_or_default().to_owned(),
        values: it.get("values").map(Node::texts).unwrap_or_default(),
    })
    .collect()
}

pub(super) fn toleration(it: &Node) -> Toleration {
    let text = |key: &str| it.text_of(key).filter(|text| !text.is_empty());
    let exists = text("operator") == Some("Exists");
    Toleration {
        key: text("key").map(str::to_owned),
        value: (!exists).then(|| it.text_of("value").unwrap_or_default().to_owned()),
        effect: text("effect").map(str::to_owned),
    }
}

pub(super) fn taint(it: &Node) -> Taint {
    let text = |key: &str| it.text_of(key).unwrap_or_default().to_owned();
    Taint {
        key: text("key"),
        value: text("value"),
        effect: text("effect"),
    }
}

/// The extended resources of all containers; init containers run one after the other.
fn resources(pod: &Node) -> BTreeMap<String, u64> {
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for container in pod.items_of("containers") {
        for (name, count) in extended(container) {
            let total = sum.entry(name.to_owned()).or_default();
            *total = total.saturating_add(count);
        }
    }
    for container in pod.items_of("initContainers") {
        for (name, count) in extended(container) {
            let total = sum.entry(name.to_owned()).or_default();
            *total = count.max(*total);
        }
    }
    sum.retain(|_, count| *count > 0);
    sum
}

fn extended(container: &Node) -> impl Iterator<Item = (&str, u64)> {
    let limits = container.at(["resources", "limits"]);
    let limits = limits.or_else(|| container.at(["resources", "requests"]));
    let pairs = limits.into_iter().flat_map(Node::pairs);
    pairs.filter_map(|(name, count)| {
        name.contains('/')
            .then(|| Some((name, count.parse().ok()?)))?
    })
}
