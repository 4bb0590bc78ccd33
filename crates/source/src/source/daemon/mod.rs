//! Images of a container engine (Docker, Podman). No container is created, and nothing is left behind.

mod address;
mod cached_documents;
mod connection;
mod containers_storage;
mod content_store;
mod context;
mod describe;
mod docker_storage;
mod export;
mod image;
mod kind;
mod local;
mod podman_storage;
mod storage;
mod storage_root;

use super::environment::variable;
use super::image::Image;
use super::names::NamedImage;
use super::platform::{self, Platform};
use super::request::{LayerConsumer, Request, Source};
use address::{Address, addresses};
use connection::{Connection, EngineError};
use containers_storage::ContainersStorage;
pub(super) use image::DaemonImage;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::limits::Limits;
use imgcheck_base::reference::name::Name;
pub use kind::EngineKind;

/// `docker-daemon:REFERENCE` or `podman:REFERENCE`.
pub(super) struct Daemon {
    pub kind: EngineKind,
    pub reference: String,
}

/// The result of looking for an image.
pub(super) enum Lookup {
    /// An engine has the image.
    Image(Box<DaemonImage>),
    /// Engines answered, but none has the image.
    NoSuchImage(Vec<Attempt>),
    /// No engine answered.
    NoEngine(Vec<Attempt>),
}

/// An address where the image was not found.
#[derive(Debug)]
pub(super) struct Attempt {
    address: Address,
    code: ErrorCode,
    problem: String,
    /// The socket does not exist.
    has_no_socket: bool,
}

impl Attempt {
    /// Whether an engine was expected there: the user chose the address, or its socket exists.
    pub fn is_unexpected(&self) -> bool {
        self.address.origin.is_some() || !self.has_no_socket
    }
}

/// All attempts in one line.
pub(super) fn describe_all<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> String {
    let texts: Vec<String> = attempts
        .into_iter()
        .map(|attempt| format!("{}: {}", attempt.address, attempt.problem))
        .collect();
    texts.join("; ")
}

impl Source for Daemon {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        match self.find(request)? {
            Lookup::Image(image) => image.read(request, layers),
            Lookup::NoSuchImage(attempts) => Err(self.no_such_image(&attempts)),
            Lookup::NoEngine(attempts) => match self.storage(&attempts, &request.bounds.limits)? {
                Some(storage) => storage.read(&self.reference, request, layers),
                None => Err(self.no_engine(&attempts)),
            },
        }
    }
}

impl Daemon {
    /// Asks the engines in the order of their own client, until one has the image.
    ///
    /// # Errors
    /// The configuration or the reference is invalid, an engine answered with an error, or the request was cancelled.
    pub fn find(&self, request: &Request) -> Result<Lookup> {
        let reference = &self.reference;
        // It becomes part of a URL path.
        reference.parse::<Name>()?;
        let mut attempts = Vec::new();
        let mut has_engine = false;
        for address in addresses(self.kind, &variable)? {
            match self.ask(&address, request) {
                Ok(image) => return Ok(Lookup::Image(Box::new(image))),
                Err(Refusal::Error(error)) => return Err(error),
                Err(Refusal::Attempt(attempt)) => {
                    has_engine |= attempt.code == ErrorCode::NotFound;
                    attempts.push(*attempt);
                }
            }
        }
        Ok(match has_engine {
            true => Lookup::NoSuchImage(attempts),
            false => Lookup::NoEngine(attempts),
        })
    }

    /// All images of the first engine that answers.
    ///
    /// # Errors
    /// The configuration is invalid, no engine answers, or the request was cancelled.
    pub fn list(kind: EngineKind, end: &Cancellation) -> Result<Vec<NamedImage>> {
        let all = Daemon {
            kind,
            reference: format!("the images of {}", kind.name()),
        };
        let mut attempts = Vec::new();
        for address in addresses(kind, &variable)? {
            let connection = connect(&address, end);
            let images = connection.and_then(|it| it.images().map_err(|it| refusal(&address, it)));
            match images {
                Ok(images) => return Ok(images),
                Err(Refusal::Error(error)) => return Err(error),
                Err(Refusal::Attempt(attempt)) => attempts.push(*attempt),
            }
        }
        match all.storage(&attempts, &Limits::default())? {
            Some(storage) => Ok(storage.list()),
            None => Err(all.no_engine(&attempts)),
        }
    }

    /// The storage of Podman and CRI-O, if no service was expected.
    fn storage(&self, tried: &[Attempt], limits: &Limits) -> Result<Option<ContainersStorage>> {
        match self.kind {
            EngineKind::Podman if !tried.iter().any(Attempt::is_unexpected) => {
                ContainersStorage::open(limits)
            }
            _ => Ok(None),
        }
    }

    fn ask(&self, address: &Address, request: &Request) -> Result<DaemonImage, Refusal> {
        let not_found = |problem| {
            Refusal::Attempt(Box::new(Attempt {
                address: address.clone(),
                code: ErrorCode::NotFound,
                problem,
                has_no_socket: false,
            }))
        };
        let connection = connect(address, &request.bounds.cancellation)?;
        let inspect = match connection.inspect(&self.reference) {
            Ok(inspect) => inspect,
            Err(EngineError::Interrupted(error)) => return Err(Refusal::Error(error)),
            Err(EngineError::NoSuchImage) => {
                let problem = "image not found".to_owned();
                return Err(not_found(problem));
            }
            Err(EngineError::NoSocket(problem)) => {
                return Err(self.failed(address, ErrorCode::Unreachable, &problem));
            }
            Err(EngineError::Failed(code, problem)) => {
                return Err(self.failed(address, code, &problem));
            }
        };
        let platforms = describe::platforms(&inspect);
        let selection = request.selection(None).map_err(Refusal::Error)?;
        if platform::choose("", &platforms, &selection).is_err() {
            let platforms: Vec<String> = platforms.iter().map(Platform::to_string).collect();
            let problem = format!("has the image only for {}", platforms.join(", "));
            return Err(not_found(problem));
        }
        DaemonImage::new(self.kind, connection, &self.reference, &inspect, request)
            .map_err(Refusal::Error)
    }

    fn failed(&self, address: &Address, code: ErrorCode, problem: &str) -> Refusal {
        let (command, reference) = (self.kind.command(), &self.reference);
        let error = Error::new(code, reference, format!("{address}: {problem}"));
        Refusal::Error(error.with_help(format!(
            "save it: {command} save -o image.tar {reference}; then imgcheck image.tar"
        )))
    }

    fn no_such_image(&self, attempts: &[Attempt]) -> Error {
        let (command, reference) = (self.kind.command(), &self.reference);
        Error::not_found(reference, describe_all(attempts)).with_help(format!(
            "see `{command} images`, or pull it: {command} pull {reference}; to check the image of the registry, write docker://{reference}"
        ))
    }

    /// The error if no engine answers.
    pub fn no_engine(&self, attempts: &[Attempt]) -> Error {
        let forbidden = |attempt: &Attempt| attempt.code == ErrorCode::Forbidden;
        let (code, help) = match attempts.iter().any(forbidden) {
            true => (
                ErrorCode::Forbidden,
                format!(
                    "run imgcheck as a user who may use `{}` (for Docker: the group docker, or sudo), or check the image of the registry: docker://{}",
                    self.kind.command(),
                    self.written()
                ),
            ),
            false => (ErrorCode::Unreachable, self.how_to_start()),
        };
        let name = self.kind.name();
        let problem = format!("{name} could not be reached: {}", describe_all(attempts));
        Error::new(code, &self.reference, problem).with_help(help)
    }

    /// The image as it can be written in a command; all images have no reference.
    fn written(&self) -> &str {
        match self.reference.parse::<Name>() {
            Ok(_) => &self.reference,
            Err(_) => "REFERENCE",
        }
    }

    fn how_to_start(&self) -> String {
        let (command, reference) = (self.kind.command(), self.written());
        let start = match self.kind {
            EngineKind::Docker if !cfg!(target_os = "linux") => {
                "start Docker Desktop, set its address (DOCKER_HOST, docker context use)"
            }
            EngineKind::Podman if !cfg!(target_os = "linux") => {
                "start its machine (podman machine start), set its address (CONTAINER_HOST)"
            }
            EngineKind::Docker => {
                "start it (systemctl start docker), set its address (DOCKER_HOST, docker context use)"
            }
            EngineKind::Podman => {
                return "start its service (systemctl --user start podman.socket), set its address (CONTAINER_HOST), or run imgcheck as root: it reads root's images of Podman, and those of CRI-O, without a service".to_owned();
            }
        };
        let save = match cfg!(target_os = "linux") {
            true => String::new(),
            false => format!(
                ", save the image where it is ({command} save -o image.tar {reference}) and check the file"
            ),
        };
        format!("{start}{save}, or check the image of the registry: docker://{reference}")
    }
}

fn connect(address: &Address, end: &Cancellation) -> Result<Connection, Refusal> {
    Connection::open(address, end).map_err(|error| refusal(address, error))
}

/// Why an engine does not answer.
fn refusal(address: &Address, error: EngineError) -> Refusal {
    let (code, problem, has_no_socket) = match error {
        EngineError::Interrupted(error) => return Refusal::Error(error),
        EngineError::NoSocket(problem) => (ErrorCode::Unreachable, problem, true),
        EngineError::Failed(code, problem) => (code, problem, false),
        EngineError::NoSuchImage => {
            let problem = "not a container engine".to_owned();
            (ErrorCode::Unreachable, problem, false)
        }
    };
    Refusal::Attempt(Box::new(Attempt {
        address: address.clone(),
        code,
        problem,
        has_no_socket,
    }))
}

/// Why an address does not lead to the image.
enum Refusal {
    /// Another address may.
    Attempt(Box<Attempt>),
    /// The search ends.
    Error(Error),
}
