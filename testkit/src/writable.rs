//! A registry on loopback that stores what is pushed to it, with or without the referrers API (OCI distribution specification 1.1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::registry::{Answer, Content, Seen, Server, error, respond, with};
use crate::sha256;

/// What the registry has: blobs and manifests by digest, digests by tag.
#[derive(Debug, Default)]
struct Stored {
    content: Content,
    types: BTreeMap<String, String>,
    /// Digests of manifests.
    manifests: Vec<String>,
}

/// A registry that can be written to.
#[derive(Clone)]
pub struct Writable {
    stored: Arc<Mutex<Stored>>,
    has_referrers: bool,
}

impl Writable {
    /// A registry that has an image already.
    pub fn new(content: Content, has_referrers: bool) -> Self {
        Writable {
            stored: Arc::new(Mutex::new(Stored {
                content,
                ..Stored::default()
            })),
            has_referrers,
        }
    }

    pub fn serve(&self) -> Server {
        let registry = self.clone();
        Server::new(move |seen| registry.answer(seen))
    }

    /// The digest under a tag.
    pub fn digest(&self, tag: &str) -> String {
        self.stored.lock().unwrap().content.tags[tag].clone()
    }

    /// All manifests that were pushed, by digest.
    pub fn pushed(&self) -> BTreeMap<String, Value> {
        let stored = self.stored.lock().unwrap();
        let manifest = |digest: &String| {
            let bytes = &stored.content.blobs[digest];
            (digest.clone(), serde_json::from_slice(bytes).unwrap())
        };
        stored.manifests.iter().map(manifest).collect()
    }

    /// The bytes of a blob.
    pub fn blob(&self, digest: &str) -> Vec<u8> {
        self.stored.lock().unwrap().content.blobs[digest].clone()
    }

    /// Puts a document under a tag, as a stranger would.
    pub fn put(&self, tag: &str, document: impl Into<Vec<u8>>) -> String {
        let mut stored = self.stored.lock().unwrap();
        let digest = stored.content.tag(tag, document);
        stored.manifests.push(digest.clone());
        digest
    }

    /// Adds a blob, as a stranger would.
    pub fn put_blob(&self, bytes: &[u8]) -> String {
        let digest = sha256(bytes);
        let mut stored = self.stored.lock().unwrap();
        stored.content.blobs.insert(digest.clone(), bytes.to_vec());
        digest
    }

    /// Replaces a blob by other bytes under the same digest.
    pub fn spoil(&self, digest: &str, bytes: &[u8]) {
        let mut stored = self.stored.lock().unwrap();
        stored
            .content
            .blobs
            .insert(digest.to_owned(), bytes.to_vec());
    }

    fn answer(&self, seen: &Seen) -> Answer {
        let mut stored = self.stored.lock().unwrap();
        match (seen.method.as_str(), seen.part().split_once('/')) {
            ("POST", Some(("blobs", "uploads/"))) => with(
                respond(202, ""),
                "location",
                "/v2/team/image/blobs/uploads/1?state=x",
            ),
            ("PUT", Some(("blobs", _))) => {
                let digest = sha256(&seen.bytes);
                if !seen.query.contains(&digest.replace(':', "%3A")) {
                    return error(400, "DIGEST_INVALID", "the digest is another");
                }
                stored.content.blobs.insert(digest, seen.bytes.to_vec());
                respond(201, "")
            }
            ("PUT", Some(("manifests", name))) => stored.put(name, seen, self.has_referrers),
            ("DELETE", Some(("manifests", digest))) => {
                stored.manifests.retain(|it| it != digest);
                stored.content.blobs.remove(digest);
                respond(202, "")
            }
            ("GET", Some(("referrers", digest))) if self.has_referrers => with(
                respond(200, stored.referrers(digest).to_string()),
                "content-type",
                "application/vnd.oci.image.index.v1+json",
            ),
            ("GET" | "HEAD", Some(("manifests", name))) => {
                let digest = stored.content.tags.get(name).cloned();
                let digest = digest.unwrap_or_else(|| name.to_owned());
                let kind = stored.types.get(&digest).cloned();
                let kind =
                    kind.unwrap_or_else(|| "application/vnd.oci.image.manifest.v1+json".to_owned());
                let answer = with(stored.content.answer(seen), "content-type", &kind);
                match answer.status().is_success() {
                    true => with(answer, "docker-content-digest", &digest),
                    false => answer,
                }
            }
            _ => stored.content.answer(seen),
        }
    }
}

impl Stored {
    fn put(&mut self, name: &str, seen: &Seen, has_referrers: bool) -> Answer {
        let Ok(manifest) = serde_json::from_slice::<Value>(&seen.bytes) else {
            return error(400, "MANIFEST_INVALID", "not JSON");
        };
        let named = [&manifest["config"]].into_iter();
        let named = named.chain(manifest["layers"].as_array().into_iter().flatten());
        for blob in named.filter_map(|it| it["digest"].as_str()) {
            if !self.content.blobs.contains_key(blob) {
                return error(404, "MANIFEST_BLOB_UNKNOWN", blob);
            }
        }
        let digest = sha256(&seen.bytes);
        self.content
            .blobs
            .insert(digest.clone(), seen.bytes.to_vec());
        self.types.insert(digest.clone(), seen.content_type.clone());
        if !self.manifests.contains(&digest) {
            self.manifests.push(digest.clone());
        }
        if !name.starts_with("sha256:") {
            self.content.tags.insert(name.to_owned(), digest);
        }
        let answer = respond(201, "");
        match manifest["subject"]["digest"].as_str() {
            Some(subject) if has_referrers => with(answer, "oci-subject", subject),
            _ => answer,
        }
    }

    fn referrers(&self, digest: &str) -> Value {
        let entries = self.manifests.iter().filter_map(|referrer| {
            let bytes = &self.content.blobs[referrer];
            let manifest: Value = serde_json::from_slice(bytes).unwrap();
            (manifest["subject"]["digest"] == digest).then(|| {
                json!({
                    "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "digest": referrer,
                    "size": bytes.len(),
                    "artifactType": manifest["artifactType"],
                    "annotations": manifest["annotations"],
                })
            })
        });
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": entries.collect::<Vec<_>>(),
        })
    }
}
