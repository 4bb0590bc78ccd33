//! The storage directories of a container engine, which hold configurations and unpacked layers.

use bollard::models::SystemInfo;

use super::docker_storage::DockerStorage;
use super::kind::EngineKind;
use super::podman_storage::PodmanStorage;
use crate::source::image::LayerBlob;
use imgcheck_base::limits::Limits;

/// The storage of an engine on this machine.
#[derive(Debug)]
pub(super) enum Storage {
    Docker(DockerStorage),
    Podman(PodmanStorage),
}

impl Storage {
    /// `None` if this process cannot read the storage.
    pub fn new(kind: EngineKind, info: &SystemInfo, limits: &Limits) -> Option<Self> {
        match kind {
            EngineKind::Docker => DockerStorage::new(info, limits).map(Storage::Docker),
            EngineKind::Podman => PodmanStorage::new(info, limits).map(Storage::Podman),
        }
    }

    /// The configuration with this digest, verified.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        match self {
            Storage::Docker(storage) => storage.configuration(id),
            Storage::Podman(storage) => storage.configuration(id),
        }
    }

    /// The layers of the image `id`, lowest first; `None` unless all of them can be read.
    pub fn layers(&self, id: &str, diff_ids: &[String]) -> Option<Vec<LayerBlob>> {
        match self {
            Storage::Docker(storage) => storage.layers(diff_ids),
            Storage::Podman(storage) => storage.layers(id, diff_ids),
        }
    }
}
