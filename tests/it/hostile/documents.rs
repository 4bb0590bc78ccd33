//! Manifests, indexes and configurations that are large, or say one thing to one reader and another to the next.

use std::path::Path;

use imgcheck_base::digest::sha256;
use serde_json::{Value, json};

use super::attack::{Attack, Outcome};
use super::links::{HOST, INNER, inner};
use super::tars::{archive, config};
use testkit::{blob, descriptor, file, tar};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Attacks by documents.
pub fn attacks() -> Vec<Attack> {
    [json_itself(), lists(), spelling(), values()]
        .into_iter()
        .flatten()
        .collect()
}

/// The one layer of an image.
pub fn one_layer() -> Vec<u8> {
    tar(&[file("etc/os-release", INNER)])
}

/// The layer's name in a docker archive.
pub const NAME: &str = "layer.tar";

/// A docker archive of one layer with documents that are changed before they are written.
pub fn changed(scratch: &Path, change: impl Fn(&mut Value, &mut Value)) -> Vec<String> {
    let layer = one_layer();
    let mut config = config(vec![sha256(&layer)]);
    let mut manifest =
        json!([{"Config": "config.json", "RepoTags": ["hostile:1"], "Layers": [NAME]}]);
    change(&mut manifest, &mut config);
    archive(
        scratch,
        &[
            file(NAME, layer),
            file("config.json", config.to_string()),
            file("manifest.json", manifest.to_string()),
        ],
    )
}

/// The same with the text of the manifest.
fn with_manifest(scratch: &Path, manifest: &str) -> Vec<String> {
    let layer = one_layer();
    let config = config(vec![sha256(&layer)]).to_string();
    archive(
        scratch,
        &[
            file(NAME, layer),
            file("config.json", config),
            file("manifest.json", manifest),
        ],
    )
}

/// An OCI layout in a tar file with a manifest and these other blobs.
pub fn layout(scratch: &Path, manifest: &Value, blobs: Vec<Vec<u8>>) -> Vec<String> {
    let manifest = manifest.to_string().into_bytes();
    let index = json!({"schemaVersion": 2, "manifests": [named(MANIFEST, &manifest)]});
    indexed(scratch, &index, blobs.into_iter().chain([manifest]))
}

/// The same with an index.
pub fn indexed(
    scratch: &Path,
    index: &Value,
    blobs: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<String> {
    let mut items = vec![
        file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#),
        file("index.json", index.to_string()),
    ];
    items.extend(blobs.into_iter().map(blob));
    archive(scratch, &items)
}

pub fn named(media_type: &str, bytes: &[u8]) -> Value {
    let mut entry = descriptor(media_type, bytes);
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": "hostile:1"});
    entry
}

/// The blobs of an honest image: its layer, its configuration and its manifest.
pub fn honest() -> [Vec<u8>; 3] {
    let layer = one_layer();
    let config = config(vec![sha256(&layer)]).to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2, "config": descriptor(CONFIG, &config), "layers": [descriptor(LAYER, &layer)],
    });
    [layer, config, manifest.to_string().into_bytes()]
}

fn json_itself() -> Vec<Attack> {
    vec![
        Attack {
            name: "manifest-with-nested-lists",
            holds: "a `manifest.json` with 100,000 nested lists",
            outcome: Outcome::Refused("is not valid JSON: recursion limit exceeded"),
            make: |scratch| {
                let unknown = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
                let entry = format!(
                    r#"[{{"x": {unknown}, "Config": "config.json", "Layers": ["{NAME}"]}}]"#
                );
                with_manifest(scratch, &entry)
            },
        },
        Attack {
            name: "manifest-of-100-megabytes",
            holds: "a `manifest.json` of 100 MB, nearly all spaces",
            outcome: Outcome::Refused("the limit document-bytes"),
            make: |scratch| with_manifest(scratch, &format!("[{}]", " ".repeat(100_000_000))),
        },
        Attack {
            name: "json-with-duplicate-key",
            holds: "a `manifest.json` with two lists of layers",
            outcome: Outcome::Refused("duplicate field `Layers`"),
            make: |scratch| {
                with_manifest(
                    scratch,
                    r#"[{"Config": "config.json", "Layers": ["layer.tar"], "Layers": []}]"#,
                )
            },
        },
        Attack {
            name: "json-with-huge-numbers",
            holds: "an index with a size of a thousand digits",
            outcome: Outcome::Refused("is not valid JSON"),
            make: |scratch| {
                let text = format!(
                    r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"{MANIFEST}","digest":"{}","size":{}}}]}}"#,
                    sha256(b""),
                    "9".repeat(1000)
                );
                let items = [file("oci-layout", "{}"), file("index.json", text)];
                archive(scratch, &items)
            },
        },
        Attack {
            name: "json-cut-off",
            holds: "a configuration that ends in the middle",
            outcome: Outcome::Refused("is not valid JSON"),
            make: |scratch| {
                archive(
                    scratch,
                    &[
                        file(NAME, one_layer()),
                        file("config.json", r#"{"architecture": "amd64", "rootfs": "#),
                        file(
                            "manifest.json",
                            r#"[{"Config": "config.json", "Layers": ["layer.tar"]}]"#,
                        ),
                    ],
                )
            },
        },
    ]
}

fn lists() -> Vec<Attack> {
    vec![
        Attack {
            name: "a-million-diff-ids",
            holds: "a configuration of 1,000,000 empty diff ids for one layer",
            outcome: Outcome::Refused("the configuration has 1000000 layers, the manifest 1"),
            make: |scratch| {
                changed(scratch, |_, config| {
                    config["rootfs"]["diff_ids"] = vec![""; 1_000_000].into();
                })
            },
        },
        Attack {
            name: "a-million-steps",
            holds: "a configuration with a history of 1,000,000 build steps",
            outcome: Outcome::Read("read: steps without a layer are skipped", inner),
            make: |scratch| {
                changed(scratch, |_, config| {
                    config["history"] = vec![json!({}); 1_000_000].into()
                })
            },
        },
        Attack {
            name: "platforms-by-the-thousand",
            holds: "an index of 5,000 platforms",
            outcome: Outcome::Refused("the limit manifests"),
            make: |scratch| {
                let [layer, config, manifest] = honest();
                let entries: Vec<Value> = (0..5000)
                    .map(|at| {
                        let mut entry = named(MANIFEST, &manifest);
                        entry["platform"] =
                            json!({"os": "linux", "architecture": format!("a{at}")});
                        entry
                    })
                    .collect();
                let index = json!({"schemaVersion": 2, "manifests": entries});
                indexed(scratch, &index, [layer, config, manifest])
            },
        },
        Attack {
            name: "index-of-indexes",
            holds: "indexes that are nested six deep",
            outcome: Outcome::Refused("indexes are nested"),
            make: |scratch| {
                let [layer, config, manifest] = honest();
                let mut blobs = vec![layer, config, manifest.clone()];
                let mut inner = descriptor(MANIFEST, &manifest);
                for _ in 0..6 {
                    let index = json!({"schemaVersion": 2, "manifests": [inner]})
                        .to_string()
                        .into_bytes();
                    inner = descriptor(INDEX, &index);
                    blobs.push(index);
                }
                indexed(
                    scratch,
                    &json!({"schemaVersion": 2, "manifests": [inner]}),
                    blobs,
                )
            },
        },
        Attack {
            name: "one-large-index-repeated",
            holds: "an index that lists a second index of 3 MB 1,000 times",
            outcome: Outcome::Refused("the limit documents-bytes"),
            make: |scratch| {
                let [layer, config, manifest] = honest();
                let large =
                    json!({"schemaVersion": 2, "manifests": [], "x": " ".repeat(3_000_000)});
                let large = large.to_string().into_bytes();
                let mut entries = vec![descriptor(INDEX, &large); 1000];
                entries.push(named(MANIFEST, &manifest));
                let index = json!({"schemaVersion": 2, "manifests": entries});
                indexed(scratch, &index, [large, layer, config, manifest])
            },
        },
        Attack {
            name: "tags-by-the-hundred-thousand",
            holds: "a docker archive that gives one image 100,000 tags",
            outcome: Outcome::Refused("the limit manifests"),
            make: |scratch| {
                changed(scratch, |manifest, _| {
                    let tags: Vec<String> =
                        (0..100_000).map(|at| format!("hostile:{at}")).collect();
                    manifest[0]["RepoTags"] = tags.into();
                })
            },
        },
        Attack {
            name: "images-by-the-thousand",
            holds: "a docker archive that lists one image 40,000 times",
            outcome: Outcome::Refused("the limit manifests"),
            make: |scratch| {
                changed(scratch, |manifest, _| {
                    let entry = |at| {
                        let mut entry = manifest[0].clone();
                        entry["RepoTags"] = json!([format!("hostile:{at}")]);
                        entry
                    };
                    *manifest = (0..40_000).map(entry).collect();
                })
            },
        },
    ]
}

fn spelling() -> Vec<Attack> {
    vec![
        Attack {
            name: "layers-in-two-spellings",
            holds: "a manifest with `layers` and different `Layers`, which Go reads as the same key",
            outcome: Outcome::Refused("is an ambiguous spelling of `layers`"),
            make: |scratch| {
                let [layer, config, _] = honest();
                let other = tar(&[file("etc/os-release", HOST)]);
                let manifest = json!({
                    "schemaVersion": 2, "config": descriptor(CONFIG, &config),
                    "layers": [descriptor(LAYER, &layer)], "Layers": [descriptor(LAYER, &other)],
                });
                layout(scratch, &manifest, vec![layer, config, other])
            },
        },
        Attack {
            name: "environment-in-another-spelling",
            holds: "a configuration whose environment is called `ENV`, which Go reads as `Env`",
            outcome: Outcome::Refused("is an ambiguous spelling of `Env`"),
            make: |scratch| {
                changed(scratch, |_, config| {
                    config["config"] = json!({"ENV": ["LD_LIBRARY_PATH=/opt"]})
                })
            },
        },
    ]
}

fn values() -> Vec<Attack> {
    vec![
        Attack {
            name: "labels-by-the-megabyte",
            holds: "labels of 3 MB: one long one, and 100,000 short ones",
            outcome: Outcome::Read("read: labels are only text", inner),
            make: |scratch| {
                changed(scratch, |_, config| {
                    let mut labels: serde_json::Map<String, Value> = (0..100_000)
                        .map(|at| (format!("label.{at}"), "torch 2.8".into()))
                        .collect();
                    labels.insert("long".into(), "torch 2.8 cuda ".repeat(50_000).into());
                    config["config"]["Labels"] = labels.into();
                })
            },
        },
        Attack {
            name: "environment-by-the-megabyte",
            holds: "an environment of 2 MB: one long variable, and 100,000 short ones",
            outcome: Outcome::Read("read: variables are only text", inner),
            make: |scratch| {
                changed(scratch, |_, config| {
                    let mut env: Vec<String> =
                        (0..100_000).map(|at| format!("V{at}=2.8.0")).collect();
                    env.push(format!("PYTORCH_VERSION={}", "2.8.0 ".repeat(100_000)));
                    config["config"]["Env"] = env.into();
                })
            },
        },
        Attack {
            name: "search-path-of-a-hundred-thousand-directories",
            holds: "`LD_LIBRARY_PATH` and `PATH` of 50,000 directories each",
            outcome: Outcome::Read("read: missing directories cost little", inner),
            make: |scratch| {
                changed(scratch, |_, config| {
                    let path: String = (0..50_000).map(|at| format!(":/d{at}")).collect();
                    config["config"]["Env"] =
                        json!([format!("LD_LIBRARY_PATH={path}"), format!("PATH={path}")]);
                })
            },
        },
    ]
}
