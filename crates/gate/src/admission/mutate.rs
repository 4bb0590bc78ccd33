//! Pins the images of Pods by digest, so that what was judged is what the node pulls. Only Pods: objects that create Pods belong to
//! somebody who compares them with what he has written.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::deployed::puller;
use super::review::{AdmissionRequest, AdmissionResponse};
use super::scope;
use crate::state::Gate;
use imgcheck_base::excerpt::shortened;

/// The lists of containers that a new Pod can have.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// A patch that adds digests; it never denies. References with a digest stay unchanged, so a second call changes nothing.
pub(super) async fn pin(
    gate: &Gate,
    request: &AdmissionRequest,
    deadline: Instant,
) -> AdmissionResponse {
    let allowed = AdmissionResponse {
        allowed: true,
        ..AdmissionResponse::default()
    };
    let is_new_pod =
        request.is_pod() && request.operation == "CREATE" && request.sub_resource.is_empty();
    if !is_new_pod || scope::pass(request).is_some() {
        return allowed;
    }
    let images = images(&request.object);
    let puller = puller(request);
    let references = images.iter().map(|(_, image)| *image).collect();
    let found = gate
        .images(references, &puller, &gate.view(), deadline)
        .await;
    let mut unpinned = Vec::new();
    let mut patch = Vec::new();
    for (path, image) in images {
        match found.get(image) {
            Some(Ok(found)) => {
                let value = format!("{image}@{}", found.digest);
                patch.push(json!({"op": "replace", "path": path, "value": value}));
            }
            Some(Err(it)) => unpinned.push(format!("{image}: {}", it.problem)),
            None => {}
        }
    }
    let mut audit = BTreeMap::new();
    if !unpinned.is_empty() {
        gate.metrics().unjudged("not-pinned");
        audit.insert("not-pinned", shortened(&unpinned.join("; "), 1000));
    }
    let patch = (!patch.is_empty()).then(|| STANDARD.encode(Value::from(patch).to_string()));
    AdmissionResponse {
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        audit_annotations: audit,
        ..allowed
    }
}

/// The images without a digest, each with its JSON Pointer.
fn images(pod: &Value) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for list in LISTS {
        let containers = pod.get("spec").and_then(|spec| spec.get(list));
        let containers = containers.and_then(Value::as_array).into_iter().flatten();
        for (index, container) in containers.enumerate() {
            let image = container.get("image").and_then(Value::as_str);
            if let Some(image) = image.filter(|it| !it.is_empty() && !it.contains('@')) {
                found.push((format!("/spec/{list}/{index}/image"), image));
            }
        }
    }
    found
}
