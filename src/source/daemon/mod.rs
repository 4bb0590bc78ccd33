//! Images that an engine on this machine holds: Docker's or Podman's.

use super::{Access, Image, Wanted};
use crate::error::{Error, Result};

/// How engines are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {}

/// Whose engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Docker,
    Podman,
}

/// The wanted image of an engine.
pub(super) fn open(
    engine: Engine,
    reference: &str,
    _wanted: &Wanted,
    _access: &Access,
) -> Result<Vec<Image>> {
    let save = match engine {
        Engine::Docker => "docker save",
        Engine::Podman => "podman save",
    };
    Err(Error::Source {
        subject: reference.to_owned(),
        problem: "there is no such file, and images of a daemon or a registry cannot be read yet"
            .to_owned(),
        help: Some(format!(
            "save it: {save} -o image.tar {reference}; then imgcheck image.tar"
        )),
    })
}
