//! Where images are stored: docker archives, OCI layouts, root directories, container engines, registries.
//!
//! Each medium is one file or folder that implements the same trait. It describes images ([`Image`]) without reading their
//! layers, except for layers that can only be read once: those of a stream.

mod apptainer;
mod archive_file;
pub mod attached;
mod bare_reference;
mod blobs;
pub mod containerd;
mod daemon;
mod docker;
mod enroot;
mod environment;
mod image;
mod json_names;
mod members;
mod names;
mod oci;
pub mod overlay;
mod path;
mod platform;
pub mod registry;
pub mod remote;
mod request;
mod root_directory;
mod runtime;
mod squashfs_image;
mod standard_input;
mod store;
mod streamed;
mod tar_index;

use std::io::Read;
use std::path::{Path, PathBuf};

use archive_file::{ArchiveFile, ArchiveFormat};
use daemon::EngineKind;
pub use image::{
    AccessMethod, Annotations, Image, LayerBlob, LayerData, LayerLocation, SourceKind,
};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::progress::{NoProgress, Progress};
use imgcheck_base::reference::transport::{ImageReference, Remote};
pub use names::NamedImage;
pub use path::is_image_file;
use request::Source;
pub use request::{LayerConsumer, Request, StreamedMember};
use standard_input::StandardInput;

/// Reads the selected images of a reference. Layers that can be read later are only described.
///
/// # Errors
/// The image, its reference or its platform is not found; it is not an image, damaged, incomplete, or exceeds a limit; the
/// request was cancelled.
pub fn read(
    reference: &ImageReference,
    request: &Request,
    layers: &mut dyn LayerConsumer,
) -> Result<Vec<Image>> {
    source(reference).images(request, layers)
}

/// Describes the selected images of a reference without reading any layer.
///
/// # Errors
/// Same as [`read`]; also if the images can only be read once.
pub fn open(reference: &ImageReference, request: &Request) -> Result<Vec<Image>> {
    read(reference, request, &mut NoLayers)
}

/// All images of the container engine of a reference that names none of them, such as `docker-daemon:`; `None` for any other
/// reference.
///
/// # Errors
/// The engine does not answer, or the request was cancelled.
pub fn all_images(
    reference: &ImageReference,
    end: &Cancellation,
) -> Result<Option<Vec<NamedImage>>> {
    match reference {
        ImageReference::Remote(remote, name) if name.is_empty() => match remote {
            Remote::Docker => daemon::Daemon::list(EngineKind::Docker, end).map(Some),
            Remote::Podman => daemon::Daemon::list(EngineKind::Podman, end).map(Some),
            Remote::Containerd => containerd::list().map(Some),
            Remote::Registry => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The source of a reference.
fn source(reference: &ImageReference) -> Box<dyn Source> {
    let archive = |path: &PathBuf, reference: &Option<String>, format| -> Box<dyn Source> {
        let reference = reference.clone();
        match is_standard_input(path) {
            true => Box::new(StandardInput { format, reference }),
            false => Box::new(ArchiveFile {
                path: path.clone(),
                reference,
                format,
            }),
        }
    };
    match reference {
        ImageReference::Path(path) if is_standard_input(path) => {
            archive(path, &None, ArchiveFormat::Any)
        }
        ImageReference::Path(path) => Box::new(path::AnyPath(path.clone())),
        ImageReference::DockerArchive(path, reference) => {
            archive(path, reference, ArchiveFormat::Docker)
        }
        ImageReference::OciArchive(path, reference) => archive(path, reference, ArchiveFormat::Oci),
        ImageReference::Oci(path, reference) => Box::new(oci::OciLayout {
            path: path.clone(),
            reference: reference.clone(),
        }),
        ImageReference::Dir(path) => Box::new(root_directory::RootDirectory(path.clone())),
        ImageReference::Reference(reference) => {
            Box::new(bare_reference::BareReference(reference.clone()))
        }
        ImageReference::Remote(remote, reference) => held_by(*remote, reference.clone()),
    }
}

fn held_by(remote: Remote, reference: String) -> Box<dyn Source> {
    let daemon = |kind, reference| Box::new(daemon::Daemon { kind, reference });
    match remote {
        Remote::Docker => daemon(EngineKind::Docker, reference),
        Remote::Podman => daemon(EngineKind::Podman, reference),
        Remote::Containerd => Box::new(containerd::Containerd(reference)),
        Remote::Registry => Box::new(registry::Registry(reference)),
    }
}

/// Whether the path means standard input.
fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Leaves all layers unread.
struct NoLayers;

impl LayerConsumer for NoLayers {
    fn progress(&self) -> &dyn Progress {
        &NoProgress
    }

    fn read_image(&mut self, _: &Image) -> Result<bool> {
        Ok(false)
    }

    fn read_member(
        &mut self,
        name: &Path,
        _: u64,
        _: &mut (dyn Read + Send),
    ) -> Result<StreamedMember> {
        let problem = "a streamed image can only be read once";
        Err(Error::unsupported(name.display().to_string(), problem))
    }

    fn claim_member(&mut self, _: &Path, _: &LayerBlob) -> Result<()> {
        Ok(())
    }
}
