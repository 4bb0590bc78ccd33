//! The storage of an engine, whoever wrote it.

use bollard::models::SystemInfo;

use super::{Engine, containers, overlay2};
use crate::limits::Limits;
use crate::source::LayerBlob;

/// Where an engine keeps configurations and unpacked layers.
#[derive(Debug)]
pub(super) enum Storage {
    Docker(overlay2::Storage),
    Podman(containers::Storage),
}

impl Storage {
    /// The storage of the engine that says this of itself, if this process can read it.
    pub fn of(engine: Engine, info: &SystemInfo) -> Option<Self> {
        match engine {
            Engine::Docker => overlay2::Storage::of(info).map(Storage::Docker),
            Engine::Podman => containers::Storage::of(info).map(Storage::Podman),
        }
    }

    /// The configuration with this digest, verified.
    pub fn configuration(&self, id: &str, limits: &Limits) -> Option<Vec<u8>> {
        match self {
            Storage::Docker(storage) => storage.configuration(id),
            Storage::Podman(storage) => storage.configuration(id, limits),
        }
    }

    /// The layers of the image `id`, the lowest first; `None` unless all of them can be read.
    pub fn layers(&self, id: &str, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        match self {
            Storage::Docker(storage) => storage.layers(diff_ids),
            Storage::Podman(storage) => storage.layers(id, diff_ids),
        }
    }
}
