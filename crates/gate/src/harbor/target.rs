//! What a request of Harbor asks for, checked.

use chrono::Utc;
use reqwest::Url;

use super::scans::Scan;
use super::types::{CONSUMED, Capability, CapabilityKind, ScanRequest};
use crate::images::{named, stored};
use crate::object::Object;
use crate::setup::View;
use imgcheck_base::excerpt::{shortened, without_controls};

/// Maximum length of a value in a message, in characters.
const SHOWN: usize = 100;

/// Whether this scanner can produce the requested report for the requested artifact.
///
/// # Errors
/// Says what it cannot.
pub fn is_capable(request: &ScanRequest) -> Result<(), String> {
    let mut wanted = request.enabled_capabilities.iter().flatten().peekable();
    let is_ours = |it: &Object<Capability>| it.0.kind == CapabilityKind::Vulnerability;
    if wanted.peek().is_some() && !wanted.any(is_ours) {
        return Err("`enabled_capabilities` does not contain `vulnerability`, the only capability of this scanner".to_owned());
    }
    let media_type = request.artifact.mime_type.as_str();
    if !media_type.is_empty() && !CONSUMED.contains(&media_type) {
        let given = shown(media_type);
        return Err(format!(
            "`artifact.mime_type` is `{given}`, which is not the manifest of an image"
        ));
    }
    Ok(())
}

/// The requested scan.
///
/// # Errors
/// Says which field is invalid.
pub fn scan(request: ScanRequest, view: &View) -> Result<Scan, String> {
    let artifact = &request.artifact;
    let read = request.registry.authorization.credentials();
    read.map_err(|problem| format!("`registry.authorization` {problem}"))?;
    let registry = registry(&request.registry.url)?;
    let name = stored(&registry, &artifact.repository, &artifact.digest, view)
        .map_err(|unresolved| unresolved.problem)?;
    let registry = name.registry.unwrap_or_default();
    let repository = format!("{registry}/{}", name.repository);
    if !artifact.tag.is_empty() {
        let tagged = format!("{repository}:{}", artifact.tag);
        let name = named(&tagged, view).map_err(|unresolved| unresolved.problem)?;
        if name.tag.as_deref() != Some(&artifact.tag) || name.digest.is_some() {
            return Err(format!(
                "`artifact.tag` `{}` is not a tag",
                shown(&artifact.tag)
            ));
        }
    }
    Ok(Scan::new(request, repository, Utc::now().timestamp()))
}

/// The registry of a URL, as references name it.
fn registry(url: &str) -> Result<String, String> {
    let refuse = |why: &str| Err(format!("`registry.url` `{}` {why}", shown(url)));
    let Ok(parsed) = Url::parse(url) else {
        return refuse("is not a URL");
    };
    if !["http", "https"].contains(&parsed.scheme()) {
        return refuse("does not begin with https:// or http://");
    }
    let is_bare = parsed.path() == "/" && parsed.query().is_none() && parsed.fragment().is_none();
    if !is_bare || !parsed.username().is_empty() || parsed.password().is_some() {
        return refuse("has more than a host and a port");
    }
    let host = parsed.host_str().unwrap_or_default();
    // Without a dot or a port it would be the first part of a repository of Docker Hub.
    let is_short = !host.contains('.') && host != "localhost";
    match (parsed.port(), parsed.port_or_known_default()) {
        (Some(port), _) => Ok(format!("{host}:{port}")),
        (None, Some(port)) if is_short => Ok(format!("{host}:{port}")),
        _ => Ok(host.to_owned()),
    }
}

fn shown(text: &str) -> String {
    without_controls(&shortened(text, SHOWN))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_registry_is_a_host_and_a_port() {
        for (url, expected) in [
            ("https://harbor.example", "harbor.example"),
            ("https://harbor.example:443/", "harbor.example"),
            ("https://harbor.example:8443", "harbor.example:8443"),
            ("http://core:8080", "core:8080"),
            ("http://core", "core:80"),
            ("https://core", "core:443"),
            ("http://localhost", "localhost"),
            ("http://127.0.0.1:5000", "127.0.0.1:5000"),
            ("http://[::1]:5000", "[::1]:5000"),
        ] {
            assert_eq!(registry(url).unwrap(), expected, "{url}");
        }
        for url in [
            "",
            "core",
            "oci:/etc",
            "file:///etc",
            "https://",
            "https://a.example/x",
            "https://a.example?x",
            "https://a.example#x",
            "https://user@a.example",
            "https://user:secret@a.example",
        ] {
            assert!(registry(url).is_err(), "{url}");
        }
    }
}
