//! What reaches an engine on this machine: a socket on Unix, a named pipe on Windows. Only on Unix, ssh reaches an engine elsewhere.

#[cfg(unix)]
mod socket {
    use bollard::errors::Error;
    use bollard::{ClientVersion, Docker};
    use tokio::net::UnixStream;

    /// The scheme of an address on this machine.
    pub const SCHEME: &str = "unix";
    /// The supported schemes, for messages.
    pub const SCHEMES: &str = "unix://, tcp:// and ssh://";
    /// Default address of Docker.
    pub const DOCKER: &str = "unix:///var/run/docker.sock";
    /// Default address of Podman.
    pub const PODMAN: &str = "unix:///run/podman/podman.sock";

    /// A client of an engine on this machine.
    pub async fn connect(
        host: &str,
        timeout: u64,
        version: &ClientVersion,
    ) -> Result<Docker, Error> {
        // bollard reports every problem with a socket as "not found".
        let path = host.strip_prefix("unix://").unwrap_or(host);
        UnixStream::connect(path).await?;
        Docker::connect_with_unix(host, timeout, version)
    }

    /// A client of an engine behind ssh; `None` where that is not supported.
    pub fn ssh(host: &str, timeout: u64, version: &ClientVersion) -> Option<Result<Docker, Error>> {
        Some(Docker::connect_with_ssh(host, timeout, version, None))
    }
}

#[cfg(windows)]
mod pipe {
    use bollard::errors::Error;
    use bollard::{ClientVersion, Docker};

    /// The scheme of an address on this machine.
    pub const SCHEME: &str = "npipe";
    /// The supported schemes, for messages.
    pub const SCHEMES: &str = "npipe:// and tcp://";
    /// Default address of Docker Desktop.
    pub const DOCKER: &str = "npipe:////./pipe/docker_engine";
    /// Default address of Podman's machine.
    pub const PODMAN: &str = "npipe:////./pipe/podman-machine-default";

    /// A client of an engine on this machine.
    pub async fn connect(
        host: &str,
        timeout: u64,
        version: &ClientVersion,
    ) -> Result<Docker, Error> {
        Docker::connect_with_named_pipe(host, timeout, version)
    }

    /// A client of an engine behind ssh; `None` where that is not supported.
    pub fn ssh(_: &str, _: u64, _: &ClientVersion) -> Option<Result<Docker, Error>> {
        None
    }
}

#[cfg(windows)]
pub(super) use pipe::*;
#[cfg(unix)]
pub(super) use socket::*;
