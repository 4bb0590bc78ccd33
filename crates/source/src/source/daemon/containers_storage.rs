//! Reads images of Podman and CRI-O from their storage when no service answers: somebody must start Podman's, and CRI-O's sends no images.

use std::fs;
use std::path::PathBuf;

use oci_spec::image::ImageConfiguration;
use serde::Deserialize;

use super::describe::ImageName;
use super::image::{by_configuration, read_stored};
use super::podman_storage::{PodmanStorage, StoredImage};
use crate::source::environment::variable;
use crate::source::image::Image;
use crate::source::names::{self, ImageId, NamedImage};
use crate::source::platform::{self, Platform};
use crate::source::request::{LayerConsumer, Request};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};

/// The directory of the root user (containers-storage.conf(5), `graphroot`).
const ROOT: &str = "/var/lib/containers/storage";
/// The files that name another one; the first that exists counts.
const FILES: [&str; 2] = [
    "/etc/containers/storage.conf",
    "/usr/share/containers/storage.conf",
];
/// Names the only file.
const FILE: &str = "CONTAINERS_STORAGE_CONF";

/// A storage that this process can read.
pub(super) struct ContainersStorage {
    root: PathBuf,
    storage: PodmanStorage,
    images: Vec<StoredImage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct File {
    storage: Section,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Section {
    graphroot: Option<PathBuf>,
}

impl ContainersStorage {
    /// `None` if there is no such storage, or this process cannot read it.
    ///
    /// # Errors
    /// Its configuration file is invalid.
    pub fn open(limits: &Limits) -> Result<Option<Self>> {
        let root = root()?;
        let opened = || {
            let storage = PodmanStorage::at(&root, limits)?;
            let images = storage.images()?;
            Some((storage, images))
        };
        Ok(opened().map(|(storage, images)| ContainersStorage {
            root,
            storage,
            images,
        }))
    }

    /// All images.
    pub fn list(self) -> Vec<NamedImage> {
        let images = self.images.into_iter();
        let named = images.map(|image| NamedImage {
            names: image.names,
            id: image.id,
        });
        named.collect()
    }

    /// Reads the image with a name or an ID.
    ///
    /// # Errors
    /// The storage does not have the image, or not for the platform; it cannot be read completely, or exceeds a limit; the request was
    /// cancelled.
    pub fn read(
        &self,
        reference: &str,
        request: &Request,
        layers: &mut dyn LayerConsumer,
    ) -> Result<Vec<Image>> {
        let root = self.root.display();
        let stored = self.find(reference).ok_or_else(|| {
            let help = "see `podman images` or `crictl images`; to check the image of the registry, write docker://REFERENCE";
            Error::not_found(reference, format!("{root}: image not found")).with_help(help)
        })?;
        let id = format!("sha256:{}", stored.id);
        let bytes = self.storage.configuration(&id);
        let config = bytes.and_then(|it| serde_json::from_slice::<ImageConfiguration>(&it).ok());
        let unreadable = |what: &str| {
            let help =
                format!("save it: podman save -o image.tar {reference}; then imgcheck image.tar");
            Error::unsupported(reference, format!("{root}: {what} cannot be read")).with_help(help)
        };
        let config = config.ok_or_else(|| unreadable("its configuration"))?;
        let platform = Platform::of_config(&config);
        platform::choose(
            reference,
            std::slice::from_ref(&platform),
            &request.selection(None)?,
        )?;
        let diff_ids = config.rootfs().diff_ids();
        let exceeds = |exceeded| Error::limit(reference, exceeded);
        request
            .bounds
            .limits
            .check(Limit::Layers, diff_ids.len() as u64)
            .map_err(exceeds)?;
        let found = self.storage.layers_of(stored, diff_ids);
        let found = found.ok_or_else(|| unreadable("its layers"))?;
        let image = by_configuration(&id, &platform, config, found);
        let name = ImageName::of_stored(reference, &stored.names);
        read_stored(vec![image], &name, layers)
    }

    /// By its name, which may lack `localhost/`, else by its ID or the beginning of it.
    fn find(&self, reference: &str) -> Option<&StoredImage> {
        let named = |name: &str| self.images.iter().find(|image| image.has_name(name));
        let built = || named(&names::built(reference));
        let with_id = || {
            let id = ImageId::new(reference)?;
            self.images.iter().find(|image| id.begins(&image.id))
        };
        named(reference).or_else(built).or_else(with_id)
    }
}

/// The directory of the storage.
fn root() -> Result<PathBuf> {
    let files = variable(FILE).map_or_else(|| FILES.map(str::to_owned).to_vec(), |file| vec![file]);
    let read = |file: String| fs::read_to_string(&file).ok().map(|text| (file, text));
    let Some((file, text)) = files.into_iter().find_map(read) else {
        return Ok(ROOT.into());
    };
    let invalid = |error: toml::de::Error| Error::config(format!("{file}: {}", error.message()));
    let read: File = toml::from_str(&text).map_err(invalid)?;
    Ok(read.storage.graphroot.unwrap_or_else(|| ROOT.into()))
}
