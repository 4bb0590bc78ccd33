//! Where an image is stored: a docker archive, an OCI layout (directory or tar) or a plain root directory.
//!
//! Every source hands over the same [`Image`]: its config and its layers, lowest first, without reading a layer's content.

mod blobs;
pub mod daemon;
mod docker;
mod oci;
mod platform;
mod recognise;
mod reference;
pub mod registry;
pub mod remote;
mod store;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use serde::Serialize;

use crate::cache::Cache;
pub use crate::digest;
use crate::error::{Error, Result};
use crate::reference::transport::{Remote, Target};
use daemon::Engine;
use remote::RemoteBlob;
use store::Store;

/// Which of the images of a source are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `os/architecture[/variant]` or only the architecture. Without it: linux and this machine's architecture, else the only
    /// platform there is.
    pub platform: Option<String>,
    /// Every platform there is.
    pub all_platforms: bool,
}

/// How what is not a file is reached.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Registries.
    pub registry: registry::Registries,
    /// Engines on this machine.
    pub daemon: daemon::Options,
    /// Documents that were fetched before.
    pub cache: Cache,
}

/// Opens the images of a target, without reading their layers.
///
/// A source with several images gives all of them, or the one that the target names; an image with several tags is
/// given once for each, since each tag is a promise of its own. Errors are [`Error::Source`]: not found, not an image, a part
/// that is missing, damaged or larger than it may be, no such reference or platform.
pub fn open(target: &Target, selection: &Selection, access: &Access) -> Result<Vec<Image>> {
    let platform = selection
        .platform
        .as_deref()
        .map(platform::Platform::parse)
        .transpose()?;
    let wanted = |reference: &Option<String>| Wanted {
        reference: reference.clone(),
        platform: platform.clone(),
        all_platforms: selection.all_platforms,
    };
    match target {
        Target::Path(path) => recognise::open(path, &wanted(&None)),
        Target::DockerArchive(path, reference) => {
            docker::open(&Store::archive(path)?, &wanted(reference))
        }
        Target::OciArchive(path, reference) => {
            oci::open(&Store::archive(path)?, &wanted(reference))
        }
        Target::Oci(path, reference) => oci::open(&Store::directory(path)?, &wanted(reference)),
        Target::Dir(path) => Ok(vec![root_directory(path)?]),
        Target::Reference(reference) => {
            daemon::open(Engine::Docker, reference, &wanted(&None), access)
        }
        Target::Remote(Remote::Docker, reference) => {
            daemon::open(Engine::Docker, reference, &wanted(&None), access)
        }
        Target::Remote(Remote::Podman, reference) => {
            daemon::open(Engine::Podman, reference, &wanted(&None), access)
        }
        Target::Remote(Remote::Registry, reference) => {
            registry::open(reference, &wanted(&None), access)
        }
        Target::Remote(Remote::Containerd, reference) => Err(Error::Source {
            subject: reference.clone(),
            problem: "images held by containerd cannot be read yet".to_owned(),
            help: Some(format!(
                "export it: ctr images export image.tar {reference}; then imgcheck image.tar"
            )),
        }),
    }
}

/// What [`open`] was asked for, understood.
#[derive(Debug, Default)]
struct Wanted {
    reference: Option<String>,
    platform: Option<platform::Platform>,
    all_platforms: bool,
}

fn root_directory(path: &Path) -> Result<Image> {
    let subject = path.display().to_string();
    let metadata = path
        .metadata()
        .map_err(|error| Error::source(&subject, error.to_string()))?;
    if !metadata.is_dir() {
        return Err(Error::source(subject, "not a directory"));
    }
    Ok(Image {
        reference: None,
        kind: SourceKind::Dir,
        platform: String::new(),
        digest: None,
        config_digest: None,
        config: ImageConfiguration::default(),
        layers: vec![LayerBlob {
            diff_id: String::new(),
            digest: None,
            annotations: Annotations::new(),
            size: 0,
            data: LayerData::Directory(path.to_owned()),
        }],
    })
}

/// One image of one platform, as its source describes it. Nothing of its layers has been read yet.
#[derive(Debug)]
pub struct Image {
    /// The reference that the source records (`RepoTags`, `org.opencontainers.image.ref.name`), if any.
    pub reference: Option<String>,
    /// How the image is stored.
    pub kind: SourceKind,
    /// `os/architecture[/variant]`, as in `linux/amd64`. Empty for a root directory.
    pub platform: String,
    /// Digest of the manifest, where there is one.
    pub digest: Option<String>,
    /// Digest of the configuration; `None` for a root directory.
    pub config_digest: Option<String>,
    /// The image configuration; a default one for a root directory.
    pub config: ImageConfiguration,
    /// The layers, lowest first.
    pub layers: Vec<LayerBlob>,
}

/// How an image is stored; the `source` of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A `docker save` tarball.
    DockerArchive,
    /// An OCI image layout in a directory.
    Oci,
    /// An OCI image layout in a tar file.
    OciArchive,
    /// A plain root directory.
    Dir,
    /// A registry.
    Registry,
}

/// Annotations of a layer's descriptor (OCI image specification, "Annotations"), by key.
pub type Annotations = HashMap<String, String>;

/// One layer, not yet read.
#[derive(Debug, Clone)]
pub struct LayerBlob {
    /// Digest of the uncompressed tar (`rootfs.diff_ids`); empty for a root directory.
    pub diff_id: String,
    /// Digest of the blob as stored, where the source records it; verified when the whole blob is read.
    pub digest: Option<String>,
    /// What the manifest annotates it with.
    pub annotations: Annotations,
    /// Bytes of the blob as stored; 0 for a root directory.
    pub size: u64,
    /// Where the bytes are.
    pub data: LayerData,
}

impl LayerBlob {
    /// The layer in messages: its digest, else its diff id, else its directory.
    pub fn name(&self) -> String {
        match (&self.digest, &self.data) {
            (Some(digest), _) => digest.clone(),
            (None, LayerData::Directory(path)) => path.display().to_string(),
            (None, LayerData::Range { .. } | LayerData::Remote(_)) => self.diff_id.clone(),
        }
    }
}

/// Where the bytes of a layer are.
#[derive(Debug, Clone)]
pub enum LayerData {
    /// A range of a file that can be read at random: a blob file, or a member of an uncompressed tar.
    Range {
        /// The open file.
        file: Arc<File>,
        /// Its name, for messages.
        name: PathBuf,
        /// First byte of the blob.
        offset: u64,
        /// Length of the blob in bytes.
        length: u64,
    },
    /// A directory tree on this machine.
    Directory(PathBuf),
    /// A blob that is fetched.
    Remote(Arc<dyn RemoteBlob>),
}

/// A name of bytes, and where in it they begin and how many they are.
pub type Place = (PathBuf, u64, u64);

impl LayerData {
    /// Names the bytes: two layers of one source with the same place are the same.
    pub fn place(&self) -> Place {
        match self {
            LayerData::Range {
                name,
                offset,
                length,
                ..
            } => (name.clone(), *offset, *length),
            LayerData::Directory(path) => (path.clone(), 0, 0),
            LayerData::Remote(blob) => (blob.address().into(), 0, 0),
        }
    }
}
