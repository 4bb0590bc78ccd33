//! Where an engine may listen, in the order of its own client.

use std::path::PathBuf;

use super::Engine;
use super::context::{Contexts, Tls};
use crate::error::{Error, Result};

/// A value of the environment; an empty one counts as none.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

const DOCKER_SOCKET: &str = "/var/run/docker.sock";
const PODMAN_SOCKET: &str = "/run/podman/podman.sock";

/// One place to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// `unix://PATH`, `tcp://HOST:PORT`, `ssh://USER@HOST`.
    pub host: String,
    /// Who says so: `DOCKER_HOST`, a context; `None` for the usual places.
    pub origin: Option<String>,
    /// The certificates, where TLS is used.
    pub tls: Option<Tls>,
}

impl Address {
    fn usual(socket: impl std::fmt::Display) -> Self {
        Address {
            host: format!("unix://{socket}"),
            origin: None,
            tls: None,
        }
    }

    /// The socket, of an engine that listens on one.
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

/// The places where the engine may listen. What the user chose is the only one; else the usual ones, best first.
pub(super) fn addresses(engine: Engine, variable: Variable) -> Result<Vec<Address>> {
    match engine {
        Engine::Docker => docker(variable),
        Engine::Podman => Ok(podman(variable)),
    }
}

/// As the command `docker` chooses: `DOCKER_HOST`, then `DOCKER_CONTEXT`, then the context that `docker context use` set.
fn docker(variable: Variable) -> Result<Vec<Address>> {
    let contexts = Contexts::of(variable);
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
    let runtime = variable("XDG_RUNTIME_DIR").map(|directory| format!("{directory}/docker.sock"));
    let home = variable("HOME").map(|home| format!("{home}/.docker/run/docker.sock"));
    let rootless = runtime.into_iter().chain(home).map(Address::usual);
    Ok(std::iter::once(Address::usual(DOCKER_SOCKET))
        .chain(rootless)
        .collect())
}

/// A user's own Podman before the one of the system, as `podman --remote` looks for them.
fn podman(variable: Variable) -> Vec<Address> {
    if let Some(host) = variable("CONTAINER_HOST") {
        return vec![chosen(&host, "CONTAINER_HOST".to_owned(), None)];
    }
    variable("XDG_RUNTIME_DIR")
        .map(|directory| Address::usual(format!("{directory}/podman/podman.sock")))
        .into_iter()
        .chain([Address::usual(PODMAN_SOCKET)])
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

/// No address could be found out.
pub(super) fn misconfigured(subject: String, problem: String) -> Error {
    Error::config(format!("{subject}: {problem}")).with_help(
        "see `docker context ls`, or say where the engine listens: DOCKER_HOST=unix:///var/run/docker.sock",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hosts(engine: Engine, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let addresses = addresses(engine, &variable).unwrap();
        addresses.iter().map(Address::to_string).collect()
    }

    #[test]
    fn the_usual_sockets() {
        let variables = [
            ("XDG_RUNTIME_DIR", "/run/user/7"),
            ("HOME", "/home/no-such-user"),
        ];
        assert_eq!(
            hosts(Engine::Docker, &variables),
            [
                "unix:///var/run/docker.sock",
                "unix:///run/user/7/docker.sock",
                "unix:///home/no-such-user/.docker/run/docker.sock"
            ]
        );
        assert_eq!(
            hosts(Engine::Podman, &variables),
            [
                "unix:///run/user/7/podman/podman.sock",
                "unix:///run/podman/podman.sock"
            ]
        );
        assert_eq!(
            hosts(Engine::Podman, &[]),
            ["unix:///run/podman/podman.sock"]
        );
    }

    #[test]
    fn what_the_user_chose_is_the_only_place() {
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
            assert_eq!(hosts(Engine::Docker, &variables), [host]);
        }
        assert_eq!(
            hosts(Engine::Podman, &[("CONTAINER_HOST", "unix:///tmp/x.sock")]),
            ["unix:///tmp/x.sock (CONTAINER_HOST)"]
        );
    }
}
