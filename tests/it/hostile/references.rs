//! Documents that name something that is missing, wrong, or outside the image.

use std::path::Path;

use imgcheck_base::digest::sha256;
use serde_json::json;

use super::attack::{Attack, Outcome};
use super::documents::{
    CONFIG, LAYER, MANIFEST, NAME, changed, honest, indexed, layout, named, one_layer,
};
use super::links::HOST;
use super::tars::{archive, config, described, whole};
use testkit::{Compression, Item, blob, descriptor, file, hex, symlink, tar};

/// Attacks by digests and names.
pub fn attacks() -> Vec<Attack> {
    [digests(), names()].into_iter().flatten().collect()
}

fn digests() -> Vec<Attack> {
    vec![
        Attack {
            name: "digest-that-is-a-path",
            holds: "an index that names a manifest `sha256:../../../etc/passwd`",
            outcome: Outcome::Refused("is not valid JSON"),
            make: |scratch| with_digest(scratch, "sha256:../../../etc/passwd"),
        },
        Attack {
            name: "sha-512-digest",
            holds: "an index that names a manifest by SHA-512",
            outcome: Outcome::Refused("is not a SHA-256 digest"),
            make: |scratch| with_digest(scratch, &format!("sha512:{}", "0".repeat(128))),
        },
        Attack {
            name: "digest-in-uppercase",
            holds: "an index that names a manifest by a digest in uppercase",
            outcome: Outcome::Refused("Invalid non-hexadecimal character in digest"),
            make: |scratch| with_digest(scratch, &format!("sha256:{}", "A".repeat(64))),
        },
        Attack {
            name: "manifest-with-wrong-digest",
            holds: "a manifest whose digest does not match",
            outcome: Outcome::Refused("is damaged: its digest is"),
            make: |scratch| {
                let [layer, config, manifest] = honest();
                let index = json!({"schemaVersion": 2, "manifests": [named(MANIFEST, &manifest)]});
                let other = [manifest.clone(), b" ".to_vec()].concat();
                let mut items = vec![
                    file("oci-layout", "{}"),
                    file("index.json", index.to_string()),
                    file(&format!("blobs/sha256/{}", hex(&manifest)), other),
                ];
                items.extend([layer, config].map(blob));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "configuration-with-wrong-digest",
            holds: "a configuration whose digest does not match",
            outcome: Outcome::Refused("is damaged: its digest is"),
            make: |scratch| {
                let layer = one_layer();
                let config = config(vec![sha256(&layer)]);
                let name = format!("{}.json", "0".repeat(64));
                let manifest =
                    json!([{"Config": name, "RepoTags": ["hostile:1"], "Layers": [NAME]}]);
                archive(
                    scratch,
                    &[
                        file(NAME, layer),
                        file(&name, config.to_string()),
                        file("manifest.json", manifest.to_string()),
                    ],
                )
            },
        },
        Attack {
            name: "layer-with-wrong-digest",
            holds: "an OCI layout with a gzip layer whose digest does not match",
            outcome: Outcome::Refused("damaged: its digest is"),
            make: |scratch| other_layer(scratch, true),
        },
        Attack {
            name: "layer-with-wrong-diff-id",
            holds: "a gzip layer whose content does not match the diff ID in the configuration",
            outcome: Outcome::Refused("damaged: its diff id is"),
            make: |scratch| other_layer(scratch, false),
        },
        Attack {
            name: "layer-with-wrong-length",
            holds: "an OCI layout with a layer that is shorter than its manifest says",
            outcome: Outcome::Refused("its manifest says"),
            make: |scratch| {
                let [layer, config, _] = honest();
                let mut said = descriptor(LAYER, &layer);
                said["size"] = json!(1_u64 << 40);
                let manifest = json!({
                    "schemaVersion": 2, "config": descriptor(CONFIG, &config), "layers": [said],
                });
                layout(scratch, &manifest, vec![layer, config])
            },
        },
    ]
}

fn with_digest(scratch: &Path, digest: &str) -> Vec<String> {
    let entry = json!({"mediaType": MANIFEST, "digest": digest, "size": 2});
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    indexed(scratch, &index, [b"{}".to_vec()])
}

/// A layout whose layer does not have the digest of its name, or not the diff id of the configuration.
fn other_layer(scratch: &Path, named_wrongly: bool) -> Vec<String> {
    let honest = whole(one_layer(), Compression::Gzip);
    let other = whole(tar(&[file("etc/os-release", HOST)]), Compression::Gzip);
    let config = config(vec![honest.diff_id]).to_string().into_bytes();
    let said = match named_wrongly {
        true => {
            json!({"mediaType": LAYER, "digest": sha256(&honest.stored), "size": other.stored.len()})
        }
        false => descriptor(LAYER, &other.stored),
    };
    let path = format!(
        "blobs/sha256/{}",
        &said["digest"].as_str().unwrap()["sha256:".len()..]
    );
    let manifest =
        json!({"schemaVersion": 2, "config": descriptor(CONFIG, &config), "layers": [said]});
    let manifest = manifest.to_string().into_bytes();
    let index = json!({"schemaVersion": 2, "manifests": [named(MANIFEST, &manifest)]});
    let mut items = vec![
        file("oci-layout", "{}"),
        file("index.json", index.to_string()),
        file(&path, other.stored),
    ];
    items.extend([config, manifest].map(blob));
    archive(scratch, &items)
}

fn names() -> Vec<Attack> {
    vec![
        Attack {
            name: "layer-named-as-host-file",
            holds: "a `manifest.json` with the layers `../../../etc/passwd` and `/etc/passwd`",
            outcome: Outcome::Refused("is not in normal form"),
            make: |scratch| {
                changed(scratch, |manifest, config| {
                    manifest[0]["Layers"] = json!(["../../../etc/passwd", "/etc/passwd"]);
                    config["rootfs"]["diff_ids"] = json!([sha256(b""), sha256(b"")]);
                })
            },
        },
        Attack {
            name: "configuration-named-as-host-file",
            holds: "a `manifest.json` with the configuration `/etc/passwd`",
            outcome: Outcome::Refused("is not in normal form"),
            make: |scratch| {
                changed(scratch, |manifest, _| {
                    manifest[0]["Config"] = "/etc/passwd".into()
                })
            },
        },
        Attack {
            name: "layer-as-link-to-host-file",
            holds: "a docker archive whose `layer.tar` is a symbolic link to `/etc/passwd`",
            outcome: Outcome::Refused("is a link to something"),
            make: |scratch| with_links(scratch, &[symlink(NAME, "/etc/passwd")]),
        },
        Attack {
            name: "layers-as-links-in-a-circle",
            holds: "a docker archive whose `layer.tar` is a symbolic link to a link that points back",
            outcome: Outcome::Refused("is not a regular file"),
            make: |scratch| with_links(scratch, &[symlink(NAME, "other"), symlink("other", NAME)]),
        },
        Attack {
            name: "layer-as-fifo",
            holds: "a docker archive whose `layer.tar` is a FIFO",
            outcome: Outcome::Refused("is not a regular file"),
            make: |scratch| with_links(scratch, &[Item::Fifo(NAME.into())]),
        },
    ]
}

/// A docker archive with something else instead of its layer.
fn with_links(scratch: &Path, links: &[Item]) -> Vec<String> {
    let config = config(vec![sha256(&one_layer())]);
    let documents = described(config, &[NAME.to_owned()]);
    archive(scratch, &[links, &documents].concat())
}
