//! Opening images in every storage, and the errors for damaged ones.

mod compressed;
mod containerd;
mod damaged;
mod selection;

use std::fs;
use std::path::{Path, PathBuf};

use imgcheck_base::error::Error;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_source::source::{self, Request, SourceKind};
use serde_json::{Value, json};
use testkit::{
    Compression, Image, Item, blob, docker_archive, file, oci_layout, symlink, write_archive,
    write_directory,
};

fn small(reference: &str) -> Image {
    Image::new(
        reference,
        &[
            &[file("etc/os-release", "ID=debian\n")],
            &[file("a", reference)],
        ],
    )
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn archive(&self, items: &[Item]) -> PathBuf {
        let path = self.path("image.tar");
        write_archive(&path, items);
        path
    }

    fn layout(&self, items: &[Item]) -> PathBuf {
        let path = self.path("layout");
        write_directory(&path, items);
        path
    }
}

fn open(path: &Path) -> imgcheck_base::error::Result<Vec<source::Image>> {
    source::open(&ImageReference::Path(path.to_owned()), &Request::default())
}

fn open_text(text: &str) -> imgcheck_base::error::Result<Vec<source::Image>> {
    source::open(&ImageReference::parse(text), &Request::default())
}

/// The problem of a source error, with the name of the source taken out.
fn problem(result: imgcheck_base::error::Result<Vec<source::Image>>, path: &Path) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let source = path.display().to_string();
    match error {
        Error::Source(failure) => {
            assert_eq!(failure.subject, source);
            failure.problem
        }
        Error::Limit { subject, exceeded } => {
            assert!(subject.starts_with(&source), "{subject}");
            exceeded.to_string()
        }
        error => panic!("{error:?}"),
    }
}

/// Changes the bytes of one file.
fn change(items: &mut [Item], name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let item = items.iter_mut().find_map(|item| match item {
        Item::File(path, content) if path == name => Some(content),
        _ => None,
    });
    change(item.unwrap());
}

fn change_json(items: &mut [Item], name: &str, with: impl FnOnce(&mut Value)) {
    change(items, name, |bytes| {
        let mut value = serde_json::from_slice(bytes).unwrap();
        with(&mut value);
        *bytes = value.to_string().into_bytes();
    });
}
