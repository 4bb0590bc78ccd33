//! Writes small OCI layouts, sound ones and deliberately broken ones.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An uncompressed layer holding these files.
pub fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// One member of gzip.
pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// `sha256:…` of some bytes.
pub fn digest(data: &[u8]) -> String {
    let hexadecimal: String = Sha256::digest(data)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hexadecimal}")
}

/// Writes an OCI layout of one linux/amd64 image: each layer as its plain tar and as the blob that is stored.
pub fn write(directory: &Path, reference: &str, layers: &[(Vec<u8>, Vec<u8>)]) {
    let diff_ids: Vec<String> = layers.iter().map(|(plain, _)| digest(plain)).collect();
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": layers.iter().map(|_| json!({"created_by": "COPY"})).collect::<Vec<_>>(),
    });
    let config = store(
        directory,
        &serde_json::to_vec(&config).unwrap(),
        "config.v1+json",
    );
    let layers: Vec<Value> = layers
        .iter()
        .map(|(plain, stored)| {
            let kind = if plain == stored {
                "layer.v1.tar"
            } else {
                "layer.v1.tar+gzip"
            };
            store(directory, stored, kind)
        })
        .collect();
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
    let mut entry = store(
        directory,
        &serde_json::to_vec(&manifest).unwrap(),
        "manifest.v1+json",
    );
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": reference});
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    fs::write(
        directory.join("index.json"),
        serde_json::to_vec(&index).unwrap(),
    )
    .unwrap();
    fs::write(
        directory.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .unwrap();
}

/// The file of a blob.
pub fn blob(directory: &Path, data: &[u8]) -> std::path::PathBuf {
    directory.join("blobs").join(digest(data).replace(':', "/"))
}

fn store(directory: &Path, data: &[u8], kind: &str) -> Value {
    let path = blob(directory, data);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, data).unwrap();
    json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": digest(data), "size": data.len(),
    })
}
