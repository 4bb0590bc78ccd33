//! Images as a docker archive and as an OCI layout.

use serde_json::{Value, json};

use crate::{Compression, Item, compress, file, hex, sha256, tar};

/// An image to be written.
#[derive(Debug, Clone)]
pub struct Image {
    pub reference: Option<String>,
    pub architecture: String,
    /// Uncompressed tars, lowest first.
    pub layers: Vec<Vec<u8>>,
    pub labels: Value,
    pub env: Vec<String>,
    /// CMD.
    pub command: Vec<String>,
}

impl Image {
    /// An image for linux/amd64.
    pub fn new(reference: &str, layers: &[&[Item]]) -> Self {
        Image {
            reference: Some(reference.to_owned()),
            architecture: "amd64".to_owned(),
            layers: layers.iter().map(|items| tar(items)).collect(),
            labels: json!({}),
            env: Vec::new(),
            command: Vec::new(),
        }
    }

    /// The image configuration.
    pub fn config(&self) -> Vec<u8> {
        let diff_ids: Vec<String> = self.layers.iter().map(|layer| sha256(layer)).collect();
        let history: Vec<Value> = (0..diff_ids.len())
            .map(|at| json!({"created_by": format!("step {at}")}))
            .collect();
        let mut config = json!({"Labels": self.labels, "Env": self.env});
        if !self.command.is_empty() {
            config["Cmd"] = json!(self.command);
        }
        json!({
            "architecture": self.architecture, "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": history,
        })
        .to_string()
        .into_bytes()
    }
}

/// The files of a docker archive in the layout before Docker 25: `manifest.json`, `HEX.json`, `HEX/layer.tar`.
pub fn docker_archive(images: &[Image]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut entries = Vec::new();
    for image in images {
        let config = image.config();
        let config_name = format!("{}.json", hex(&config));
        let names: Vec<String> = image
            .layers
            .iter()
            .map(|layer| format!("{}/layer.tar", hex(layer)))
            .collect();
        items.extend(
            names
                .iter()
                .zip(&image.layers)
                .map(|(name, layer)| file(name, layer)),
        );
        entries.push(
            json!({"Config": config_name, "RepoTags": image.reference.as_slice(), "Layers": names}),
        );
        items.push(file(&config_name, config));
    }
    items.push(file("manifest.json", Value::Array(entries).to_string()));
    items
}

/// The files of a docker archive since Docker 25: an OCI layout with a `manifest.json` that names its blobs.
pub fn docker_archive_with_layout(images: &[Image]) -> Vec<Item> {
    let mut items = oci_layout(images, Compression::Plain, false);
    let entries = images.iter().map(manifest_entry).collect();
    items.push(file("manifest.json", Value::Array(entries).to_string()));
    items
}

/// The entry of `manifest.json` for an image in an OCI layout.
pub fn manifest_entry(image: &Image) -> Value {
    let name = |bytes: &[u8]| format!("blobs/sha256/{}", hex(bytes));
    let layers: Vec<String> = image.layers.iter().map(|layer| name(layer)).collect();
    let short = |name: &String| name.trim_start_matches("docker.io/library/").to_owned();
    let tags: Vec<String> = image.reference.iter().map(short).collect();
    json!({"Config": name(&image.config()), "RepoTags": tags, "Layers": layers})
}

fn media_type(compression: Compression) -> &'static str {
    match compression {
        Compression::Plain => "application/vnd.oci.image.layer.v1.tar",
        Compression::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        Compression::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
    }
}

/// The files of an OCI layout. The images become one index of their platforms if `index` is set.
pub fn oci_layout(images: &[Image], compression: Compression, index: bool) -> Vec<Item> {
    let mut items = vec![file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#)];
    let mut descriptors = Vec::new();
    for image in images {
        let config = image.config();
        let layers: Vec<Vec<u8>> = image
            .layers
            .iter()
            .map(|layer| compress(layer, compression))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": layers.iter().map(|layer| descriptor(media_type(compression), layer)).collect::<Vec<_>>(),
        })
        .to_string()
        .into_bytes();
        let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
        if let Some(reference) = &image.reference {
            entry["annotations"] = json!({"org.opencontainers.image.ref.name": reference});
        }
        if index {
            entry["platform"] = json!({"os": "linux", "architecture": image.architecture});
        }
        descriptors.push(entry);
        items.extend([config, manifest].into_iter().chain(layers).map(blob));
    }
    if index {
        let reference = descriptors[0]["annotations"].clone();
        let inner = json!({"schemaVersion": 2, "manifests": descriptors})
            .to_string()
            .into_bytes();
        let mut entry = descriptor("application/vnd.oci.image.index.v1+json", &inner);
        entry["annotations"] = reference;
        descriptors = vec![entry];
        items.push(blob(inner));
    }
    items.push(file(
        "index.json",
        json!({"schemaVersion": 2, "manifests": descriptors}).to_string(),
    ));
    items
}

/// A descriptor of some bytes.
pub fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": sha256(bytes), "size": bytes.len()})
}

/// A blob of an OCI layout.
pub fn blob(bytes: Vec<u8>) -> Item {
    file(&format!("blobs/sha256/{}", hex(&bytes)), bytes)
}
