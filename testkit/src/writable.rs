//! A registry on loopback that stores what is pushed to it, with or without the referrers API (OCI distribution specification 1.1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::interleaving::{Event, Plan, Step};
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

/// What the registry makes of `If-Match` and `If-None-Match` of a PUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditions {
    Ignored,
    Heeded,
    /// It refuses all of them.
    Misunderstood,
}

/// A registry that can be written to.
#[derive(Debug, Clone)]
pub struct Writable {
    stored: Arc<Mutex<Stored>>,
    plan: Arc<Plan>,
    has_referrers: bool,
    conditions: Conditions,
}

impl Writable {
    /// A registry that has an image already.
    pub fn new(content: Content, has_referrers: bool) -> Self {
        Writable {
            stored: Arc::new(Mutex::new(Stored {
                content,
                ..Stored::default()
            })),
            plan: Arc::default(),
            has_referrers,
            conditions: Conditions::Ignored,
        }
    }

    #[must_use]
    pub fn with_conditions(self, conditions: Conditions) -> Self {
        Writable { conditions, ..self }
    }

    /// Holds a request for the manifest with this name until something has happened to that manifest.
    pub fn hold(&self, name: &str, step: Step, until: Event) {
        self.plan.hold(name, step, until);
    }

    /// Waits until something has happened to the manifest with this name.
    pub fn wait(&self, name: &str, until: Event) {
        self.plan.wait(name, until);
    }

    /// Acts on whatever happens to the manifest with this name.
    pub fn react(&self, name: &str, action: impl Fn(&Writable, Event) + Send + Sync + 'static) {
        self.plan.react(name, action);
    }

    pub fn serve(&self) -> Server {
        let registry = self.clone();
        Server::new(move |seen| registry.answer(seen))
    }

    /// The digest under a tag.
    pub fn digest(&self, tag: &str) -> String {
        self.stored.lock().unwrap().content.tags[tag].clone()
    }

    /// The manifest under a tag.
    pub fn tagged(&self, tag: &str) -> Option<Value> {
        let stored = self.stored.lock().unwrap();
        let bytes = &stored.content.blobs[stored.content.tags.get(tag)?];
        Some(serde_json::from_slice(bytes).unwrap())
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

    /// As this registry answers, in the order of the plan.
    pub fn answer(&self, seen: &Seen) -> Answer {
        let is_put = seen.method == "PUT";
        match seen.part().split_once('/') {
            Some(("manifests", name)) if is_put || seen.method == "GET" => {
                tokio::task::block_in_place(|| self.plan.come(self, name, is_put));
                let answer = self.store(seen);
                self.plan.done(self, name, is_put);
                answer
            }
            _ => self.store(seen),
        }
    }

    /// Whether the conditions of a PUT hold.
    fn holds(&self, stored: &Stored, name: &str, seen: &Seen) -> bool {
        let current = stored.content.tags.get(name);
        let is_conditional = seen.if_match.is_some() || seen.condition.is_some();
        match self.conditions {
            Conditions::Ignored => true,
            Conditions::Misunderstood => !is_conditional,
            Conditions::Heeded => {
                let expected = seen.if_match.as_ref().map(|it| it.trim_matches('"'));
                expected.is_none_or(|it| current.is_some_and(|current| current == it))
                    && (seen.condition.is_none() || current.is_none())
            }
        }
    }

    fn store(&self, seen: &Seen) -> Answer {
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
            ("PUT", Some(("manifests", name))) => match self.holds(&stored, name, seen) {
                true => stored.put(name, seen, self.has_referrers),
                false => error(412, "DENIED", "the tag has changed"),
            },
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
                    true => with(
                        with(answer, "docker-content-digest", &digest),
                        "etag",
                        &format!("\"{digest}\""),
                    ),
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
