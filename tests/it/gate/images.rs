//! Registries with the sample images, and objects that use them.

use std::io::Read;

use serde_json::{Value, json};
use testkit::registry::{Content, Server};
use testkit::sha256;

use crate::program::repository;

/// Healthy; its process loads CUDA 12.8.
const HEALTHY: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// The name of the image in the registry.
pub const TAG: &str = "2.8.0-cuda12.8-cudnn9-runtime";

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

/// What a registry holds that has the healthy image.
pub fn content() -> Content {
    let mut archive = tar::Archive::new(std::fs::File::open(repository(HEALTHY)).unwrap());
    let mut files = std::collections::BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(path, bytes);
    }
    let listed: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let bytes = |name: &Value| files[name.as_str().unwrap()].clone();
    let config = bytes(&listed[0]["Config"]);
    let layers: Vec<Vec<u8>> = listed[0]["Layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(bytes)
        .collect();
    let descriptor = |kind: &str, bytes: &[u8]| json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": sha256(bytes), "size": bytes.len()});
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", &config),
        "layers": layers.iter().map(|it| descriptor("layer.v1.tar", it)).collect::<Vec<_>>(),
    });
    let mut content = Content::default();
    for blob in layers.into_iter().chain([config]) {
        content.blobs.insert(sha256(&blob), blob);
    }
    content.tag(TAG, manifest.to_string());
    content
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
