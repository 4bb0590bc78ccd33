//! The shape of objects and of Pods.

use super::facts::Role;
use imgcheck_base::document::{Node, Value};

/// The lists of containers in the specification of a Pod.
pub(super) const LISTS: [(&str, Role); 4] = [
    ("initContainers", Role::Init),
    ("containers", Role::Main),
    ("sidecars", Role::Sidecar),
    ("ephemeralContainers", Role::Ephemeral),
];

/// An object: a map with `apiVersion` and `kind`.
pub(super) fn is_object(node: &Node) -> bool {
    node.text_of("apiVersion").is_some() && node.text_of("kind").is_some()
}

/// The objects of a document: those of a list one by one. A kind whose name ends with `List` and whose items are no objects is not a list.
pub(super) fn flatten<'d>(node: &'d Node, found: &mut Vec<&'d Node>) {
    let kind = node.text_of("kind").unwrap_or_default();
    let has_objects = || node.items_of("items").all(is_object);
    let is_list = kind == "List" || kind.ends_with("List") && has_objects();
    match (&node.value, is_list && node.get("items").is_some()) {
        (Value::List(items), _) => items.iter().for_each(|it| flatten(it, found)),
        (_, true) => node.items_of("items").for_each(|it| flatten(it, found)),
        _ => found.push(node),
    }
}

/// The API group and the kind of an object; `None` for anything else.
pub(super) fn kind_of(node: &Node) -> Option<(&str, &str)> {
    let (version, kind) = (node.text_of("apiVersion")?, node.text_of("kind")?);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Some((group, kind))
}

/// Whether a map is the specification of a Pod: its list `containers` has images.
pub(super) fn is_pod(node: &Node) -> bool {
    let has_image = |it: &Node| it.text_of("image").is_some();
    node.items_of("containers").any(has_image)
}

/// A volume of a Pod.
pub(super) fn volume<'p>(pod: &'p Node, name: &str) -> Option<&'p Node> {
    let mut volumes = pod.items_of("volumes");
    volumes.find(|it| it.text_of("name") == Some(name))
}

/// Whether an object claims a volume of this name for each of its Pods, as a StatefulSet does.
pub(super) fn has_claim(object: &Node, name: &str) -> bool {
    let spec = object.get("spec").into_iter();
    let mut claims = spec.flat_map(|it| it.items_of("volumeClaimTemplates"));
    claims.any(|it| it.at(["metadata", "name"]).and_then(Node::text) == Some(name))
}

/// The containers in the lists of a Pod's specification.
pub(super) fn containers_of(pod: &Node) -> impl Iterator<Item = &Node> {
    LISTS.iter().flat_map(|(list, _)| pod.items_of(list))
}
