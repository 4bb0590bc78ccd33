//! Where an image is stored: a docker archive, an OCI layout (directory or tar), a plain root directory, an engine or a registry.
//!
//! Every source hands over the same [`Image`]: its config and its layers, lowest first, without reading a layer's content.

mod blobs;
pub mod daemon;
mod docker;
mod members;
mod oci;
pub mod overlay;
pub mod passing;
mod platform;
mod recognise;
mod reference;
pub mod registry;
pub mod remote;
mod runtime;
mod spelling;
mod store;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cache::Cache;
use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::reference::transport::{ImageReference, Remote};
use daemon::{Answer, Engine, Held};
use overlay::Overlay;
use passing::{Expected, Passing};
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
    /// Documents that were fetched before.
    pub cache: Cache,
    /// Bounds on what images may ask for.
    pub limits: Limits,
    /// Credentials for the registry of the reference; `None` to look them up in the user's configuration.
    pub credentials: Option<registry::Credentials>,
    /// Ends the request early.
    pub cancellation: Cancellation,
}

/// What a target leads to.
#[derive(Debug)]
pub enum Found {
    /// Images, whose layers can be read in any order.
    Images(Vec<Image>),
    /// Images of the registry, and why the engine, which is there, was not asked for them.
    Instead(Vec<Image>, String),
    /// An archive that goes by once.
    Passing(Box<Passing>),
    /// An image that an engine holds.
    Held(Box<Held>),
}

/// Opens the images of a target, without reading their layers. Errors as [`find`]; also where the images can only be read as
/// they go by.
pub fn open(target: &ImageReference, selection: &Selection, access: &Access) -> Result<Vec<Image>> {
    let passes = |subject: &str| Err(Error::unsupported(subject, "it goes by only once"));
    match find(target, selection, access)? {
        Found::Images(images) | Found::Instead(images, _) => Ok(images),
        Found::Passing(passing) => passes(passing.parts.subject()),
        Found::Held(held) if held.images.is_empty() => passes("the image of an engine"),
        Found::Held(held) => Ok(held.images),
    }
}

/// Finds the images of a target, without reading their layers.
///
/// A source with several images gives all of them, or the one that the target names; an image with several tags is
/// given once for each, since each tag is a promise of its own. Errors: not found, not an image, a part
/// that is missing, damaged or larger than it may be, no such reference or platform.
pub fn find(target: &ImageReference, selection: &Selection, access: &Access) -> Result<Found> {
    let platform = selection
        .platform
        .as_deref()
        .map(platform::Platform::parse)
        .transpose()?;
    let wanted = |reference: &Option<String>| Wanted {
        reference: reference.clone(),
        platform: platform.clone(),
        all_platforms: selection.all_platforms,
        limits: access.limits,
    };
    let passing = |expected, reference: &Option<String>| {
        let passing = passing::standard_input(expected, wanted(reference))?;
        Ok(Found::Passing(Box::new(passing)))
    };
    let held = |engine, reference: &String| {
        daemon::demand(engine, reference, &wanted(&None), access)
            .map(|held| Found::Held(Box::new(held)))
    };
    let images = match target {
        ImageReference::Path(path) if passing::is_stdin(path) => {
            return passing(Expected::Any, &None);
        }
        ImageReference::DockerArchive(path, reference) if passing::is_stdin(path) => {
            return passing(Expected::Docker, reference);
        }
        ImageReference::OciArchive(path, reference) if passing::is_stdin(path) => {
            return passing(Expected::Oci, reference);
        }
        ImageReference::Path(path) => recognise::open(path, &wanted(&None)),
        ImageReference::DockerArchive(path, reference) => {
            docker::open(&Store::archive(path, access.limits)?, &wanted(reference))
        }
        ImageReference::OciArchive(path, reference) => {
            oci::open(&Store::archive(path, access.limits)?, &wanted(reference))
        }
        ImageReference::Oci(path, reference) => {
            oci::open(&Store::directory(path, access.limits)?, &wanted(reference))
        }
        ImageReference::Dir(path) => Ok(vec![root_directory(path)?]),
        ImageReference::Reference(reference) => {
            return engine_or_registry(reference, &wanted(&None), access);
        }
        ImageReference::Remote(Remote::Docker, reference) => {
            return held(Engine::Docker, reference);
        }
        ImageReference::Remote(Remote::Podman, reference) => {
            return held(Engine::Podman, reference);
        }
        ImageReference::Remote(Remote::Registry, reference) => {
            registry::open(reference, &wanted(&None), access)
        }
        ImageReference::Remote(Remote::Containerd, reference) => {
            let problem = "images held by containerd cannot be read yet";
            Err(Error::unsupported(reference, problem).with_help(format!(
                "export it: ctr images export image.tar {reference}; then imgcheck image.tar"
            )))
        }
    };
    images.map(Found::Images)
}

/// A bare reference: what the engine here holds, else what the registry has.
fn engine_or_registry(reference: &str, wanted: &Wanted, access: &Access) -> Result<Found> {
    let (tried, is_silent) = match daemon::open(Engine::Docker, reference, wanted, access)? {
        Answer::Held(held) => return Ok(Found::Held(held)),
        Answer::NoSuchImage(tried) => (tried, false),
        Answer::NoEngine(tried) => (tried, true),
    };
    registry::open(reference, wanted, access)
        .map(|images| match is_silent && daemon::is_wanted(&tried) {
            true => Found::Instead(images, tried.clone()),
            false => Found::Images(images),
        })
        .map_err(|error| error.in_context(format!("{tried}; then the registry: ")))
}

/// What [`find`] was asked for, understood.
#[derive(Debug, Clone, Default)]
struct Wanted {
    reference: Option<String>,
    platform: Option<platform::Platform>,
    all_platforms: bool,
    limits: Limits,
}

fn root_directory(path: &Path) -> Result<Image> {
    let subject = path.display().to_string();
    let metadata = path
        .metadata()
        .map_err(|error| Error::io(&subject, error))?;
    if !metadata.is_dir() {
        return Err(Error::unsupported(subject, "not a directory"));
    }
    Ok(Image {
        reference: None,
        kind: SourceKind::Dir,
        way: None,
        platform: String::new(),
        digest: None,
        config_digest: None,
        config: Arc::default(),
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
    /// How it is got at, where an engine holds it.
    pub way: Option<Way>,
    /// `os/architecture[/variant]`, as in `linux/amd64`. Empty for a root directory.
    pub platform: String,
    /// Digest of the manifest, where there is one.
    pub digest: Option<String>,
    /// Digest of the configuration; `None` for a root directory.
    pub config_digest: Option<String>,
    /// The image configuration; a default one for a root directory.
    pub config: Arc<ImageConfiguration>,
    /// The layers, lowest first.
    pub layers: Vec<LayerBlob>,
}

/// How an image is stored; the `source` of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Held by the Docker engine.
    DockerDaemon,
    /// Held by Podman.
    Podman,
    /// A registry.
    Registry,
    /// Facts that were saved.
    Facts,
}

/// How an image is got at that an engine holds; the `access` of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Everything was known from an earlier run.
    Cache,
    /// The engine's storage was read where it lies.
    Storage,
    /// The engine sent the image.
    Stream,
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
            (None, _) => self.diff_id.clone(),
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
    /// A layer as the kernel's overlay keeps it.
    Overlay(Overlay),
    /// The member of this name of an archive that has gone by: it was read then, or cannot be read any more.
    Passed(PathBuf),
    /// The layer of this digest or diff id, which is only in what an engine sends.
    Held(String),
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
            LayerData::Overlay(overlay) => (overlay.path(), 0, 0),
            LayerData::Passed(member) => (member.clone(), 0, 0),
            LayerData::Held(digest) => (digest.into(), 0, 0),
        }
    }
}
