//! A claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that an image claims about itself, with the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it is about: `torch`, `cuda`, `cudnn`, `python`, `os`, `flavour`, `device` …
    pub subject: String,
    /// The version, with exactly the components of the text: `cu118` is `11.8`, `py3` is `3`.
    pub version: String,
    /// Where the text is: `tag`, `repository`, `label`, `env`, `sbom`.
    pub origin: String,
    /// The text: `v2.9`.
    pub text: String,
    /// The document that has the text, for an SBOM beside the image: `CycloneDX by trivy 0.59.1, sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}
