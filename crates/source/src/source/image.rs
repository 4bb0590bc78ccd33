//! An image as its source describes it: configuration and layers, before any layer is read.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use oci_spec::image::{Descriptor, ImageConfiguration};
use schemars::JsonSchema;
use serde::Serialize;

use super::overlay::Overlay;
use super::remote::RemoteBlob;
use imgcheck_archive::squashfs::Squashfs;

/// One image of one platform.
#[derive(Debug)]
pub struct Image {
    /// The reference that the source records (`RepoTags`, `org.opencontainers.image.ref.name`), if any.
    pub reference: Option<String>,
    /// How the image is stored.
    pub kind: SourceKind,
    /// How its layers were read, for an image of a container engine.
    pub access: Option<AccessMethod>,
    /// `os/architecture[/variant]`, such as `linux/amd64`. Empty for a root directory.
    pub platform: String,
    /// Digest of the manifest, if there is one.
    pub digest: Option<String>,
    /// Digest of the configuration; `None` for a root directory.
    pub config_digest: Option<String>,
    /// The image configuration; the default one for a root directory.
    pub config: Arc<ImageConfiguration>,
    /// The layers, lowest first.
    pub layers: Vec<LayerBlob>,
    /// The manifests of attestations about the image in the index that lists it, as BuildKit writes them.
    pub attestations: Vec<Descriptor>,
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
    /// An image of enroot and pyxis: a SquashFS file.
    Squashfs,
    /// An image of Apptainer or Singularity.
    Sif,
    /// Held by the Docker engine.
    DockerDaemon,
    /// Held by Podman.
    Podman,
    /// Held by containerd.
    Containerd,
    /// A registry.
    Registry,
    /// A file of saved facts.
    Facts,
}

/// How the layers of an image of a container engine were read; the `access` of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessMethod {
    /// The cache contained the facts of every layer.
    Cache,
    /// From the storage directories of the engine.
    Storage,
    /// The engine streamed the image.
    Stream,
}

/// Annotations of a layer's descriptor (OCI image specification, "Annotations"), by key.
pub type Annotations = HashMap<String, String>;

/// One layer, not yet read.
#[derive(Debug, Clone)]
pub struct LayerBlob {
    /// Digest of the uncompressed tar (`rootfs.diff_ids`); empty for a root directory.
    pub diff_id: String,
    /// Digest of the blob as stored, if the source records it; verified when the whole blob is read.
    pub digest: Option<String>,
    /// Annotations of the descriptor in the manifest.
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
            (None, LayerData::Directory(path) | LayerData::Squashfs(_, path)) => {
                path.display().to_string()
            }
            (None, _) => self.diff_id.clone(),
        }
    }
}

/// Where the bytes of a layer are.
#[derive(Debug, Clone)]
pub enum LayerData {
    /// A range of a seekable file: a blob file, or a member of an uncompressed tar.
    Range {
        /// The open file.
        file: Arc<File>,
        /// Its name, for messages.
        name: PathBuf,
        /// The first byte of the blob.
        offset: u64,
        /// The length of the blob in bytes.
        length: u64,
    },
    /// A directory tree on this machine.
    Directory(PathBuf),
    /// A SquashFS image, and its name for messages.
    Squashfs(Arc<Squashfs>, PathBuf),
    /// A blob to download.
    Remote(Arc<dyn RemoteBlob>),
    /// A layer directory of the kernel's overlay file system.
    Overlay(Overlay),
    /// The member with this name of a streamed archive: it was read with the archive, or cannot be read any more.
    Streamed(PathBuf),
    /// The layer with this digest or diff id can only be read from the stream of a container engine.
    EngineOnly(String),
}

/// Identifies the bytes of a layer within a source: a name, an offset and a length.
pub type LayerLocation = (PathBuf, u64, u64);

impl LayerData {
    /// Two layers of one source with the same location have the same bytes.
    pub fn location(&self) -> LayerLocation {
        match self {
            LayerData::Range {
                name,
                offset,
                length,
                ..
            } => (name.clone(), *offset, *length),
            LayerData::Directory(path) | LayerData::Squashfs(_, path) => (path.clone(), 0, 0),
            LayerData::Remote(blob) => (blob.address().into(), 0, 0),
            LayerData::Overlay(overlay) => (overlay.path(), 0, 0),
            LayerData::Streamed(member) => (member.clone(), 0, 0),
            LayerData::EngineOnly(digest) => (digest.into(), 0, 0),
        }
    }
}
