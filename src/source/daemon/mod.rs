//! Images that an engine on this machine holds: Docker's or Podman's. No container is created, and nothing is left behind.

mod address;
mod containerd;
mod containers;
mod context;
mod describe;
mod engine;
mod export;
mod held;
mod known;
mod overlay2;
mod storage;

use super::platform::{self, Platform};
use super::{Access, Wanted};
use crate::error::{Error, ErrorCode, Result};
use crate::reference::name::Name;
use address::addresses;
pub(super) use describe::Described;
use engine::Refusal;
pub use held::Held;

/// Whose engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Docker,
    Podman,
}

/// What was found where engines listen.
#[derive(Debug)]
pub(super) enum Answer {
    /// An engine holds the image.
    Held(Box<Held>),
    /// There is an engine, and it has no such image.
    NoSuchImage(String),
    /// There is no engine to ask.
    NoEngine(String),
}

/// The image of an engine that was named: an error where it cannot be had.
pub(super) fn demand(
    engine: Engine,
    reference: &str,
    wanted: &Wanted,
    access: &Access,
) -> Result<Held> {
    match open(engine, reference, wanted, access)? {
        Answer::Held(held) => Ok(*held),
        Answer::NoSuchImage(tried) => {
            Err(Error::not_found(reference, tried).with_help(engine.no_such_image(reference)))
        }
        Answer::NoEngine(tried) => {
            let problem = format!("no engine to ask: {tried}");
            Err(Error::new(ErrorCode::Unreachable, reference, problem)
                .with_help(engine.no_engine(&tried)))
        }
    }
}

/// Asks where engines listen, in the order of the engine's own client, until one of them answers.
///
/// # Errors
/// The configuration is broken, the reference is none, or an engine answered with something unexpected.
pub(super) fn open(
    engine: Engine,
    reference: &str,
    wanted: &Wanted,
    access: &Access,
) -> Result<Answer> {
    // It becomes a part of what is asked, and must be nothing else.
    reference.parse::<Name>()?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut tried = Vec::new();
    let mut lacking = Vec::new();
    for address in addresses(engine, &variable)? {
        let connection = match engine::Engine::connect(&address) {
            Ok(connection) => connection,
            Err(problem) => {
                tried.push(format!("{address}: {problem}"));
                continue;
            }
        };
        match connection.inspect(reference) {
            Ok(inspect)
                if platform::choose("", &describe::platforms(&inspect), wanted).is_err() =>
            {
                let platforms = describe::platforms(&inspect);
                let platforms: Vec<String> = platforms.iter().map(Platform::to_string).collect();
                let platforms = platforms.join(", ");
                lacking.push(format!("{address}: it has the image only for {platforms}"));
            }
            Ok(inspect) => {
                let held = Held::of(engine, connection, reference, &inspect, wanted, access)?;
                return Ok(Answer::Held(Box::new(held)));
            }
            Err(Refusal::NotFound) => lacking.push(format!("{address}: it has no such image")),
            Err(Refusal::Failed(problem)) => {
                let problem = format!("{address} says: {problem}");
                return Err(Error::new(ErrorCode::Unreachable, reference, problem)
                    .with_help(engine.other_way(reference)));
            }
        }
    }
    let all = |texts: &[String]| texts.join("; ");
    match lacking.is_empty() {
        true => Ok(Answer::NoEngine(all(&tried))),
        false => Ok(Answer::NoSuchImage(all(&[tried, lacking].concat()))),
    }
}

/// Whether somebody expects an engine where none answered: one is there, or was named. A machine without any has nothing at the
/// usual sockets.
pub(super) fn is_wanted(tried: &str) -> bool {
    tried
        .split("; ")
        .any(|attempt| attempt.contains(" (") || !attempt.ends_with("no such file or directory"))
}

/// Whether an engine's record names one directory beside others, and leads nowhere else.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl Engine {
    fn command(self) -> &'static str {
        match self {
            Engine::Docker => "docker",
            Engine::Podman => "podman",
        }
    }

    fn no_such_image(self, reference: &str) -> String {
        format!(
            "see `{0} images`, or get it: {0} pull {reference}; the registry itself is asked with docker://{reference}",
            self.command()
        )
    }

    fn no_engine(self, tried: &str) -> String {
        if tried.contains("permission denied") {
            return format!(
                "run as a user who may use `{0}` (for Docker: the group docker, or sudo), or save the image there and check the file",
                self.command()
            );
        }
        match self {
            Engine::Docker => "start it (systemctl start docker), say where it listens (DOCKER_HOST, docker context use), or ask the registry: docker://REFERENCE".to_owned(),
            Engine::Podman => "start its service (systemctl --user start podman.socket), or say where it listens (CONTAINER_HOST)".to_owned(),
        }
    }

    fn other_way(self, reference: &str) -> String {
        format!(
            "save it: {} save -o image.tar {reference}; then imgcheck image.tar",
            self.command()
        )
    }
}
