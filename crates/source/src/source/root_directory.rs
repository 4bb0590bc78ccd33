//! A plain root directory: an unpacked root filesystem without an image configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::image::{Annotations, Image, LayerBlob, LayerData, SourceKind};
use super::request::{LayerConsumer, Request, Source};
use super::store::Store;
use imgcheck_base::error::{Error, Result};

/// A root filesystem has at least one of these directories, the first if it is also a project.
const ROOT_DIRECTORIES: [&str; 4] = ["usr", "etc", "bin", "lib"];
/// What is at the top of a project.
const PROJECT: [&str; 4] = [".git", "Dockerfile", "pyproject.toml", "requirements.txt"];

/// `dir:PATH`.
pub(super) struct RootDirectory(pub PathBuf);

impl Source for RootDirectory {
    fn images(&self, _: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        Ok(vec![open(&self.0)?])
    }
}

/// Whether a directory or archive looks like a root filesystem.
pub(super) fn is_root(store: &Store) -> bool {
    let is_there = |name: &&str| store.has_at_top(name);
    match is_project(store) {
        true => is_there(&ROOT_DIRECTORIES[0]),
        false => ROOT_DIRECTORIES.iter().any(is_there),
    }
}

/// Whether a directory looks like the sources of a project.
pub(super) fn is_project(store: &Store) -> bool {
    PROJECT.iter().any(|name| store.has_at_top(name))
}

/// The directory as an image of one layer.
pub(super) fn open(path: &Path) -> Result<Image> {
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
        access: None,
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
        attestations: Vec::new(),
    })
}
