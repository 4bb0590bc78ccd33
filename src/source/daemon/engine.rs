//! The conversation with an engine, through bollard. It asks, and never creates, starts or changes anything.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bollard::models::{ImageHistoryResponseItem, ImageInspect, SystemInfo};
use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker};
use tokio::runtime::{Builder, Runtime};

use super::address::Address;
use crate::tls;

/// An engine on this machine answers at once, one behind ssh within seconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// An engine that works on other images is slow to tell of one.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(60);

/// Seconds until an answer begins. An engine packs an image of 7 GB for 80 seconds before it sends the first byte.
const ANSWER_TIMEOUT: u64 = 3600;

/// An engine that answers.
#[derive(Debug)]
pub(super) struct Engine {
    runtime: Runtime,
    docker: Docker,
    /// Where it listens.
    pub address: Address,
}

/// What was wrong when something was asked.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It has no such thing.
    NotFound,
    /// Anything else, in one sentence.
    Failed(String),
}

impl Engine {
    /// Connects and agrees on a version. An error says why there is no engine to talk with.
    pub fn connect(address: &Address) -> Result<Self, String> {
        let runtime = runtime().map_err(|error| error.to_string())?;
        let docker = {
            // hyper's clients want to be made inside a runtime.
            let _inside = runtime.enter();
            client(address)?
        };
        let negotiation = docker.negotiate_version();
        let docker = runtime
            .block_on(async { tokio::time::timeout(CONNECT_TIMEOUT, negotiation).await })
            .map_err(|_| format!("no answer within {} seconds", CONNECT_TIMEOUT.as_secs()))?
            .map_err(|error| describe(&error))?;
        Ok(Engine {
            runtime,
            docker,
            address: address.clone(),
        })
    }

    /// Whether the engine speaks this version of the interface or a later one.
    pub fn speaks(&self, major: usize, minor: usize) -> bool {
        let version = ClientVersion {
            major_version: major,
            minor_version: minor,
        };
        self.docker.client_version() >= version
    }

    /// What the engine says of an image, and of an index also what it lists, from the version that tells it.
    pub fn inspect(&self, name: &str) -> Result<ImageInspect, Refusal> {
        let docker = self.docker.clone();
        let docker = match self.speaks(1, 48) {
            true => with_query(docker, "manifests", "true".to_owned()),
            false => docker,
        };
        self.ask(docker.inspect_image(name))
    }

    /// The build steps of an image, the last one first.
    pub fn history(&self, id: &str) -> Result<Vec<ImageHistoryResponseItem>, Refusal> {
        self.ask(self.docker.image_history(id))
    }

    /// What the engine says of itself.
    pub fn info(&self) -> Result<SystemInfo, Refusal> {
        self.ask(self.docker.info())
    }

    /// For a thread of its own, in which the runtime and the connection can be used.
    pub fn into_parts(self) -> (Runtime, Docker) {
        (self.runtime, self.docker)
    }

    fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, Refusal> {
        let in_time = async { tokio::time::timeout(QUESTION_TIMEOUT, question).await };
        let Ok(answer) = self.runtime.block_on(in_time) else {
            let seconds = QUESTION_TIMEOUT.as_secs();
            return Err(Refusal::Failed(format!("no answer within {seconds} s")));
        };
        answer.map_err(|error| match error {
            bollard::errors::Error::DockerResponseServerError {
                status_code: 404, ..
            } => Refusal::NotFound,
            error => Refusal::Failed(describe(&error)),
        })
    }
}

/// Adds an argument to all that is asked: bollard's export and inspection have none of their own.
pub(super) fn with_query(docker: Docker, name: &'static str, value: String) -> Docker {
    docker.with_request_modifier(move |mut request| {
        if let Ok(mut url) = reqwest::Url::parse(&request.uri().to_string()) {
            url.query_pairs_mut().append_pair(name, &value);
            if let Ok(uri) = url.as_str().parse() {
                *request.uri_mut() = uri;
            }
        }
        request
    })
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn client(address: &Address) -> Result<Docker, String> {
    let host = &address.host;
    let version = API_DEFAULT_VERSION;
    let client = match (host.split_once("://"), &address.tls) {
        (Some(("unix", path)), _) => {
            // bollard says "not found" of whatever keeps it from a socket.
            UnixStream::connect(Path::new(path)).map_err(|error| plain(&error))?;
            Docker::connect_with_unix(host, ANSWER_TIMEOUT, version)
        }
        (Some(("tcp", _)), Some(files)) => {
            tls::install();
            let (key, certificate) = (&files.key, &files.certificate);
            let host = with_port(host, 2376);
            Docker::connect_with_ssl(
                &host,
                key,
                certificate,
                &files.authority,
                ANSWER_TIMEOUT,
                version,
            )
        }
        (Some(("tcp", _)), None) => {
            Docker::connect_with_http(&with_port(host, 2375), ANSWER_TIMEOUT, version)
        }
        (Some(("ssh", _)), _) => Docker::connect_with_ssh(host, ANSWER_TIMEOUT, version, None),
        _ => return Err("only unix://, tcp:// and ssh:// are understood".to_owned()),
    };
    client.map_err(|error| describe(&error))
}

fn with_port(host: &str, port: u16) -> String {
    let host = host.trim_end_matches('/');
    let after_address = host.rsplit(']').next().unwrap_or(host);
    let named = after_address.trim_start_matches("tcp://").contains(':');
    if named {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    }
}

/// What the engine said, else the cause at the bottom: what is above it only says that something failed.
pub(super) fn describe(error: &bollard::errors::Error) -> String {
    use bollard::errors::Error::{DockerResponseServerError, RequestTimeoutError};
    match error {
        DockerResponseServerError { message, .. } => return message.trim().to_owned(),
        RequestTimeoutError => return "no answer".to_owned(),
        _ => {}
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    match cause.downcast_ref::<io::Error>() {
        Some(error) => plain(error),
        None => cause.to_string().trim().to_owned(),
    }
}

/// The words of the system without the number behind them.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if error.raw_os_error().is_some() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_port_is_filled_in() {
        for (host, port) in [
            ("tcp://there", "tcp://there:2376"),
            ("tcp://there:1", "tcp://there:1"),
            ("tcp://[::1]", "tcp://[::1]:2376"),
            ("tcp://[::1]:1/", "tcp://[::1]:1"),
        ] {
            assert_eq!(with_port(host, 2376), port);
        }
    }
}
