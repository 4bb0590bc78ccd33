//! Registries with the sample images, and objects that use them.

use serde_json::{Value, json};
use testkit::registry::Server;

pub use crate::samples::{TAG, content};

/// The configuration of most tests: one class of nodes, a registry on loopback.
pub const ENFORCE: &str = "
clusters:
  prod: {nodes: [{name: h100, gpu: h100, driver: '570.86.10'}]}
gate: {mode: enforce, internal-hosts: [127.0.0.1]}
";

/// A configuration that replaces texts of [`ENFORCE`].
pub fn enforce_with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(ENFORCE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from));
        text.replace(from, to)
    })
}

/// A registry on loopback that has the healthy image.
pub fn registry() -> Server {
    content().serve()
}

/// The healthy image.
pub fn image(registry: &Server) -> String {
    format!("{}/team/image:{TAG}", registry.address)
}

/// A Pod with one container that uses a GPU.
pub fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"containers": [{
            "name": "trainer", "image": image, "command": ["python", "-c", "import torch"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }]},
    })
}

/// A Deployment of such Pods.
pub fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"replicas": 2, "template": {"spec": pod(image)["spec"]}},
    })
}

/// The request to create an object.
pub fn create(object: &Value) -> Value {
    let (group, resource) = match object["kind"].as_str().unwrap() {
        "Pod" => ("", "pods".to_owned()),
        kind => ("apps", format!("{}s", kind.to_lowercase())),
    };
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": "v1", "kind": object["kind"]},
            "resource": {"group": group, "version": "v1", "resource": resource},
            "name": object["metadata"]["name"].as_str().unwrap_or_default(), "namespace": "ml", "operation": "CREATE",
            "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
            "object": object, "oldObject": null, "dryRun": false, "options": null,
        },
    })
}

/// The request to replace an object.
pub fn update(before: &Value, after: &Value) -> Value {
    let mut review = create(after);
    review["request"]["operation"] = json!("UPDATE");
    review["request"]["oldObject"] = before.clone();
    review
}
