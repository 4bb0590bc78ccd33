//! The storage of an engine, whoever wrote it.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use bollard::models::SystemInfo;
use rustix::fs::Dir;

use super::{Engine, containers, overlay2};
use crate::beneath::{self, Links};
use crate::limits::{Limit, Limits};
use crate::source::LayerBlob;
use crate::source::overlay::{Attributes, Overlay};

/// Where an engine keeps configurations and unpacked layers.
#[derive(Debug)]
pub(super) enum Storage {
    Docker(overlay2::Storage),
    Podman(containers::Storage),
}

impl Storage {
    /// The storage of the engine that says this of itself, if this process can read it.
    pub fn of(engine: Engine, info: &SystemInfo, limits: &Limits) -> Option<Self> {
        match engine {
            Engine::Docker => overlay2::Storage::of(info, limits).map(Storage::Docker),
            Engine::Podman => containers::Storage::of(info, limits).map(Storage::Podman),
        }
    }

    /// The configuration with this digest, verified.
    pub fn configuration(&self, id: &str) -> Option<Vec<u8>> {
        match self {
            Storage::Docker(storage) => storage.configuration(id),
            Storage::Podman(storage) => storage.configuration(id),
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

/// The root directory of an engine: no link in it is followed, no device or fifo opened.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    directory: OwnedFd,
    /// Bytes that a file may have which is read whole.
    most: u64,
}

impl Root {
    /// The directory that the engine says. `None` if it cannot be read.
    pub fn of(info: &SystemInfo, limits: &Limits) -> Option<Self> {
        let path = PathBuf::from(info.docker_root_dir.as_ref()?);
        Some(Root {
            directory: beneath::root(&path).ok()?,
            path,
            most: limits.of(Limit::DocumentBytes),
        })
    }

    /// A small file.
    pub fn read(&self, name: &Path) -> Option<Vec<u8>> {
        let file = beneath::file(&self.directory, name, Links::Refused).ok()?;
        let mut bytes = Vec::new();
        let one_more = self.most.saturating_add(1);
        file.take(one_more).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= self.most).then_some(bytes)
    }

    /// A small file of one line.
    pub fn line(&self, name: &Path) -> Option<String> {
        let text = String::from_utf8(self.read(name)?).ok()?;
        Some(text.trim().to_owned())
    }

    /// What is in a directory.
    pub fn list(&self, name: &Path) -> Option<Vec<PathBuf>> {
        let directory = self.directory(name)?;
        let names = Dir::read_from(directory).ok()?.flatten();
        let names = names.map(|found| found.file_name().to_string_lossy().into_owned());
        Some(names.map(|found| name.join(found)).collect())
    }

    /// A layer, if it is there.
    pub fn overlay(
        &self,
        directory: PathBuf,
        attributes: Attributes,
        record: PathBuf,
    ) -> Option<Overlay> {
        self.directory(&directory)?;
        Some(Overlay {
            storage: self.path.clone(),
            directory,
            attributes,
            record,
        })
    }

    fn directory(&self, name: &Path) -> Option<OwnedFd> {
        beneath::directory(&self.directory, name, Links::Refused).ok()
    }
}
