//! OCI layouts in a directory, whose layers may differ from their digests.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{file, sha256, tar};

/// An uncompressed layer of these files.
#[must_use]
pub fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
    let items: Vec<_> = files
        .iter()
        .map(|(path, content)| file(path, content))
        .collect();
    tar(&items)
}

/// Writes an OCI layout of one linux/amd64 image: each layer as its plain tar and as the blob that is stored.
pub fn write(directory: &Path, reference: &str, layers: &[(Vec<u8>, Vec<u8>)]) {
    let mut entry = image(directory, "amd64", layers);
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": reference});
    write_index(directory, &[entry]);
}

/// Stores an image for linux and this architecture; returns its entry for the index.
pub fn image(directory: &Path, architecture: &str, layers: &[(Vec<u8>, Vec<u8>)]) -> Value {
    let diff_ids: Vec<String> = layers.iter().map(|(plain, _)| sha256(plain)).collect();
    let history: Vec<Value> = layers
        .iter()
        .map(|_| json!({"created_by": "COPY"}))
        .collect();
    let config = json!({
        "architecture": architecture, "os": "linux", "config": {}, "history": history,
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = store(directory, &bytes(&config), "config.v1+json");
    let layers: Vec<Value> = layers
        .iter()
        .map(|(plain, stored)| {
            let packed = if plain == stored { "" } else { "+gzip" };
            store(directory, stored, &format!("layer.v1.tar{packed}"))
        })
        .collect();
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
    let mut entry = store(directory, &bytes(&manifest), "manifest.v1+json");
    entry["platform"] = json!({"architecture": architecture, "os": "linux"});
    entry
}

/// Writes the index that makes the directory an OCI layout.
pub fn write_index(directory: &Path, entries: &[Value]) {
    let index = json!({"schemaVersion": 2, "manifests": entries});
    fs::write(directory.join("index.json"), bytes(&index)).unwrap();
    fs::write(
        directory.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .unwrap();
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

/// The file of a blob.
pub fn blob(directory: &Path, data: &[u8]) -> std::path::PathBuf {
    directory.join("blobs").join(sha256(data).replace(':', "/"))
}

fn store(directory: &Path, data: &[u8], kind: &str) -> Value {
    let path = blob(directory, data);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, data).unwrap();
    json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": sha256(data), "size": data.len(),
    })
}
