//! Where an image is stored: a docker archive, an OCI layout (directory or tar) or a plain root directory.
//!
//! Every source hands over the same [`Image`]: its config and its layers, lowest first, without reading a layer's content.

pub mod digest;
mod docker;
mod oci;
mod platform;
mod recognise;
mod reference;
mod store;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oci_spec::image::ImageConfiguration;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::reference::transport::{Remote, Target};
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

/// Opens the images of a target, without reading their layers.
///
/// A source with several images gives all of them, or the one that the target names; an image with several tags is
/// given once for each, since each tag is a promise of its own. Errors are [`Error::Source`]: not found, not an image, a part
/// that is missing, damaged or larger than it may be, no such reference or platform.
pub fn open(target: &Target, selection: &Selection) -> Result<Vec<Image>> {
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
        Target::Reference(reference) => Err(remote(reference, "docker save", reference)),
        Target::Remote(Remote::Docker, reference) => {
            Err(remote(reference, "docker save", reference))
        }
        Target::Remote(Remote::Podman, reference) => {
            Err(remote(reference, "podman save", reference))
        }
        Target::Remote(Remote::Containerd, reference) => Err(Error::Source {
            subject: reference.clone(),
            problem: "images held by containerd cannot be read yet".to_owned(),
            help: Some(format!(
                "export it: ctr images export image.tar {reference}; then imgcheck image.tar"
            )),
        }),
        Target::Remote(Remote::Registry, reference) => Err(Error::Source {
            subject: reference.clone(),
            problem: "images in a registry cannot be read yet".to_owned(),
            help: Some(format!(
                "copy it: skopeo copy docker://{reference} oci:image; then imgcheck oci:image"
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

fn remote(subject: &str, save: &str, reference: &str) -> Error {
    Error::Source {
        subject: subject.to_owned(),
        problem: "there is no such file, and images of a daemon or a registry cannot be read yet"
            .to_owned(),
        help: Some(format!(
            "save it: {save} -o image.tar {reference}; then imgcheck image.tar"
        )),
    }
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

impl LayerBlob {
    /// The layer in messages: its digest, else its diff id, else its directory.
    pub fn name(&self) -> String {
        match (&self.digest, &self.data) {
            (Some(digest), _) => digest.clone(),
            (None, LayerData::Directory(path)) => path.display().to_string(),
            (None, LayerData::Range { .. }) => self.diff_id.clone(),
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
}
