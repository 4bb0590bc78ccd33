//! AdmissionReview, `admission.k8s.io/v1` (kubernetes/api, admission/v1/types.go).
//!
//! The types are written by hand: a dozen fields are needed, objects stay JSON, and kube-core would bring the types of all of
//! Kubernetes into a build that talks to no API server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The only version that is answered.
const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Maximum length of an audit annotation, in characters.
pub(super) const ANNOTATION: usize = 1000;

/// What the API server sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    api_version: String,
    kind: String,
    request: Option<AdmissionRequest>,
}

/// The question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// Identifies the question; the answer repeats it.
    pub uid: String,
    /// What is changed: `{group: "", version: v1, resource: pods}`.
    #[serde(default)]
    pub resource: Resource,
    /// The subresource: `ephemeralcontainers`; empty for the object itself.
    #[serde(default)]
    pub sub_resource: String,
    /// The namespace; empty for objects of the whole cluster.
    #[serde(default)]
    pub namespace: String,
    /// The name; empty if the API server generates it.
    #[serde(default)]
    pub name: String,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub operation: String,
    /// Who asks.
    #[serde(default)]
    pub user_info: UserInfo,
    /// The object as it would be stored.
    #[serde(default)]
    pub object: Value,
    /// The object as it is stored; null for a new one.
    #[serde(default)]
    pub old_object: Value,
    /// Nothing will be stored, so the answer must have no side effect.
    #[serde(default)]
    pub dry_run: Option<bool>,
}

/// A kind of object, as in URLs of the API.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Resource {
    /// The API group; empty for the core.
    #[serde(default)]
    pub group: String,
    /// The resource: `pods`.
    #[serde(default)]
    pub resource: String,
}

/// Who asks.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct UserInfo {
    /// The user name.
    #[serde(default)]
    pub username: String,
    /// The groups of the user.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl UserInfo {
    /// Whether a node asks (Kubernetes, "Using Node Authorization").
    pub fn is_node(&self) -> bool {
        let is_node = self.username.starts_with("system:node:");
        is_node && self.groups.iter().any(|it| it == "system:nodes")
    }
}

/// The answer, in its envelope.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    api_version: &'static str,
    kind: &'static str,
    /// The answer itself.
    pub response: AdmissionResponse,
}

/// The answer.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionResponse {
    /// The question that is answered.
    pub uid: String,
    /// Whether the object may be stored.
    pub allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// What the person at the keyboard sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the audit log of the cluster keeps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<&'static str, String>,
    /// A JSON Patch (RFC 6902) in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// `JSONPatch` if there is a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<&'static str>,
}

/// Why an object may not be stored.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The HTTP status that the user gets.
    pub code: u16,
    /// The reason as a word: `Forbidden`.
    pub reason: &'static str,
    /// The reason as text.
    pub message: String,
}

impl AdmissionRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// It is not an AdmissionReview of version v1 with a request; one sentence says why.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let envelope: Envelope = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not an AdmissionReview: {error}"))?;
        if envelope.kind != KIND || envelope.api_version != VERSION {
            return Err(format!(
                "the body is not an AdmissionReview of {VERSION}: its apiVersion and kind are different"
            ));
        }
        let request = envelope.request;
        let request = request.ok_or("the AdmissionReview has no request")?;
        match request.uid.is_empty() {
            true => Err("the request of the AdmissionReview has no uid".to_owned()),
            false => Ok(request),
        }
    }

    /// Whether nothing will be stored.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run.unwrap_or_default()
    }

    /// Whether it is about a Pod or one of its subresources.
    pub fn is_pod(&self) -> bool {
        self.resource.group.is_empty() && self.resource.resource == "pods"
    }
}

impl From<AdmissionResponse> for Answer {
    fn from(response: AdmissionResponse) -> Self {
        Answer {
            api_version: VERSION,
            kind: KIND,
            response,
        }
    }
}
