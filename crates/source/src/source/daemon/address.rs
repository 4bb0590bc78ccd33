//! The addresses of container engines, in the order of their own clients.

use std::path::PathBuf;

use super::context::{Contexts, Tls, Variable};
use super::kind::EngineKind;
use super::local;
use imgcheck_base::error::Result;

/// The address of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// `unix://PATH`, `npipe://PATH`, `tcp://HOST:PORT`, `ssh://USER@HOST`.
    pub host: String,
    /// What chose it: `DOCKER_HOST`, a context; `None` for a default socket.
    pub origin: Option<String>,
    /// The certificates, if TLS is used.
    pub tls: Option<Tls>,
}

impl Address {
    fn default(host: String) -> Self {
        Address {
            host,
            origin: None,
            tls: None,
        }
    }

    /// The path of a Unix socket.
    pub fn socket(&self) -> Option<PathBuf> {
        self.host.strip_prefix("unix://").map(PathBuf::from)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.host)?;
        self.origin
            .as_ref()
            .map_or(Ok(()), |origin| write!(f, " ({origin})"))
    }
}

/// The address that the user chose, else the default sockets, best first.
pub(super) fn addresses(kind: EngineKind, variable: Variable) -> Result<Vec<Address>> {
    match kind {
        EngineKind::Docker => docker(variable),
        EngineKind::Podman => Ok(podman(variable)),
    }
}

/// As the command `docker`: `DOCKER_HOST`, then `DOCKER_CONTEXT`, then the context of `docker context use`.
fn docker(variable: Variable) -> Result<Vec<Address>> {
    let contexts = Contexts::new(variable);
    if let Some(host) = variable("DOCKER_HOST") {
        let tls = variable("DOCKER_TLS_VERIFY").map(|_| {
            let directory = variable("DOCKER_CERT_PATH").map(PathBuf::from);
            Tls::in_directory(&directory.unwrap_or_else(|| contexts.configuration.clone()))
        });
        return Ok(vec![chosen(&host, "DOCKER_HOST".to_owned(), tls)]);
    }
    if let Some(name) = contexts.current(variable)? {
        let (host, tls) = contexts.endpoint(&name)?;
        return Ok(vec![chosen(&host, format!("context {name}"), tls)]);
    }
    let own = |name: &str, below: &str| Some(format!("unix://{}{below}", variable(name)?));
    let sockets = [
        own("XDG_RUNTIME_DIR", "/docker.sock"),
        own("HOME", "/.docker/run/docker.sock"),
    ];
    let rootless = sockets.into_iter().flatten().filter(|_| cfg!(unix));
    Ok(std::iter::once(local::DOCKER.to_owned())
        .chain(rootless)
        .map(Address::default)
        .collect())
}

/// As `podman --remote`: the Podman of the user before that of the system.
fn podman(variable: Variable) -> Vec<Address> {
    if let Some(host) = variable("CONTAINER_HOST") {
        return vec![chosen(&host, "CONTAINER_HOST".to_owned(), None)];
    }
    variable("XDG_RUNTIME_DIR")
        .map(|directory| format!("unix://{directory}/podman/podman.sock"))
        .into_iter()
        .chain([local::PODMAN.to_owned()])
        .map(Address::default)
        .collect()
}

fn chosen(host: &str, origin: String, tls: Option<Tls>) -> Address {
    let host = match host.split_once("://") {
        None => format!("tcp://{host}"),
        Some(("http", rest)) => format!("tcp://{rest}"),
        Some(("https", rest)) if tls.is_some() => format!("tcp://{rest}"),
        Some(_) => host.to_owned(),
    };
    Address {
        host,
        origin: Some(origin),
        tls,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hosts(kind: EngineKind, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let addresses = addresses(kind, &variable).unwrap();
        addresses.iter().map(Address::to_string).collect()
    }

    #[test]
    fn default_sockets() {
        let variables = [
            ("XDG_RUNTIME_DIR", "/run/user/7"),
            ("HOME", "/home/no-such-user"),
        ];
        assert_eq!(
            hosts(EngineKind::Docker, &variables),
            [
                "unix:///var/run/docker.sock",
                "unix:///run/user/7/docker.sock",
                "unix:///home/no-such-user/.docker/run/docker.sock"
            ]
        );
        assert_eq!(
            hosts(EngineKind::Podman, &variables),
            [
                "unix:///run/user/7/podman/podman.sock",
                "unix:///run/podman/podman.sock"
            ]
        );
        assert_eq!(
            hosts(EngineKind::Podman, &[]),
            ["unix:///run/podman/podman.sock"]
        );
    }

    #[test]
    fn a_chosen_address_is_the_only_one() {
        for (value, host) in [
            ("unix:///tmp/x.sock", "unix:///tmp/x.sock (DOCKER_HOST)"),
            ("10.0.0.1:2375", "tcp://10.0.0.1:2375 (DOCKER_HOST)"),
            ("http://10.0.0.1:2375", "tcp://10.0.0.1:2375 (DOCKER_HOST)"),
            ("ssh://me@there", "ssh://me@there (DOCKER_HOST)"),
        ] {
            let variables = [
                ("DOCKER_HOST", value),
                ("DOCKER_CONTEXT", "no-such-context"),
            ];
            assert_eq!(hosts(EngineKind::Docker, &variables), [host]);
        }
        assert_eq!(
            hosts(
                EngineKind::Podman,
                &[("CONTAINER_HOST", "unix:///tmp/x.sock")]
            ),
            ["unix:///tmp/x.sock (CONTAINER_HOST)"]
        );
    }
}
