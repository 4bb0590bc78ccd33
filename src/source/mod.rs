//! Where an image is stored: a docker archive, an OCI layout (directory or tar) or a plain root directory.
//!
//! Every source hands over the same [`Image`]: its config and its layers, lowest first, without reading a layer's content.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use serde::Serialize;

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
}

/// One layer, not yet read.
#[derive(Debug, Clone)]
pub struct LayerBlob {
    /// Digest of the uncompressed tar (`rootfs.diff_ids`); empty for a root directory.
    pub diff_id: String,
    /// Digest of the blob as stored, where the source records it; verified when the whole blob is read.
    pub digest: Option<String>,
    /// Bytes of the blob as stored; 0 for a root directory.
    pub size: u64,
    /// Where the bytes are.
    pub data: LayerData,
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
}
