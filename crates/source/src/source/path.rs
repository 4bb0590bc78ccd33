//! A path without a transport: recognized by its content.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive_file::{ArchiveFile, ArchiveFormat};
use super::image::Image;
use super::platform::Selection;
use super::request::{LayerConsumer, Request, Source};
use super::store::{Store, unreadable};
use super::{apptainer, enroot, oci, root_directory};
use imgcheck_archive::archive::FileRange;
use imgcheck_archive::archive::compression::{SNIFFED, sniff};
use imgcheck_archive::squashfs::MAGIC;
use imgcheck_base::error::{Error, Result};

/// A file or directory.
pub(super) struct AnyPath(pub PathBuf);

impl Source for AnyPath {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let path = &self.0;
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if metadata.is_dir() {
            return open_directory(path, &request.selection(None)?);
        }
        if metadata.is_file() {
            let file = File::open(path).map_err(|error| unreadable(path, error))?;
            let file = FileRange::new(Arc::new(file), 0, metadata.len());
            let mut start = [0; apptainer::SNIFFED];
            let length = file.read_at(0, &mut start);
            let length = length.map_err(|error| unreadable(path, error))?;
            if start[..length].starts_with(&MAGIC) {
                return Ok(vec![enroot::open(path, file, request)?]);
            }
            if apptainer::is_sif(&start[..length]) {
                return Ok(vec![apptainer::open(path, &file, request)?]);
            }
        }
        let archive = ArchiveFile {
            path: path.clone(),
            reference: None,
            format: ArchiveFormat::Any,
        };
        archive.images(request, layers)
    }
}

/// Whether a file is one that images are in: a tar archive, compressed or not, a `.sqsh` or a `.sif`.
pub fn is_image_file(path: &Path) -> bool {
    let mut start = Vec::new();
    let is_file = path.metadata().is_ok_and(|it| it.is_file());
    let file = File::open(path).ok().filter(|_| is_file);
    let most = SNIFFED.max(apptainer::SNIFFED) as u64;
    let read = file.map(|file| file.take(most).read_to_end(&mut start));
    matches!(read, Some(Ok(1..)))
        && (start.starts_with(&MAGIC) || apptainer::is_sif(&start) || sniff(&start).is_ok())
}

fn open_directory(path: &Path, selection: &Selection) -> Result<Vec<Image>> {
    let store = Store::directory(path, selection.limits)?;
    if oci::is_layout(&store) {
        return oci::open(&store, selection);
    }
    if root_directory::is_root(&store) {
        return Ok(vec![root_directory::open(path)?]);
    }
    // A directory that cannot be read looks empty to the checks above.
    std::fs::read_dir(path).map_err(|error| unreadable(path, error))?;
    let path = path.display();
    let help = if store.contains("version") && store.contains("manifest.json") {
        format!(
            "this looks like skopeo's `dir:`; copy it: skopeo copy dir:{path} oci:image; then imgcheck oci:image"
        )
    } else if root_directory::is_project(&store) {
        format!(
            "to check the Dockerfiles and requirements of a project: imgcheck lint {path}; if it is a root directory, write dir:{path}"
        )
    } else {
        format!("if it is a root directory, write dir:{path}")
    };
    let problem =
        "neither an OCI layout (oci-layout, index.json) nor a root directory (usr, etc, bin, lib)";
    Err(Error::unsupported(store.subject(), problem).with_help(help))
}
