//! The connection to a container engine. It only reads, and never creates, starts or changes anything.

use std::io;
use std::time::Duration;

use bollard::models::{ImageHistoryResponseItem, ImageInspect, SystemInfo};
use bollard::query_parameters::ListImagesOptions;
use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker};
use tokio::time::timeout;

use super::address::Address;
use super::local;
use crate::source::names::NamedImage;
use crate::source::runtime::Runtime;
use crate::tls;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode};

/// A local engine answers at once, one behind ssh within seconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// An engine that is busy with other images takes a while to describe one.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// The time until an export starts: Docker packs an image of 7 GB for 80 seconds before it sends the first byte.
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(3600);

/// An engine that answers.
#[derive(Debug)]
pub(super) struct Connection {
    pub runtime: Runtime,
    pub docker: Docker,
    pub address: Address,
    pub cancellation: Cancellation,
}

/// Why a request to an engine failed.
#[derive(Debug)]
pub(super) enum EngineError {
    /// The request was cancelled, or its deadline passed.
    Interrupted(Error),
    /// The socket does not exist.
    NoSocket(String),
    /// The engine does not have the image.
    NoSuchImage,
    /// Anything else.
    Failed(ErrorCode, String),
}

impl EngineError {
    fn failed(code: ErrorCode, problem: impl Into<String>) -> Self {
        EngineError::Failed(code, problem.into())
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        EngineError::Interrupted(error)
    }
}

impl Connection {
    /// Connects and negotiates the version of the API.
    pub fn open(address: &Address, cancellation: &Cancellation) -> Result<Self, EngineError> {
        let runtime = Runtime::new().map_err(|error| io_error(&error))?;
        let connect = async {
            let docker = client(address).await?;
            docker
                .negotiate_version()
                .await
                .map_err(|error| engine_error(&error))
        };
        let connect = async { timeout(CONNECT_TIMEOUT, connect).await };
        let connected = runtime.run(cancellation, connect)?;
        let docker = connected.unwrap_or_else(|_| Err(no_answer(CONNECT_TIMEOUT)))?;
        Ok(Connection {
            runtime,
            docker,
            address: address.clone(),
            cancellation: cancellation.clone(),
        })
    }

    /// Whether the engine supports this version of the API.
    pub fn supports(&self, major: usize, minor: usize) -> bool {
        let version = ClientVersion {
            major_version: major,
            minor_version: minor,
        };
        self.docker.client_version() >= version
    }

    /// The description of an image, with the manifests of an index if the engine supports that.
    pub fn inspect(&self, name: &str) -> Result<ImageInspect, EngineError> {
        let docker = self.docker.clone();
        let docker = match self.supports(1, 48) {
            true => with_query(docker, "manifests", "true".to_owned()),
            false => docker,
        };
        self.query(docker.inspect_image(name))
    }

    /// All images but those that are only a step of others.
    pub fn images(&self) -> Result<Vec<NamedImage>, EngineError> {
        let images = self.query(self.docker.list_images(None::<ListImagesOptions>))?;
        // An image without a name is `<none>:<none>`.
        let named = |names: Vec<String>| -> Vec<String> {
            let names = names.into_iter().filter(|name| !name.starts_with('<'));
            names.collect()
        };
        let images = images.into_iter().map(|image| NamedImage {
            names: match named(image.repo_tags) {
                tags if tags.is_empty() => named(image.repo_digests),
                tags => tags,
            },
            id: image.id,
        });
        Ok(images.collect())
    }

    /// The build steps of an image, the last one first.
    pub fn history(&self, id: &str) -> Result<Vec<ImageHistoryResponseItem>, EngineError> {
        self.query(self.docker.image_history(id))
    }

    /// The engine's description of itself.
    pub fn info(&self) -> Result<SystemInfo, EngineError> {
        self.query(self.docker.info())
    }

    fn query<T>(
        &self,
        query: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, EngineError> {
        let query = async { timeout(QUERY_TIMEOUT, query).await };
        match self.runtime.run(&self.cancellation, query)? {
            Ok(answer) => answer.map_err(|error| engine_error(&error)),
            Err(_) => Err(no_answer(QUERY_TIMEOUT)),
        }
    }
}

fn no_answer(time: Duration) -> EngineError {
    let seconds = time.as_secs();
    EngineError::failed(ErrorCode::Timeout, format!("no answer within {seconds} s"))
}

/// Adds a parameter to every request, since bollard has none for it on export and inspection.
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

async fn client(address: &Address) -> Result<Docker, EngineError> {
    let host = &address.host;
    let (seconds, version) = (EXPORT_TIMEOUT.as_secs(), API_DEFAULT_VERSION);
    let unsupported = || {
        let problem = format!("only {} are supported", local::SCHEMES);
        EngineError::failed(ErrorCode::Unsupported, problem)
    };
    let client = match (host.split_once("://"), &address.tls) {
        (Some((local::SCHEME, _)), _) => local::connect(host, seconds, version).await,
        (Some(("tcp", _)), Some(files)) => {
            tls::install();
            Docker::connect_with_ssl(
                &with_port(host, 2376),
                &files.key,
                &files.certificate,
                &files.authority,
                seconds,
                version,
            )
        }
        (Some(("tcp", _)), None) => {
            Docker::connect_with_http(&with_port(host, 2375), seconds, version)
        }
        (Some(("ssh", _)), _) => local::ssh(host, seconds, version).ok_or_else(unsupported)?,
        _ => return Err(unsupported()),
    };
    client.map_err(|error| engine_error(&error))
}

fn with_port(host: &str, port: u16) -> String {
    let host = host.trim_end_matches('/');
    let after_address = host.rsplit(']').next().unwrap_or(host);
    match after_address.trim_start_matches("tcp://").contains(':') {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    }
}

/// The message of the engine, else the root cause: the errors above it only say that something failed.
pub(super) fn engine_error(error: &bollard::errors::Error) -> EngineError {
    use bollard::errors::Error::{DockerResponseServerError, IOError, RequestTimeoutError};
    match error {
        DockerResponseServerError {
            status_code,
            message,
        } => {
            let code = match status_code {
                404 => return EngineError::NoSuchImage,
                401 => ErrorCode::Unauthorized,
                403 => ErrorCode::Forbidden,
                _ => ErrorCode::Unreachable,
            };
            return EngineError::failed(code, message.trim());
        }
        RequestTimeoutError => return EngineError::failed(ErrorCode::Timeout, "no answer"),
        // It is not the source of itself.
        IOError { err } => return io_error(err),
        _ => {}
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    match cause.downcast_ref::<io::Error>() {
        Some(error) => io_error(error),
        None => EngineError::failed(ErrorCode::Unreachable, cause.to_string().trim()),
    }
}

fn io_error(error: &io::Error) -> EngineError {
    let problem = without_number(error);
    match error.kind() {
        io::ErrorKind::NotFound => EngineError::NoSocket(problem),
        io::ErrorKind::PermissionDenied => EngineError::failed(ErrorCode::Forbidden, problem),
        _ => EngineError::failed(ErrorCode::Unreachable, problem),
    }
}

/// The message of the system without its number.
fn without_number(error: &io::Error) -> String {
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
    fn a_missing_port_is_the_default_one() {
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
