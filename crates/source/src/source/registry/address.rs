//! The address of a repository: its registry, or a mirror of it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use super::host_certificates;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;

/// Docker Hub in references, and its host name.
const HUB: &str = "docker.io";
const HUB_HOST: &str = "registry-1.docker.io";

/// A registry to ask before another one: `REGISTRY=[http[s]://]HOST[:PORT][/PREFIX]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The registry that it mirrors, as in references.
    pub registry: String,
    /// The scheme, if it was given.
    scheme: Option<&'static str>,
    /// `HOST[:PORT]`.
    host: String,
    /// What precedes the repository there: empty, or ending in a slash.
    prefix: String,
}

impl FromStr for Mirror {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::usage(format!("`{text}` is not a mirror")).with_help(
                "write REGISTRY=HOST[:PORT][/PREFIX], as in docker.io=mirror.example/hub",
            )
        };
        let (registry, place) = text.split_once('=').ok_or_else(refuse)?;
        let (scheme, place) = match place.split_once("://") {
            None => (None, place),
            Some(("https", rest)) => (Some("https"), rest),
            Some(("http", rest)) => (Some("http"), rest),
            Some(_) => return Err(refuse()),
        };
        let place = place.trim_end_matches('/');
        // Both must be the start of a valid reference.
        let registry = registry_of(&format!("{registry}/x")).ok_or_else(refuse)?;
        let whole = format!("{place}/x").parse::<Name>().map_err(|_| refuse())?;
        let host = whole.registry.ok_or_else(refuse)?;
        let prefix = whole.repository.strip_suffix('x').unwrap_or_default();
        Ok(Mirror {
            registry,
            scheme,
            host,
            prefix: prefix.to_owned(),
        })
    }
}

fn registry_of(reference: &str) -> Option<String> {
    let name: Name = reference.parse().ok()?;
    name.registry.as_ref()?;
    name.canonical().registry
}

/// A repository on a host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Address {
    /// The registry as in references; configuration files list credentials under this name.
    pub registry: String,
    /// The path of the repository.
    pub repository: String,
    host: String,
    scheme: Option<&'static str>,
}

impl Address {
    /// The repository of a canonical name.
    pub fn of(name: &Name) -> Self {
        let registry = name.registry.clone().unwrap_or_default();
        let host = if registry == HUB { HUB_HOST } else { &registry };
        Address {
            host: host.to_owned(),
            repository: name.repository.clone(),
            scheme: None,
            registry,
        }
    }

    /// A registry as a whole, such as `nvcr.io` or `docker.io`.
    pub fn of_registry(registry: &str) -> Self {
        Address::of(&Name {
            registry: Some(registry.to_owned()),
            repository: String::new(),
            tag: None,
            digest: None,
        })
    }

    /// The same repository on a mirror.
    pub fn on(&self, mirror: &Mirror) -> Self {
        Address {
            registry: mirror.host.clone(),
            repository: format!("{}{}", mirror.prefix, self.repository),
            host: mirror.host.clone(),
            scheme: mirror.scheme,
        }
    }

    /// The directories of this machine with certificates for the host.
    pub fn certificate_directories(&self) -> Vec<PathBuf> {
        host_certificates::directories(&self.host)
    }

    /// The starts of URLs to be tried in turn. Plain HTTP is tried only on this machine, or where the user allows it.
    pub fn bases(&self, insecure: bool) -> Vec<String> {
        let schemes = match self.scheme {
            Some("http") => &["http"][..],
            Some(_) => &["https"],
            None if insecure || is_loopback(&self.host) => &["https", "http"],
            None => &["https"],
        };
        schemes
            .iter()
            .map(|scheme| format!("{scheme}://{}/v2/", self.host))
            .collect()
    }
}

/// Whether the host is a loopback address.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(reference: &str) -> Address {
        Address::of(&reference.parse::<Name>().unwrap().canonical())
    }

    #[test]
    fn docker_hub_has_a_different_host_name() {
        assert_eq!(
            address("busybox").bases(false),
            ["https://registry-1.docker.io/v2/"]
        );
        assert_eq!(address("busybox").repository, "library/busybox");
        assert_eq!(
            address("nvcr.io/nvidia/cuda").bases(false),
            ["https://nvcr.io/v2/"]
        );
    }

    #[test]
    fn plain_http_is_only_for_loopback_addresses() {
        for reference in [
            "localhost/x",
            "localhost:5000/x",
            "127.0.0.1:5000/x",
            "[::1]:5000/x",
        ] {
            assert_eq!(address(reference).bases(false).len(), 2, "{reference}");
        }
        for reference in ["localhost.example/x", "10.0.0.1:5000/x", "[::2]:5000/x"] {
            assert_eq!(address(reference).bases(false).len(), 1, "{reference}");
            assert_eq!(address(reference).bases(true).len(), 2, "{reference}");
        }
    }

    #[test]
    fn a_mirror_may_have_a_prefix_and_a_scheme() {
        let hub = address("busybox");
        let on = |mirror: &str| hub.on(&mirror.parse().unwrap());
        assert_eq!(on("docker.io=m.example").repository, "library/busybox");
        let far = on("index.docker.io=http://m.example:5000/hub/");
        assert_eq!(far.repository, "hub/library/busybox");
        assert_eq!(far.bases(false), ["http://m.example:5000/v2/"]);
        assert_eq!(far.registry, "m.example:5000");
    }

    #[test]
    fn invalid_mirrors_are_rejected() {
        for text in [
            "",
            "docker.io",
            "docker.io=",
            "=m.example",
            "docker.io=ftp://m.example",
            "hub=m.example",
            "docker.io=mirror",
        ] {
            let error = text.parse::<Mirror>().unwrap_err();
            assert_eq!(error.exit_code(), 2, "{text}");
        }
    }
}
