//! Manifests of artifacts about an image (OCI image specification 1.1, "Guidelines for Artifact Usage").

use std::collections::HashMap;

use oci_spec::image::{Descriptor, ImageIndex, ImageManifest};
use serde_json::{Value, json};

use super::envelope::{BUNDLE, ENVELOPE};
use imgcheck_base::digest::{hexadecimal, sha256};
use imgcheck_base::error::{Error, Result};

/// The type of an artifact with the facts of an image: one layer for each layer of the image, in the same order.
pub const FACTS: &str = "application/vnd.imgcheck.facts.v1";
/// The type of such a layer: the facts of one layer as JSON, compressed with zstd.
pub const LAYER_FACTS: &str = "application/vnd.imgcheck.layer-facts.v1+zstd";
/// The empty configuration.
pub const EMPTY: &[u8] = b"{}";
/// The type of the empty configuration.
pub const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// The type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of an index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";
const LEGACY_PREDICATE_TYPE: &str = "predicateType";

/// A document that is described by its type, digest and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Media type.
    pub media_type: String,
    /// The bytes; empty if only the digest is known.
    pub bytes: Vec<u8>,
    digest: String,
}

impl Blob {
    /// A blob.
    pub fn new(media_type: &str, bytes: Vec<u8>) -> Self {
        Blob {
            media_type: media_type.to_owned(),
            digest: sha256(&bytes),
            bytes,
        }
    }

    /// A manifest of which only the digest is known.
    pub fn unread(digest: &str) -> Self {
        Blob {
            media_type: MANIFEST.to_owned(),
            bytes: Vec::new(),
            digest: digest.to_owned(),
        }
    }

    /// The empty configuration.
    pub fn empty() -> Self {
        Blob::new(EMPTY_TYPE, EMPTY.to_vec())
    }

    /// SHA-256 digest of the bytes.
    pub fn digest(&self) -> String {
        self.digest.clone()
    }

    fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest(), "size": self.bytes.len()})
    }
}

/// An artifact that is about an image: its manifest, and what the manifest names.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The manifest.
    pub manifest: Blob,
    /// The configuration and the layers.
    pub blobs: Vec<Blob>,
    kind: &'static str,
    annotations: Value,
}

impl Artifact {
    fn new(
        kind: &'static str,
        subject: &Blob,
        layers: Vec<Blob>,
        annotations: Value,
    ) -> Result<Self> {
        let descriptors: Vec<Value> = layers.iter().map(Blob::descriptor).collect();
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": kind,
            "config": Blob::empty().descriptor(),
            "layers": descriptors,
            "subject": subject.descriptor(),
        });
        if annotations.as_object().is_some_and(|it| !it.is_empty()) {
            manifest["annotations"] = annotations.clone();
        }
        let mut blobs = layers;
        blobs.push(Blob::empty());
        Ok(Artifact {
            manifest: Blob::new(MANIFEST, json_bytes(&manifest)?),
            blobs,
            kind,
            annotations,
        })
    }

    /// The facts of the layers of an image. `subject` is the manifest of the image. Equal facts give equal bytes.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn facts(subject: &Blob, layers: Vec<Vec<u8>>) -> Result<Self> {
        let layers = layers.into_iter().map(|it| Blob::new(LAYER_FACTS, it));
        Artifact::new(FACTS, subject, layers.collect(), json!({}))
    }

    /// A bundle, as cosign stores it from version 3 on. `created` is a time (RFC 3339).
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn bundle(subject: &Blob, bundle: Vec<u8>, predicate: &str, created: &str) -> Result<Self> {
        let annotations = json!({
            "dev.sigstore.bundle.content": "dsse-envelope",
            PREDICATE_TYPE: predicate,
            "org.opencontainers.image.created": created,
        });
        Artifact::new(
            BUNDLE,
            subject,
            vec![Blob::new(BUNDLE, bundle)],
            annotations,
        )
    }

    /// How the list of referrers describes it (OCI distribution specification 1.1, "Listing Referrers").
    pub fn entry(&self) -> Value {
        let mut entry = self.manifest.descriptor();
        entry["artifactType"] = json!(self.kind);
        if self
            .annotations
            .as_object()
            .is_some_and(|it| !it.is_empty())
        {
            entry["annotations"] = self.annotations.clone();
        }
        entry
    }
}

/// The tag that lists the referrers of a manifest where the registry has no referrers API (OCI distribution specification 1.1,
/// "Referrers Tag Schema").
pub fn referrers_tag(digest: &str) -> String {
    format!("sha256-{}", hexadecimal(digest).unwrap_or_default())
}

/// The tag under which cosign stored attestations up to version 2.
pub fn attestations_tag(digest: &str) -> String {
    format!("{}.att", referrers_tag(digest))
}

/// An index of referrers with these entries, and without those that they supersede. `None` if it has all entries: what they supersede and
/// another writer has added again does no harm, and two writers must not undo each other without end.
///
/// # Errors
/// What is there is not an index.
pub fn with_entries(
    index: Option<&[u8]>,
    entries: &[Value],
    superseded: &[&str],
) -> Result<Option<Vec<u8>>, String> {
    let mut index: Value = match index {
        Some(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string())?,
        None => json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}),
    };
    let listed = index.get_mut("manifests").and_then(Value::as_array_mut);
    let listed = listed.ok_or("it is not an index")?;
    let has =
        |listed: &[Value], entry: &Value| listed.iter().any(|it| it["digest"] == entry["digest"]);
    if entries.iter().all(|entry| has(listed, entry)) {
        return Ok(None);
    }
    let is_superseded = |it: &Value| {
        it["digest"]
            .as_str()
            .is_some_and(|it| superseded.contains(&it))
    };
    listed.retain(|it| !is_superseded(it));
    for entry in entries {
        if !has(listed, entry) {
            listed.push(entry.clone());
        }
    }
    let index = json_bytes(&index).map_err(|error| error.message())?;
    Ok(Some(index))
}

/// cosign's manifest of attestations with these envelopes, each with the type of its predicate, and without the replaced ones; and the
/// configuration that it names. `None` if it has all envelopes, as [`with_entries`].
///
/// # Errors
/// What is there is not a manifest.
pub fn with_envelopes(
    manifest: Option<&[u8]>,
    envelopes: &[(Blob, &str)],
    is_replaced: impl Fn(&str) -> bool,
) -> Result<Option<(Blob, Blob)>, String> {
    let mut layers: Vec<Value> = match manifest {
        Some(bytes) => {
            let mut manifest: Value =
                serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            match manifest.get_mut("layers").map(Value::take) {
                Some(Value::Array(layers)) => layers,
                _ => return Err("it is not a manifest".to_owned()),
            }
        }
        None => Vec::new(),
    };
    let has = |layers: &[Value], envelope: &Blob| {
        layers.iter().any(|it| it["digest"] == envelope.digest())
    };
    if envelopes.iter().all(|(envelope, _)| has(&layers, envelope)) {
        return Ok(None);
    }
    layers.retain(|layer| !layer["digest"].as_str().is_some_and(&is_replaced));
    for (envelope, predicate) in envelopes {
        if has(&layers, envelope) {
            continue;
        }
        let mut layer = envelope.descriptor();
        layer["annotations"] = json!({
            "dev.cosignproject.cosign/signature": "",
            LEGACY_PREDICATE_TYPE: predicate,
        });
        layers.push(layer);
    }
    let digests: Vec<&Value> = layers.iter().map(|it| &it["digest"]).collect();
    let config = json!({
        "architecture": "", "os": "", "config": {},
        "rootfs": {"type": "layers", "diff_ids": digests},
    });
    let config = Blob::new(CONFIG, json_bytes(&config).map_err(|it| it.message())?);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config.descriptor(), "layers": layers,
    });
    let manifest = json_bytes(&manifest).map_err(|it| it.message())?;
    Ok(Some((Blob::new(MANIFEST, manifest), config)))
}

/// The artifacts in a list of referrers that may be statements with these predicates. The type in the list may be that of the
/// configuration: cosign writes it so.
pub fn candidates<'i>(index: &'i ImageIndex, predicates: &[&str]) -> Vec<&'i Descriptor> {
    let is_candidate = |entry: &&Descriptor| {
        let kind = entry.artifact_type().as_ref().map(ToString::to_string);
        let is_bundle = matches!(kind.as_deref(), None | Some(BUNDLE | EMPTY_TYPE));
        is_bundle && may_say(entry.annotations().as_ref(), predicates)
    };
    index.manifests().iter().filter(is_candidate).collect()
}

/// The layers of a manifest that may be statements with these predicates: that of a bundle, and those of cosign's manifest of attestations.
pub fn statements<'m>(
    manifest: &'m ImageManifest,
    predicates: &'m [&str],
) -> impl Iterator<Item = &'m Descriptor> {
    let of_all = may_say(manifest.annotations().as_ref(), predicates);
    manifest.layers().iter().filter(move |layer| {
        let kind = layer.media_type().to_string();
        of_all
            && [BUNDLE, ENVELOPE].contains(&kind.as_str())
            && may_say(layer.annotations().as_ref(), predicates)
    })
}

/// Whether annotations name one of these predicates, or none at all.
fn may_say(annotations: Option<&HashMap<String, String>>, predicates: &[&str]) -> bool {
    predicate_of(annotations).is_none_or(|it| predicates.contains(&it))
}

/// The predicate that annotations name.
pub fn predicate_of(annotations: Option<&HashMap<String, String>>) -> Option<&str> {
    let named = annotations.and_then(|it| {
        it.get(PREDICATE_TYPE)
            .or_else(|| it.get(LEGACY_PREDICATE_TYPE))
    });
    named.map(String::as_str)
}

fn json_bytes(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::output("the manifest", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_put_under_a_tag_is_an_error() {
        for text in [
            "\"#\"",
            "[]",
            "1",
            "{}",
            "{\"manifests\": {}, \"layers\": 1}",
            "",
            "\0",
        ] {
            let bytes = Some(text.as_bytes());
            assert!(with_entries(bytes, &[], &[]).is_err(), "{text}");
            assert!(with_envelopes(bytes, &[], |_| false).is_err(), "{text}");
        }
    }
}
