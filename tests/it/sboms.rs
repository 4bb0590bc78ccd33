//! `imgcheck check` reads the SBOMs beside an image, and says where they contradict it. The documents were written by trivy 0.59.1 and
//! syft 1.18.1 about the sample image: see `testdata/sbom/PROVENANCE.md`.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use testkit::registry::{Content, Server};
use testkit::writable::Writable;
use testkit::{Compression, Image, Item, file, hex, oci_layout, sha256, write_directory};

use crate::program::{imgcheck, only_image, repository};
use crate::sample_image::mislabelled;

const TAG: &str = "1";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CYCLONEDX: &str = "application/vnd.cyclonedx+json";
const SPDX: &str = "application/spdx+json";
/// The documents, and the type under which they are attached.
const DOCUMENTS: [(&str, &str); 5] = [
    ("trivy.cdx.json", CYCLONEDX),
    ("trivy.spdx.json", SPDX),
    ("syft.cdx.json", CYCLONEDX),
    ("syft.spdx.json", SPDX),
    ("buildkit.spdx.json", SPDX),
];

/// A registry with the sample image.
struct Place {
    registry: Writable,
    server: Server,
}

impl Place {
    fn new(has_referrers: bool) -> Self {
        Place::of(Content::of(TAG, &[mislabelled()], false), has_referrers)
    }

    fn of(content: Content, has_referrers: bool) -> Self {
        let registry = Writable::new(content, has_referrers);
        Place {
            server: registry.serve(),
            registry,
        }
    }

    /// Attaches an artifact to the image: by its subject, and under the fallback tag.
    fn attach(&self, kind: &str, layer_kind: &str, document: &[u8], annotations: &Value) {
        let subject = self.registry.digest(TAG);
        let layer = self.registry.put_blob(document);
        let config = self.registry.put_blob(b"{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": kind,
            "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2},
            "layers": [{"mediaType": layer_kind, "digest": layer, "size": document.len()}],
            "subject": {"mediaType": MANIFEST, "digest": subject, "size": 1},
            "annotations": annotations,
        });
        let digest = self.registry.put("sbom", manifest.to_string());
        let entry = json!({
            "mediaType": MANIFEST, "digest": digest, "size": manifest.to_string().len(),
            "artifactType": kind, "annotations": annotations,
        });
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry],
        });
        self.registry
            .put(&subject.replace(':', "-"), index.to_string());
    }

    fn check(&self, arguments: &[&str]) -> (i32, Value) {
        check(&self.server.reference(TAG), arguments)
    }

    /// The findings about SBOMs.
    fn contradictions(&self) -> Vec<String> {
        contradictions(only_image(&self.check(&[]).1))
    }
}

fn check(image: &str, arguments: &[&str]) -> (i32, Value) {
    let output = imgcheck()
        .args(["check", image, "-f", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code().unwrap(), report)
}

fn contradictions(image: &Value) -> Vec<String> {
    let findings = image["findings"].as_array().unwrap().iter();
    let about = findings.filter(|it| it["rule"] == "claim-sbom");
    about
        .map(|it| it["message"].as_str().unwrap().to_owned())
        .collect()
}

fn document(name: &str) -> String {
    fs::read_to_string(repository("testdata/sbom").join(name)).unwrap()
}

/// The same of a build with PyTorch 2.9.0.
fn of_another_build(name: &str) -> String {
    let changed = document(name).replace("torch@2.8.0", "torch@2.9.0");
    assert_ne!(changed, document(name));
    changed
}

/// A statement about an image, as BuildKit and cosign make them.
fn statement(digest: &str, kind: &str, predicate: &str) -> String {
    let predicate: Value = serde_json::from_str(predicate).unwrap();
    json!({
        "_type": "https://in-toto.io/Statement/v0.1",
        "predicateType": kind,
        "subject": [{"name": "_", "digest": {"sha256": digest.trim_start_matches("sha256:")}}],
        "predicate": predicate,
    })
    .to_string()
}

/// An OCI layout whose index has the attestation of a document, as BuildKit writes them.
fn built(name: &str, other_stage: &str) -> Vec<Item> {
    let mut items = oci_layout(&[mislabelled()], Compression::Gzip, false);
    let top = items
        .iter()
        .position(|it| matches!(it, Item::File(path, _) if path == "index.json"));
    let Item::File(_, index) = items.remove(top.unwrap()) else {
        unreachable!()
    };
    let mut index: Value = serde_json::from_slice(&index).unwrap();
    let image = index["manifests"][0].clone();
    let digest = image["digest"].as_str().unwrap();
    let mut add = |bytes: String| {
        let entry = json!({"digest": sha256(bytes.as_bytes()), "size": bytes.len()});
        items.push(file(
            &format!("blobs/sha256/{}", hex(bytes.as_bytes())),
            bytes,
        ));
        entry
    };
    let kind = "https://spdx.dev/Document";
    let layers: Vec<Value> = [name, other_stage]
        .iter()
        .map(|predicate| {
            let mut layer = add(statement(digest, kind, predicate));
            layer["mediaType"] = json!("application/vnd.in-toto+json");
            layer["annotations"] = json!({"in-toto.io/predicate-type": kind});
            layer
        })
        .collect();
    let mut config =
        add(json!({"architecture": "unknown", "os": "unknown", "config": {}}).to_string());
    config["mediaType"] = json!("application/vnd.oci.image.config.v1+json");
    let manifest =
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    let mut attestation = add(manifest.to_string());
    attestation["mediaType"] = json!(MANIFEST);
    attestation["platform"] = json!({"architecture": "unknown", "os": "unknown"});
    attestation["annotations"] = json!({
        "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": digest,
    });
    let mut image = image.clone();
    image["platform"] = json!({"architecture": "amd64", "os": "linux"});
    let inner = json!({"schemaVersion": 2, "manifests": [image, attestation]});
    let mut entry = add(inner.to_string());
    entry["mediaType"] = json!("application/vnd.oci.image.index.v1+json");
    index["manifests"] = json!([entry]);
    items.push(file("index.json", index.to_string()));
    items
}

#[test]
fn an_sbom_of_the_image_is_no_finding_and_one_of_another_build_is() {
    for has_referrers in [true, false] {
        for (name, kind) in DOCUMENTS {
            let place = Place::new(has_referrers);
            place.attach(kind, kind, document(name).as_bytes(), &json!({}));
            assert_eq!(place.contradictions(), [""; 0], "{name}");

            let place = Place::new(has_referrers);
            place.attach(kind, kind, of_another_build(name).as_bytes(), &json!({}));
            let found = place.contradictions();
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            let expected =
                "lists torch 2.9.0 (`pkg:pypi/torch@2.9.0`), but the image contains 2.8.0+cu128";
            assert!(found[0].ends_with(expected), "{name}: {found:?}");
        }
    }
}

#[test]
fn every_component_is_compared() {
    let place = Place::new(true);
    let sbom = document("trivy.cdx.json")
        .replace("nvidia-cudnn-cu12@9.10.2.21", "nvidia-cudnn-cu12@9.1.0.70")
        .replace("nvidia-nccl-cu12@2.27.3", "nvidia-nccl-cu12@2.21.5")
        .replace(
            "nvidia-cuda-runtime-cu12@12.8.90",
            "nvidia-cuda-runtime-cu12@12.4.127",
        );
    place.attach(CYCLONEDX, CYCLONEDX, sbom.as_bytes(), &json!({}));
    let found = place.contradictions().join("\n");
    for text in [
        "lists cudnn 9.1.0.70 (`pkg:pypi/nvidia-cudnn-cu12@9.1.0.70`), but the image contains 9.10.2",
        "lists nccl 2.21.5 (`pkg:pypi/nvidia-nccl-cu12@2.21.5`), but the image contains 2.27.3",
        "lists cuda 12.4.127 (`pkg:pypi/nvidia-cuda-runtime-cu12@12.4.127`), but the image contains 12.8",
    ] {
        assert!(found.contains(text), "{text}\n{found}");
    }
}

#[test]
fn a_statement_that_cosign_stores_is_read() {
    let place = Place::new(true);
    let kind = "https://cyclonedx.org/bom";
    let said = statement(
        &place.registry.digest(TAG),
        kind,
        &of_another_build("syft.cdx.json"),
    );
    let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let document = json!({
        "mediaType": bundle, "verificationMaterial": {},
        "dsseEnvelope": {"payload": STANDARD.encode(said), "payloadType": "application/vnd.in-toto+json", "signatures": []},
    });
    let annotations = json!({"dev.sigstore.bundle.predicateType": kind});
    place.attach(
        bundle,
        bundle,
        document.to_string().as_bytes(),
        &annotations,
    );
    assert_eq!(place.contradictions().len(), 1);
}

#[test]
fn attestations_of_buildkit_are_read_in_registries_and_layouts() {
    let right = document("buildkit.spdx.json");
    let stage = of_another_build("buildkit.spdx.json")
        .replace("\"name\": \"sbom\"", "\"name\": \"sbom-builder\"");
    let wrong = of_another_build("buildkit.spdx.json");
    for (document, findings) in [(&right, 0), (&wrong, 1)] {
        let items = built(document, &stage);
        let scratch = layout(&items);
        let found = contradictions(only_image(&check_path(scratch.path())));
        assert_eq!(found.len(), findings, "{found:?}");
        let archive = scratch.path().with_extension("tar");
        testkit::write_archive(&archive, &items);
        let found = contradictions(only_image(&check_path(&archive)));
        fs::remove_file(archive).unwrap();
        assert_eq!(found.len(), findings, "{found:?}");

        let mut content = Content::default();
        for item in items {
            let Item::File(path, bytes) = item else {
                unreachable!()
            };
            if path == "index.json" {
                let index: Value = serde_json::from_slice(&bytes).unwrap();
                let digest = index["manifests"][0]["digest"].as_str().unwrap();
                content.tags.insert(TAG.to_owned(), digest.to_owned());
            }
            content.blobs.insert(sha256(&bytes), bytes);
        }
        let found = Place::of(content, true).contradictions();
        assert_eq!(found.len(), findings, "{found:?}");
    }
}

fn layout(items: &[Item]) -> TempDir {
    let scratch = tempdir().unwrap();
    write_directory(scratch.path(), items);
    scratch
}

fn check_path(path: &Path) -> Value {
    check(path.to_str().unwrap(), &[]).1
}

#[test]
fn an_sbom_that_cannot_be_read_is_a_gap() {
    for (text, problem) in [
        ("<bom/>", "it is neither CycloneDX nor SPDX 2 in JSON"),
        (
            r#"{"@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld", "@graph": []}"#,
            "it is neither",
        ),
        (
            r#"{"bomFormat": "CycloneDX", "components": 7}"#,
            "invalid type",
        ),
    ] {
        let place = Place::new(true);
        place.attach(CYCLONEDX, CYCLONEDX, text.as_bytes(), &json!({}));
        let (code, report) = place.check(&[]);
        let gaps = only_image(&report)["judged"]["gaps"].as_array().unwrap();
        let gap = gaps.iter().find(|it| it["code"] == "sbom-unread").unwrap();
        assert!(gap["message"].as_str().unwrap().contains(problem), "{gap}");
        assert_eq!((code, place.contradictions().len()), (0, 0));
    }
}

#[test]
fn a_blob_that_is_missing_or_damaged_is_a_gap() {
    let place = Place::new(true);
    let sbom = document("trivy.cdx.json");
    place.attach(CYCLONEDX, CYCLONEDX, sbom.as_bytes(), &json!({}));
    place.registry.spoil(&sha256(sbom.as_bytes()), b"{}");
    let (code, report) = place.check(&[]);
    let gaps = &only_image(&report)["judged"]["gaps"];
    assert!(gaps.to_string().contains("sbom-unread"), "{gaps}");
    assert_eq!(code, 0);
}

#[test]
fn one_request_is_sent_for_an_image_without_sboms_and_none_for_one_without_a_gpu_stack() {
    let place = Place::new(true);
    assert!(place.contradictions().is_empty());
    assert_eq!(place.server.count("referrers"), 1);
    assert_eq!(place.server.count("manifests"), 1);

    let small = Image::new(
        "team/image:1",
        &[&[file("usr/lib/os-release", "ID=debian\n")]],
    );
    let place = Place::of(Content::of(TAG, &[small], false), true);
    place.check(&[]);
    assert_eq!(place.server.count("referrers"), 0);
}

#[test]
fn nothing_is_read_if_the_rule_is_off() {
    let place = Place::new(true);
    place.attach(CYCLONEDX, CYCLONEDX, b"<bom/>", &json!({}));
    let directory = off();
    let config = directory.path().join("off.yaml").display().to_string();
    let output = imgcheck()
        .env_remove("IMGCHECK_NO_CONFIG")
        .args(["check", &place.server.reference(TAG), "--config", &config])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(place.server.count("referrers"), 0);
}

fn off() -> TempDir {
    let directory = tempdir().unwrap();
    fs::write(
        directory.path().join("off.yaml"),
        "severities: {claim-sbom: off}\n",
    )
    .unwrap();
    directory
}
