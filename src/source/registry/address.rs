//! Where the repository of a reference is reached: its registry, or a mirror of it.

use std::net::IpAddr;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::reference::name::Name;

/// The Hub answers under another name than the one in references.
const HUB: &str = "docker.io";
const HUB_HOST: &str = "registry-1.docker.io";

/// Another registry that is asked first: `REGISTRY=[http[s]://]HOST[:PORT][/PREFIX]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The registry that it stands in for, as in references.
    pub registry: String,
    /// The scheme that was written.
    scheme: Option<&'static str>,
    /// Host and perhaps port.
    host: String,
    /// What stands before the repository there, with a slash, or nothing.
    prefix: String,
}

impl FromStr for Mirror {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::Usage {
            problem: format!("`{text}` is not a mirror"),
            help: Some(
                "write REGISTRY=HOST[:PORT][/PREFIX], as in docker.io=mirror.example/hub"
                    .to_owned(),
            ),
        };
        let (registry, place) = text.split_once('=').ok_or_else(refuse)?;
        let (scheme, place) = match place.split_once("://") {
            None => (None, place),
            Some(("https", rest)) => (Some("https"), rest),
            Some(("http", rest)) => (Some("http"), rest),
            Some(_) => return Err(refuse()),
        };
        let place = place.trim_end_matches('/');
        // Both must be the beginning of a reference.
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
    /// The registry as in references; credentials are kept under this name.
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

    /// The same repository on a mirror.
    pub fn on(&self, mirror: &Mirror) -> Self {
        Address {
            registry: mirror.host.clone(),
            repository: format!("{}{}", mirror.prefix, self.repository),
            host: mirror.host.clone(),
            scheme: mirror.scheme,
        }
    }

    /// The beginnings of URLs to be tried in turn. Plain HTTP is tried only where nobody listens between the two, or where
    /// the user says so.
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

/// Whether the host is this machine.
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
    fn the_hub_has_another_host() {
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
    fn only_this_machine_may_speak_plain_http() {
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
    fn what_is_no_mirror_is_refused() {
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
