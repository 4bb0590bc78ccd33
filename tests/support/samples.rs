//! The sample images in a registry.

use std::io::Read;

use serde_json::{Value, json};
use testkit::registry::Content;
use testkit::sha256;

use crate::program::repository;

/// Healthy; its process loads CUDA 12.8.
const HEALTHY: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// The name of the image in the registry.
pub const TAG: &str = "2.8.0-cuda12.8-cudnn9-runtime";

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
