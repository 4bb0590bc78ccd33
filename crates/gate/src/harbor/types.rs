//! What Harbor sends, and what describes this scanner.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::object::{Object, object};
use imgcheck_source::source::registry::Credentials;

/// The report on vulnerabilities that Harbor 2.2 and later ask for.
pub const GENERIC_REPORT: &str = "application/vnd.security.vulnerability.report; version=1.1";
/// The same report under its former name.
pub const NATIVE_REPORT: &str =
    "application/vnd.scanner.adapter.vuln.report.harbor+json; version=1.0";
/// A report in the scanner's own format.
pub const RAW_REPORT: &str = "application/vnd.scanner.adapter.vuln.report.raw";
/// The images that are scanned. Of an index Harbor sends each image.
pub const CONSUMED: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// What Harbor asks to scan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScanRequest {
    /// Where the image is.
    #[serde(deserialize_with = "object")]
    pub registry: Registry,
    /// The image.
    #[serde(deserialize_with = "object")]
    pub artifact: Artifact,
    /// What is wanted of the scanner; all that it can if absent. Go writes `null` for an empty list.
    #[serde(default, skip_serializing)]
    pub enabled_capabilities: Option<Vec<Object<Capability>>>,
}

/// The registry of an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Registry {
    /// Its address: `https://harbor.example`.
    #[serde(default)]
    pub url: String,
    /// What allows to pull the image; often empty.
    #[serde(default, skip_serializing_if = "Authorization::is_empty")]
    pub authorization: Authorization,
}

/// An image in a registry. The keys are those of the report, too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Artifact {
    /// The repository: `library/train`.
    #[serde(default)]
    pub repository: String,
    /// The digest of the manifest.
    #[serde(default)]
    pub digest: String,
    /// The tag; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// The media type of the manifest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
}

/// Something that a scanner can do. All is checked, and only the kind counts.
#[derive(Debug, Clone, Deserialize)]
pub struct Capability {
    /// What it makes.
    #[serde(rename = "type")]
    pub kind: CapabilityKind,
    #[serde(default, rename = "produces_mime_types")]
    _media_types: Option<Vec<String>>,
    #[serde(default, rename = "parameters")]
    _parameters: Option<Object<Parameters>>,
}

/// What a scanner makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityKind {
    /// A report on vulnerabilities.
    Vulnerability,
    /// A bill of materials.
    Sbom,
}

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    #[serde(default, rename = "sbom_media_types")]
    _sbom_media_types: Option<Vec<SbomMediaType>>,
}

#[derive(Debug, Clone, Deserialize)]
enum SbomMediaType {
    #[serde(rename = "application/spdx+json")]
    Spdx,
    #[serde(rename = "application/vnd.cyclonedx+json")]
    CycloneDx,
}

/// The value of a header `Authorization`, which is a secret.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Authorization(String);

impl Authorization {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user and the password in it; `None` if it is empty.
    ///
    /// # Errors
    /// The scheme is not Basic (RFC 7617), or the value is malformed.
    pub fn credentials(&self) -> Result<Option<Credentials>, &'static str> {
        if self.0.trim().is_empty() {
            return Ok(None);
        }
        let (scheme, encoded) = self.0.trim().split_once(' ').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("Basic") {
            return Err("is not of the scheme Basic, which the metadata of this scanner ask for");
        }
        let decoded = STANDARD.decode(encoded.trim()).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
        let (user, password) = pair.ok_or("is not a user and a password in Base64")?;
        Ok(Some(Credentials::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        }))
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Authorization(hidden)")
    }
}

/// This scanner, in metadata and reports.
pub fn scanner() -> Value {
    json!({"name": "imgcheck", "vendor": "imgcheck", "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_user_and_a_password_are_credentials() {
        let read = |text: &str| Authorization(text.to_owned()).credentials();
        let (user, password) = ("robot$1".to_owned(), "a:b".to_owned());
        let expected = Credentials::Password { user, password };
        assert_eq!(read("Basic cm9ib3QkMTphOmI="), Ok(Some(expected.clone())));
        assert_eq!(read("basic  cm9ib3QkMTphOmI= "), Ok(Some(expected)));
        assert_eq!(read(""), Ok(None));
        for text in [
            "Bearer x",
            "Basic",
            "Basic !",
            "Basic eA==",
            "Basic /w==",
            "x",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let text = r#"{"registry": {"url": "https://x", "authorization": "Basic c2VjcmV0"}, "artifact": {}}"#;
        let request: ScanRequest = serde_json::from_str(text).unwrap();
        assert!(!format!("{request:?}").contains("c2VjcmV0"));
    }
}
