//! Builds small images for the tests: layers from lists of entries, in every storage.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) use crate::say;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use imgcheck::internals::digest::sha256;
use imgcheck::internals::source::{LayerBlob, LayerData};
use serde_json::{Value, json};

/// One entry of a layer.
#[derive(Debug, Clone)]
pub enum Item {
    /// A regular file.
    File(String, Vec<u8>),
    /// A directory.
    Directory(String),
    /// A symbolic link and its target.
    Symlink(String, String),
    /// A hard link and its target.
    HardLink(String, String),
    /// A fifo.
    Fifo(String),
}

/// A regular file.
pub fn file(path: &str, content: impl AsRef<[u8]>) -> Item {
    Item::File(path.into(), content.as_ref().into())
}

/// A directory.
pub fn directory(path: &str) -> Item {
    Item::Directory(path.into())
}

/// A symbolic link.
pub fn symlink(path: &str, target: &str) -> Item {
    Item::Symlink(path.into(), target.into())
}

/// A hard link.
pub fn hard_link(path: &str, target: &str) -> Item {
    Item::HardLink(path.into(), target.into())
}

/// An uncompressed tar of the entries, in GNU format.
pub fn tar(items: &[Item]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for item in items {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(0);
        match item {
            Item::File(path, content) => {
                header.set_size(content.len() as u64);
                builder
                    .append_data(&mut header, path, &content[..])
                    .unwrap();
            }
            Item::Directory(path) => {
                header.set_entry_type(tar::EntryType::Directory);
                builder.append_data(&mut header, path, &[][..]).unwrap();
            }
            Item::Symlink(path, target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                builder.append_link(&mut header, path, target).unwrap();
            }
            Item::HardLink(path, target) => {
                header.set_entry_type(tar::EntryType::Link);
                builder.append_link(&mut header, path, target).unwrap();
            }
            Item::Fifo(path) => {
                header.set_entry_type(tar::EntryType::Fifo);
                builder.append_data(&mut header, path, &[][..]).unwrap();
            }
        }
    }
    builder.into_inner().unwrap()
}

/// How layers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Plain,
    Gzip,
    Zstd,
}

/// The bytes as they are stored.
pub fn compress(bytes: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::Plain => bytes.to_vec(),
        Compression::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(bytes, 1).unwrap(),
    }
}

/// An image to be written.
#[derive(Debug, Clone)]
pub struct Image {
    pub reference: Option<String>,
    pub architecture: String,
    /// Uncompressed tars, lowest first.
    pub layers: Vec<Vec<u8>>,
    pub labels: Value,
    pub env: Vec<String>,
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
        }
    }

    /// The image configuration.
    pub fn config(&self) -> Vec<u8> {
        let diff_ids: Vec<String> = self.layers.iter().map(|layer| sha256(layer)).collect();
        let history: Vec<Value> = (0..diff_ids.len())
            .map(|at| json!({"created_by": format!("step {at}")}))
            .collect();
        json!({
            "architecture": self.architecture, "os": "linux",
            "config": {"Labels": self.labels, "Env": self.env},
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
            "layers": layers.iter().map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar", layer)).collect::<Vec<_>>(),
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

/// Writes items as a tar file.
pub fn write_archive(path: &Path, items: &[Item]) {
    fs::write(path, tar(items)).unwrap();
}

/// Writes files, directories and symbolic links below a directory.
pub fn write_directory(root: &Path, items: &[Item]) {
    for item in items {
        let (Item::File(path, _)
        | Item::Directory(path)
        | Item::Symlink(path, _)
        | Item::HardLink(path, _)
        | Item::Fifo(path)) = item;
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match item {
            Item::File(_, content) => fs::write(&path, content).unwrap(),
            Item::Directory(_) => fs::create_dir_all(&path).unwrap(),
            Item::Symlink(_, target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            Item::HardLink(_, target) => fs::hard_link(root.join(target), &path).unwrap(),
            Item::Fifo(_) => assert!(
                std::process::Command::new("mkfifo")
                    .arg(&path)
                    .status()
                    .unwrap()
                    .success()
            ),
        }
    }
}

/// The hexadecimal digest of some bytes.
pub fn hex(bytes: &[u8]) -> String {
    sha256(bytes)["sha256:".len()..].to_owned()
}

/// A layer blob as a source would hand it over, with the digests that its bytes have.
pub fn layer_blob(stored: &[u8], plain: &[u8]) -> LayerBlob {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(stored).unwrap();
    LayerBlob {
        diff_id: sha256(plain),
        digest: Some(sha256(stored)),
        annotations: imgcheck::internals::source::Annotations::new(),
        size: stored.len() as u64,
        data: LayerData::Range {
            file: Arc::new(file),
            name: "layer".into(),
            offset: 0,
            length: stored.len() as u64,
        },
    }
}

/// Whether a program is there. Where the environment says `IMGCHECK_REQUIRE_TOOLS=1` it must be; else its tests are skipped, and
/// say so.
pub fn tool(name: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|path| path.join(name).is_file()));
    let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(
        found || !required,
        "{name} is not installed, and IMGCHECK_REQUIRE_TOOLS=1"
    );
    if !found {
        say::line(format_args!("skipped: {name} is not installed"));
    }
    found
}

/// Runs a program that must succeed.
pub fn run(program: &str, arguments: &[&str]) {
    let output = std::process::Command::new(program)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
