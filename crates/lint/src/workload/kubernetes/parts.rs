//! The Pods of objects that describe them with fields of their own, put together from the paths of the table.

use super::patch;
use super::path;
use crate::workload::kinds::{Kinds, Part};
use imgcheck_base::document::{self, Node, Value};

/// Lists of which all elements count: the own ones, and those that are elsewhere.
const JOINED: [&str; 2] = ["env", "volumes"];
const GPU: &str = "nvidia.com/gpu";

/// The specification of the Pod of a part, whose fields are at `at` in `object`.
pub(super) fn pod(part: &Part, at: &Node, object: &Node, kinds: &Kinds) -> Node {
    let place = Place { at, object };
    let defaults = part.defaults.as_ref().and_then(|path| place.get(path));
    let with_defaults = defaults.map(|it| beneath(it, at));
    let place = Place {
        at: with_defaults.as_ref().unwrap_or(at),
        object,
    };
    let empty = || map(place.at, Vec::new());
    let mut pod = place.get(&part.pod).cloned().unwrap_or_else(empty);
    let mut containers: Vec<Node> = pod.items_of("containers").cloned().collect();
    for path in &part.containers {
        let found = path::resolve(place.at, path).into_iter();
        let found = found.filter(|it| it.node.entries().next().is_some());
        containers.extend(found.map(|it| container(part, it.node, place, kinds)));
    }
    if let Some(path) = &part.container {
        let found = place.get(path).cloned().unwrap_or_else(empty);
        containers.push(container(part, &found, place, kinds));
    }
    add_fields(part, place, &mut pod);
    let claims = part.claims.as_ref().and_then(|path| place.get(path));
    if let Some(claims) = claims {
        let named = claims.items().zip(0..).map(|(claim, at)| named(claim, at));
        let named = list(claims, named.collect());
        for container in &mut containers {
            let mut resources = container.get("resources").cloned().unwrap_or_else(empty);
            resources.set("claims", named.clone());
            container.set("resources", resources);
        }
        pod.set("resourceClaims", named);
    }
    let has_containers = !containers.is_empty();
    pod.set("containers", list(place.at, containers));
    let patches = part.patches.iter().filter_map(|path| place.get(path));
    for patch in patches.filter(|_| has_containers) {
        let text = patch.text().unwrap_or_default();
        for mut change in document::read_embedded(text).unwrap_or_default() {
            change.place_at(&patch.span);
            if matches!(change.value, Value::Map(_)) {
                patch::apply(&mut pod, &change);
            }
        }
    }
    pod
}

/// Where paths begin.
#[derive(Clone, Copy)]
struct Place<'p> {
    at: &'p Node,
    object: &'p Node,
}

impl<'p> Place<'p> {
    fn get(self, path: &str) -> Option<&'p Node> {
        let (start, path) = match path.strip_prefix('/') {
            Some(path) => (self.object, path),
            None => (self.at, path),
        };
        start.at(path.split('.').filter(|it| !it.is_empty()))
    }
}

fn container(part: &Part, container: &Node, place: Place, kinds: &Kinds) -> Node {
    let defaults = part.container_defaults.as_ref();
    let defaults = defaults.and_then(|path| place.get(path));
    let mut container = match defaults {
        Some(defaults) => beneath(defaults, container),
        None => container.clone(),
    };
    for (name, own) in &part.renamed {
        if let Some(value) = container.get(own).cloned() {
            container.set(name, value);
        }
    }
    add_fields(part, place, &mut container);
    let image = container.get("image").filter(|it| it.text().is_none());
    if let Some(image) = image {
        let text = kinds.hints.image_of("image", image).unwrap_or_default();
        let value = Value::Text(text);
        let span = image.span.clone();
        container.set("image", Node { span, value });
    }
    if !part.args.is_empty() {
        let word = |it: &String| Node {
            span: container.span.clone(),
            value: Value::Text(it.clone()),
        };
        let words = part.args.iter().map(word).collect();
        let args = list(&container, words);
        container.set("args", args);
    }
    add_gpus(part, place, &mut container);
    if container.get("name").is_none() {
        let of_object = || place.object.at(["metadata", "name"])?.text();
        let name = part.name.as_deref().or_else(of_object);
        let value = Value::Text(name.unwrap_or_default().to_owned());
        let span = container.span.clone();
        container.set("name", Node { span, value });
    }
    container
}

/// Adds what is elsewhere to a container or a Pod.
fn add_fields(part: &Part, place: Place, target: &mut Node) {
    for (name, path) in &part.fields {
        let Some(value) = place.get(path) else {
            continue;
        };
        match target.get(name) {
            Some(own) if JOINED.contains(&name.as_str()) && !path.is_empty() => {
                let items = own.items().chain(value.items()).cloned();
                let joined = list(own, items.collect());
                target.set(name, joined);
            }
            Some(_) => {}
            None => target.set(name, value.clone()),
        }
    }
}

/// Writes a number of GPUs as a limit.
fn add_gpus(part: &Part, place: Place, container: &mut Node) {
    let mut counts = part.gpus.iter().filter_map(|path| place.get(path));
    let Some(count) = counts.next() else { return };
    let resource = part.gpu_resource.as_ref();
    let resource = resource.and_then(|path| place.get(path)?.text());
    let empty = || map(count, Vec::new());
    let own = |keys: &[&str]| container.at(keys.iter().copied()).cloned();
    let mut resources = own(&["resources"]).unwrap_or_else(empty);
    let mut limits = own(&["resources", "limits"]).unwrap_or_else(empty);
    limits.set(resource.unwrap_or(GPU), count.clone());
    resources.set("limits", limits);
    container.set("resources", resources);
}

/// A claim with a name; its place in the list is one.
fn named(claim: &Node, at: usize) -> Node {
    let mut claim = claim.clone();
    let name = Node {
        span: claim.span.clone(),
        value: Value::Text(at.to_string()),
    };
    claim.set("name", name);
    claim
}

/// A value with what it does not set from its defaults.
fn beneath(defaults: &Node, own: &Node) -> Node {
    let mut merged = defaults.clone();
    patch::apply(&mut merged, own);
    merged.span = own.span.clone();
    merged
}

fn map(place: &Node, entries: Vec<(Node, Node)>) -> Node {
    Node {
        span: place.span.clone(),
        value: Value::Map(entries),
    }
}

fn list(place: &Node, items: Vec<Node>) -> Node {
    Node {
        span: place.span.clone(),
        value: Value::List(items),
    }
}
