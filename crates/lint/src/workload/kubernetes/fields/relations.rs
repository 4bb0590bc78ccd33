//! What fields of one type mean together: those that exclude each other, and those of which one is needed.
//!
//! Source: kubernetes/kubernetes, `pkg/apis/core/validation/validation.go` and `ValidateDeploymentStrategy` in `pkg/apis/apps/validation`.

use std::collections::BTreeSet;

use super::refusal::Refusal;
use crate::workload::text::is_final;
use imgcheck_base::document::Node;

/// What a probe does; its other fields say when.
const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];
/// The fields with the probes of a container.
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// What is refused of a map of this type, beside single values.
pub(super) fn refused<'n>(kind: &str, map: &'n Node) -> Vec<Refusal<'n>> {
    match kind {
        "Container" => container(map),
        "DeploymentStrategy" => strategy(map),
        "EnvVar" => variable(map),
        "EnvVarSource" => one_of(map, |_| true, "source"),
        "LabelSelectorRequirement" | "NodeSelectorRequirement" => requirement(map),
        "LifecycleHandler" => one_of(map, |_| true, "handler type"),
        "NodeSelector" => node_selector(map),
        "PodSpec" => pod(map),
        "Probe" => one_of(map, |it| HANDLERS.contains(&it), "handler type"),
        "RollingUpdateDeployment" => rolling_update(map),
        "SecurityContext" => security_context(map),
        "Toleration" => toleration(map),
        "Volume" => at_most_one(map, |it| it != "name", "volume type"),
        _ => Vec::new(),
    }
}

fn refusal<'n>(below: &str, node: &'n Node, says: &str) -> Refusal<'n> {
    (below.to_owned(), node, says.to_owned())
}

/// The final text of a field; `None` also if it is empty.
fn text<'n>(map: &'n Node, field: &str) -> Option<&'n str> {
    map.text_of(field)
        .filter(|it| !it.is_empty() && is_final(it))
}

/// A map in which exactly one of these fields has a value.
fn one_of<'n>(map: &'n Node, is_one: impl Fn(&str) -> bool, what: &str) -> Vec<Refusal<'n>> {
    let fields = map.entries().filter_map(|(key, _)| key.text());
    let given = fields.filter(|it| is_one(it) && map.get(it).is_some());
    match given.count() {
        0 => vec![refusal("", map, &format!("must specify a {what}"))],
        _ => at_most_one(map, is_one, what),
    }
}

/// A map in which no two of these fields have a value.
fn at_most_one<'n>(map: &'n Node, is_one: impl Fn(&str) -> bool, what: &str) -> Vec<Refusal<'n>> {
    let fields = map.entries().filter_map(|(key, _)| key.text());
    let mut given = fields.filter_map(|it| Some((it, map.get(it).filter(|_| is_one(it))?)));
    let two = given.next().zip(given.next());
    let found = two.map(|((one, _), (other, node))| {
        let says = format!("beside `{one}`: may not specify more than 1 {what}");
        refusal(&format!(".{other}"), node, &says)
    });
    found.into_iter().collect()
}

fn variable(map: &Node) -> Vec<Refusal<'_>> {
    let value = map.get("value");
    let has_value = value.is_some_and(|it| it.text().is_none_or(|it| !it.is_empty()));
    let source = map.get("valueFrom").filter(|_| has_value);
    let says = "may not be specified when `value` is not empty";
    let found = source.map(|it| refusal(".valueFrom", it, says));
    found.into_iter().collect()
}

fn security_context(map: &Node) -> Vec<Refusal<'_>> {
    let escalates = map.get("allowPrivilegeEscalation");
    let refused = escalates
        .filter(|it| it.text() == Some("false") && map.text_of("privileged") == Some("true"));
    let says = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
    let found = refused.map(|it| refusal(".allowPrivilegeEscalation", it, says));
    found.into_iter().collect()
}

fn toleration(map: &Node) -> Vec<Refusal<'_>> {
    let mut found = Vec::new();
    let is_exists = text(map, "operator") == Some("Exists");
    let value = map.get("value").filter(|_| is_exists);
    if let Some(value) = value.filter(|it| it.text().is_some_and(|it| !it.is_empty())) {
        let says = "value must be empty when `operator` is 'Exists'";
        found.push(refusal(".value", value, says));
    }
    let is_other = text(map, "effect").is_none_or(|it| it != "NoExecute");
    if let Some(seconds) = map.get("tolerationSeconds").filter(|_| is_other) {
        let says = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        found.push(refusal(".tolerationSeconds", seconds, says));
    }
    let has_key = text(map, "key").is_some() || map.text_of("key").is_some_and(|it| !is_final(it));
    let needs_key = !has_key && !matches!(map.text_of("operator"), Some("Exists"));
    if needs_key && map.text_of("operator").is_none_or(is_final) {
        let says = "operator must be Exists when `key` is empty";
        found.push(refusal(".operator", map, says));
    }
    found
}

/// A part of a selector: `In` needs values, `Exists` has none.
fn requirement(map: &Node) -> Vec<Refusal<'_>> {
    let count = map.items_of("values").count();
    let is_list = map.get("values").is_none_or(|it| it.text().is_none());
    let says = match text(map, "operator") {
        Some("In" | "NotIn") if count == 0 => {
            "must be specified when `operator` is 'In' or 'NotIn'"
        }
        Some("Exists" | "DoesNotExist") if count > 0 => {
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        }
        Some("Gt" | "Lt") if count != 1 => {
            "must be specified single value when `operator` is 'Lt' or 'Gt'"
        }
        _ => return Vec::new(),
    };
    match is_list {
        true => vec![refusal(".values", map.get("values").unwrap_or(map), says)],
        false => Vec::new(),
    }
}

fn node_selector(map: &Node) -> Vec<Refusal<'_>> {
    let terms = map.get("nodeSelectorTerms");
    let is_empty = |it: &&Node| it.text().is_none() && it.items().next().is_none();
    let says = "must have at least one node selector term";
    let found = terms
        .filter(is_empty)
        .map(|it| refusal(".nodeSelectorTerms", it, says));
    found.into_iter().collect()
}

fn strategy(map: &Node) -> Vec<Refusal<'_>> {
    let recreates = text(map, "type") == Some("Recreate");
    let rolling = map.get("rollingUpdate").filter(|_| recreates);
    let says = "may not be specified when strategy `type` is 'Recreate'";
    let found = rolling.map(|it| refusal(".rollingUpdate", it, says));
    found.into_iter().collect()
}

fn rolling_update(map: &Node) -> Vec<Refusal<'_>> {
    let is_zero = |field: &str| {
        map.text_of(field)
            .is_some_and(|it| ["0", "0%"].contains(&it))
    };
    let both = is_zero("maxSurge") && is_zero("maxUnavailable");
    let node = map.get("maxUnavailable").filter(|_| both);
    let says = "may not be 0 when `maxSurge` is 0";
    let found = node.map(|it| refusal(".maxUnavailable", it, says));
    found.into_iter().collect()
}

fn container(map: &Node) -> Vec<Refusal<'_>> {
    let mut found = Vec::new();
    for field in ["livenessProbe", "startupProbe"] {
        let probe = map.get(field).and_then(|it| it.get("successThreshold"));
        let is_wrong = |it: &&Node| {
            it.text()
                .is_some_and(|it| is_final(it) && !["0", "1"].contains(&it))
        };
        if let Some(node) = probe.filter(is_wrong) {
            found.push(refusal(
                &format!(".{field}.successThreshold"),
                node,
                "must be 1",
            ));
        }
    }
    found.extend(repeated(map, "ports", "name"));
    found.extend(repeated(map, "volumeMounts", "mountPath"));
    found
}

/// Items of a list whose text of a field another item has.
fn repeated<'n>(map: &'n Node, list: &str, field: &str) -> Vec<Refusal<'n>> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (at, item) in map.items_of(list).enumerate() {
        let (Some(node), Some(value)) = (item.get(field), text(item, field)) else {
            continue;
        };
        if !known.insert(value) {
            let below = format!(".{list}[{at}].{field}");
            found.push(refusal(
                &below,
                node,
                &format!("Duplicate value: \"{value}\""),
            ));
        }
    }
    found
}

fn pod(map: &Node) -> Vec<Refusal<'_>> {
    let mut found = Vec::new();
    for (at, container) in map.items_of("initContainers").enumerate() {
        // One that goes on beside the others may have probes.
        if container.get("restartPolicy").is_some() {
            continue;
        }
        for field in PROBES.iter().chain(&["lifecycle"]) {
            if let Some(node) = container.get(field) {
                let below = format!(".initContainers[{at}].{field}");
                let says = "may not be set for init containers without `restartPolicy: Always`";
                found.push(refusal(&below, node, says));
            }
        }
    }
    if map.text_of("hostNetwork") == Some("true") {
        for (at, container) in map.items_of("containers").enumerate() {
            for (index, port) in container.items_of("ports").enumerate() {
                let (own, host) = (text(port, "containerPort"), text(port, "hostPort"));
                let node = port
                    .get("hostPort")
                    .filter(|_| own.is_some() && own != host);
                if let Some(node) = node.filter(|_| host.is_some()) {
                    let below = format!(".containers[{at}].ports[{index}].hostPort");
                    let says = "must match `containerPort` when `hostNetwork` is true";
                    found.push(refusal(&below, node, says));
                }
            }
        }
    }
    found
}
