//! A path without a transport: recognized by its content.

use std::path::{Path, PathBuf};

use super::image::Image;
use super::platform::Selection;
use super::request::{LayerConsumer, Request, Source};
use super::store::{Store, unreadable};
use super::{docker, oci, root_directory};
use crate::error::{Error, Result};

/// A root filesystem has at least one of these directories.
const ROOT_DIRECTORIES: [&str; 4] = ["usr", "etc", "bin", "lib"];

/// A file or directory.
pub(super) struct AnyPath(pub PathBuf);

impl Source for AnyPath {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let path = &self.0;
        let selection = request.selection(None)?;
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        match metadata.is_dir() {
            true => open_directory(path, &selection),
            false => open_archive(&Store::archive(path, request)?, &selection),
        }
    }
}

fn open_directory(path: &Path, selection: &Selection) -> Result<Vec<Image>> {
    let store = Store::directory(path, selection.limits)?;
    if oci::is_layout(&store) {
        return oci::open(&store, selection);
    }
    if is_root(&store) {
        return Ok(vec![root_directory::open(path)?]);
    }
    // A directory that cannot be read looks empty to the checks above.
    std::fs::read_dir(path).map_err(|error| unreadable(path, error))?;
    let path = path.display();
    let help = if store.contains("version") && store.contains("manifest.json") {
        format!(
            "this looks like skopeo's `dir:`; copy it: skopeo copy dir:{path} oci:image; then imgcheck oci:image"
        )
    } else {
        format!("if it is a root directory, write dir:{path}")
    };
    let problem = "neither an OCI layout (oci-layout, index.json) nor a root directory (usr, etc, bin or lib)";
    Err(Error::unsupported(store.subject(), problem).with_help(help))
}

/// Opens a `docker save` archive or an OCI layout.
pub(super) fn open_archive(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    if docker::is_archive(store) {
        return docker::open(store, selection);
    }
    if oci::is_layout(store) {
        return oci::open(store, selection);
    }
    let help = if is_root(store) {
        "this looks like a root filesystem (`docker export`); use `docker save`, or unpack it and check the directory"
    } else {
        "give a `docker save` archive, an OCI layout or a root directory"
    };
    let problem = "not an image: a tar archive without manifest.json (docker save) and index.json (OCI layout)";
    Err(Error::unsupported(store.subject(), problem).with_help(help))
}

fn is_root(store: &Store) -> bool {
    ROOT_DIRECTORIES.iter().any(|name| store.has_at_top(name))
}
