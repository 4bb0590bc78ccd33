//! What a path is, by what is there.

use std::path::Path;

use super::store::{Store, unreadable};
use super::{Image, Wanted, docker, oci, root_directory};
use crate::error::{Error, Result};

/// Directories of which a root filesystem has at least one.
const ROOT_DIRECTORIES: [&str; 4] = ["usr", "etc", "bin", "lib"];

/// Opens whatever image the path is.
pub(super) fn open(path: &Path, wanted: &Wanted) -> Result<Vec<Image>> {
    let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
    if metadata.is_dir() {
        open_directory(path, wanted)
    } else {
        archive(&Store::archive(path, wanted.limits)?, wanted)
    }
}

fn open_directory(path: &Path, wanted: &Wanted) -> Result<Vec<Image>> {
    let store = Store::directory(path, wanted.limits)?;
    if oci::is(&store) {
        return oci::open(&store, wanted);
    }
    if is_root(&store) {
        return Ok(vec![root_directory(path)?]);
    }
    let help = if store.contains("version") && store.contains("manifest.json") {
        format!(
            "this looks like skopeo's `dir:`; copy it: skopeo copy dir:{0} oci:image; then imgcheck oci:image",
            path.display()
        )
    } else {
        format!(
            "if it is a root directory all the same, say so: dir:{}",
            path.display()
        )
    };
    let problem = "neither an OCI layout (oci-layout, index.json) nor a root directory (usr, etc, bin or lib)";
    Err(Error::unsupported(store.subject(), problem).with_help(help))
}

/// Opens whatever image archive the store is.
pub(super) fn archive(store: &Store, wanted: &Wanted) -> Result<Vec<Image>> {
    if docker::is(store) {
        return docker::open(store, wanted);
    }
    if oci::is(store) {
        return oci::open(store, wanted);
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
