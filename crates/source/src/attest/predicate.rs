//! What statements say.

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use imgcheck_base::digest::hexadecimal;
use imgcheck_base::json_schema;
use imgcheck_base::reference::name::Name;

/// The type of [`FactsPredicate`].
pub const FACTS: &str = "https://github.com/imgcheck/imgcheck/predicate/facts/v1";
/// The type of [`VerdictPredicate`].
pub const VERDICT: &str = "https://github.com/imgcheck/imgcheck/predicate/verdict/v1";
/// The type of what an image needs of a machine: the document that `imgcheck requirements --format json` prints.
pub const REQUIREMENTS: &str = "https://github.com/imgcheck/imgcheck/predicate/requirements/v1";
/// The type of a verification summary (SLSA 1.1, <https://slsa.dev/spec/v1.1/verification_summary>).
pub const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
/// The type of a bill of materials (CycloneDX).
pub const SBOM: &str = "https://cyclonedx.org/bom";
/// Who verified, in a summary.
const VERIFIER: &str = "https://github.com/imgcheck/imgcheck";

/// The program that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// `imgcheck`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Engine {
    /// This program.
    pub fn this() -> Self {
        Engine {
            name: "imgcheck".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Where the facts of an image are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactsPredicate {
    /// The program that read the image.
    pub engine: Engine,
    /// Identifies what facts are read of an image, and how: programs with the same value read the same facts.
    pub facts_version: String,
    /// The artifact in the repository of the image, by the digest of its manifest.
    pub artifact: String,
}

/// The verdict on an image, or on all images of an index.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    title = "imgcheck verdict",
    description = "The predicate https://github.com/imgcheck/imgcheck/predicate/verdict/v1 of an in-toto statement, as `imgcheck attest` writes it. Keys are only added, never renamed or removed."
)]
pub struct VerdictPredicate {
    /// The program that judged.
    pub engine: Engine,
    /// The reference whose promises were checked, in full: `docker.io/library/ubuntu:22.04`, with its digest only if it has no tag. Absent if
    /// there was none. Several tags of one digest make different promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// `os/architecture[/variant]`; absent for an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// `pass`, `incomplete` or `fail`.
    pub verdict: String,
    /// Whether everything was judged, and what was not: as `judged` in the report.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub judged: Value,
    /// The findings, as in the report. Absent for an index.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub findings: Value,
    /// The findings that the configuration or a baseline suppresses, each with the reason, as in the report; of an index, those of all its
    /// images. Absent before version 0.2.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub ignored: Value,
    /// The lowest severity that failed: `error`, `warning` or `note`. Absent before version 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<String>,
    /// The GPUs and drivers that the image must run on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The day on which the knowledge of releases was last compared with what is published: `2026-11-21`.
    pub knowledge: String,
    /// Digest of what judged: the rules, and what the configuration and the options say of severities, requirements, ignores and known
    /// findings. Absent before version 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// When it was judged (RFC 3339).
    pub judged_at: String,
    /// The images of an index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageVerdict>,
}

/// The verdict on an image of an index.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImageVerdict {
    /// `os/architecture[/variant]`.
    pub platform: String,
    /// Digest of the manifest.
    pub digest: String,
    /// `pass`, `incomplete` or `fail`.
    pub verdict: String,
}

/// The JSON Schema of [`VerdictPredicate`].
pub fn schema() -> Schema {
    json_schema::of_output::<VerdictPredicate>("verdict.json")
}

/// A reference as verdicts name it: in full, with its digest only if it has no tag.
///
/// ```
/// use imgcheck_source::attest::predicate::judged_reference;
///
/// assert_eq!(judged_reference("ubuntu"), "docker.io/library/ubuntu:latest");
/// ```
pub fn judged_reference(reference: &str) -> String {
    let Ok(name) = reference.parse::<Name>() else {
        return reference.to_owned();
    };
    let name = name.canonical();
    let digest = name.digest.filter(|_| name.tag.is_none());
    Name { digest, ..name }.to_string()
}

/// A verification summary: what policy engines understand that do not know imgcheck.
pub fn summary(resource: &str, rules: &str, passes: bool, at: DateTime<Utc>) -> Value {
    let (result, level) = match passes {
        true => ("PASSED", "IMGCHECK_PASS"),
        false => ("FAILED", "FAILED"),
    };
    json!({
        "verifier": {"id": VERIFIER, "version": {"imgcheck": env!("CARGO_PKG_VERSION")}},
        "timeVerified": time(at),
        "resourceUri": resource,
        "policy": {"uri": VERIFIER, "digest": {"sha256": hexadecimal(rules).unwrap_or_default()}},
        "verificationResult": result,
        "verifiedLevels": [level],
    })
}

/// A time as statements write it.
pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
