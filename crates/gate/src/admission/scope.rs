//! What is not judged, whatever it contains.

use serde_json::Value;

use super::review::AdmissionRequest;

/// The annotation of static Pods, which the kubelet starts from its own files. Admission cannot stop them. On a Pod of anybody else it
/// proves nothing.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The only subresource that starts containers.
pub(super) const EPHEMERAL: &str = "ephemeralcontainers";

/// Why a request is not judged; `None` if its containers decide.
pub(super) fn pass(request: &AdmissionRequest) -> Option<&'static str> {
    if !["CREATE", "UPDATE"].contains(&request.operation.as_str()) {
        return Some("operation");
    }
    let subresource = request.sub_resource.as_str();
    let is_judged = subresource.is_empty() || request.is_pod() && subresource == EPHEMERAL;
    if !is_judged {
        return Some("subresource");
    }
    let is_mirror = request.is_pod() && annotation(&request.object, MIRROR).is_some();
    if is_mirror && request.user_info.is_node() {
        return Some("mirror-pod");
    }
    None
}

/// An annotation of an object.
pub(super) fn annotation<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(name)?
        .as_str()
}

/// All texts under a key, at any depth of an object.
pub(super) fn texts_of<'o>(object: &'o Value, key: &str, found: &mut Vec<&'o Value>) {
    match object {
        Value::Object(map) => {
            for (name, value) in map {
                if name == key {
                    found.push(value);
                }
                texts_of(value, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|it| texts_of(it, key, found)),
        _ => {}
    }
}
