//! Images in directories as containerd leaves them, with databases that testkit writes.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::bolt::Bucket;
use testkit::{Compression, Image, file, oci_layout, write_directory};

use crate::program::imgcheck;

const METADATA: &str = "io.containerd.metadata.v1.bolt/meta.db";

/// The root directory of a containerd.
struct Root {
    directory: tempfile::TempDir,
    metadata: Bucket,
}

impl Root {
    fn new() -> Self {
        let metadata = Bucket::default();
        let directory = tempfile::tempdir().unwrap();
        Root {
            directory,
            metadata,
        }
    }

    /// Stores an image of two layers, and returns its digest.
    fn add(&mut self, namespace: &str, name: &str, version: &str) -> String {
        let metadata = format!("Name: torch\nVersion: {version}\n");
        let path = "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA";
        let layers = [
            [file("etc/os-release", "ID=debian\n")],
            [file(path, metadata)],
        ];
        let image = Image::new(name, &[&layers[0], &layers[1]]);
        let content = self
            .directory
            .path()
            .join("io.containerd.content.v1.content");
        write_directory(&content, &oci_layout(&[image], Compression::Gzip, false));
        let index: Value =
            serde_json::from_slice(&fs::read(content.join("index.json")).unwrap()).unwrap();
        let target = &index["manifests"][0];
        let mut size = target["size"].as_u64().unwrap() << 1;
        let mut varint = Vec::new();
        while size >= 0x80 {
            varint.push(size as u8 | 0x80);
            size >>= 7;
        }
        varint.push(size as u8);
        let text = |key: &str| target[key].as_str().unwrap();
        let mut set = |key: &str, value: &[u8]| {
            self.metadata
                .set(&["v1", namespace, "images", name, "target", key], value);
        };
        set("digest", text("digest").as_bytes());
        set("mediatype", text("mediaType").as_bytes());
        set("size", &varint);
        self.write(&self.metadata.database());
        text("digest").to_owned()
    }

    fn write(&self, database: &[u8]) {
        let path = self.directory.path().join(METADATA);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, database).unwrap();
    }

    /// Exit code, references in the report, and standard error.
    fn check(&self, reference: &str, namespace: Option<&str>) -> (i32, Vec<String>, String) {
        check(self.directory.path(), reference, namespace)
    }
}

fn check(root: &Path, reference: &str, namespace: Option<&str>) -> (i32, Vec<String>, String) {
    let mut command = imgcheck();
    command.env("IMGCHECK_CONTAINERD_ROOT", root);
    command.env_remove("CONTAINERD_NAMESPACE");
    if let Some(namespace) = namespace {
        command.env("CONTAINERD_NAMESPACE", namespace);
    }
    let output = command
        .args([&format!("containerd:{reference}"), "-f", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let images = report["images"].as_array().unwrap().iter();
    let names = images.map(|image| image["reference"].as_str().unwrap().to_owned());
    let said = String::from_utf8(output.stderr).unwrap();
    (
        output.status.code().unwrap(),
        names.collect(),
        format!("{said}{}", report["errors"]),
    )
}

#[test]
fn an_image_is_found_by_name_and_digest_among_many() {
    let mut root = Root::new();
    for number in 0..100 {
        root.add(
            "k8s.io",
            &format!("registry.example/x/torch:{number}"),
            "2.8.0",
        );
    }
    let digest = root.add("k8s.io", "docker.io/library/torch:latest", "2.9.0");
    for name in ["torch", "docker.io/library/torch:latest", &digest] {
        let (_, found, said) = root.check(name, None);
        assert_eq!(found, ["docker.io/library/torch:latest"], "{name}: {said}");
    }
    let (_, found, _) = root.check("registry.example/x/torch:99", Some("k8s.io"));
    assert_eq!(found, ["registry.example/x/torch:99"]);
    let (_, found, _) = root.check("", None);
    assert_eq!(found.len(), 101);

    let (code, found, said) = root.check("registry.example/x/torch:100", None);
    assert_eq!((code, found.len()), (3, 0));
    assert!(
        said.contains("no such image in any namespace (101 images"),
        "{said}"
    );
    let (code, _, said) = root.check("torch", Some("default"));
    assert_eq!(code, 3);
    assert!(said.contains("in the namespace default"), "{said}");
}

#[test]
fn a_name_that_means_two_images_needs_a_namespace() {
    let mut root = Root::new();
    root.add("default", "docker.io/x/torch:1", "2.8.0");
    root.add("moby", "docker.io/x/torch:1", "2.8.0");
    assert_eq!(
        root.check("x/torch:1", None).1.len(),
        1,
        "both are the same image"
    );
    root.add("k8s.io", "docker.io/x/torch:1", "2.9.0");
    let (code, found, said) = root.check("x/torch:1", None);
    assert_eq!((code, found.len()), (3, 0), "{said}");
    assert!(said.contains("CONTAINERD_NAMESPACE"), "{said}");
    assert_eq!(root.check("x/torch:1", Some("k8s.io")).1.len(), 1);
}

#[test]
fn what_is_missing_or_damaged_is_an_error() {
    let mut root = Root::new();
    let (code, _, said) = root.check("torch", None);
    assert_eq!(code, 3);
    assert!(said.contains("meta.db"), "{said}");
    let absent = root.directory.path().join("absent");
    let (code, _, said) = check(&absent, "torch", None);
    assert_eq!(code, 3);
    let ways = [
        "IMGCHECK_CONTAINERD_ROOT",
        "ctr images export image.tar REFERENCE",
    ];
    assert!(ways.iter().all(|way| said.contains(way)), "{said}");

    for number in 0..20 {
        root.add("default", &format!("docker.io/x/torch:{number}"), "2.8.0");
    }
    let sound = root.metadata.database();
    let whole = root.check("x/torch:7", None);
    for page in 1..sound.len() / 4096 {
        root.write(&sound[..page * 4096]);
        let (code, found, said) = root.check("x/torch:7", None);
        assert!(
            code == 3 || found == whole.1,
            "cut behind page {page}: {said}"
        );
    }
    for page in 3..sound.len() / 4096 {
        let mut damaged = sound.clone();
        damaged[page * 4096..][..4096].fill(0xff);
        root.write(&damaged);
        let (code, found, said) = root.check("x/torch:7", None);
        assert!(code == 3 || found == whole.1, "page {page} spoilt: {said}");
    }
    // A writer that was interrupted leaves one meta page half written.
    for meta in 0..2 {
        let mut damaged = sound.clone();
        damaged[meta * 4096 + 40] ^= 1;
        root.write(&damaged);
        assert_eq!(root.check("x/torch:7", None).1, whole.1, "meta page {meta}");
    }
    root.write(b"not a database");
    let (code, _, said) = root.check("x/torch:7", None);
    assert_eq!(code, 3);
    assert!(said.contains("not a bbolt database"), "{said}");
}

#[test]
fn a_layer_without_blob_and_files_is_an_error() {
    let mut root = Root::new();
    root.add("default", "docker.io/x/torch:1", "2.8.0");
    let blobs = root
        .directory
        .path()
        .join("io.containerd.content.v1.content/blobs/sha256");
    let longest = fs::read_dir(blobs)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let layer = longest
        .filter(|path| fs::read(path).unwrap().starts_with(&[0x1f, 0x8b]))
        .min();
    fs::remove_file(layer.unwrap()).unwrap();
    let (code, _, said) = root.check("x/torch:1", None);
    assert_eq!(code, 3);
    assert!(
        said.contains("neither its blob nor its files") && said.contains("docker://"),
        "{said}"
    );
}
