//! OCI layouts in directories that somebody else filled: links, fifos and devices in the place of their files.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::layout;
use testkit::tools::say;

use crate::program::{imgcheck, repository};
use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_elf::Depth;
use imgcheck_image::{Content, EntryKind, LayerFacts};
use imgcheck_source::source::{self, Request};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};

/// A layout of one image with one layer, and a place outside of it.
struct Scratch {
    place: tempfile::TempDir,
    layer: Vec<u8>,
}

impl Scratch {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let layer = layout::layer(&[("etc/os-release", b"ID=inside")]);
        let directory = place.path().join("layout");
        fs::create_dir(&directory).unwrap();
        layout::write(&directory, "image", &[(layer.clone(), layer.clone())]);
        Scratch { place, layer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn layout(&self) -> PathBuf {
        self.path("layout")
    }

    /// The blob of the layer.
    fn blob(&self) -> PathBuf {
        layout::blob(&self.layout(), &self.layer)
    }

    /// Every file that is read to know the image.
    fn parts(&self) -> Vec<PathBuf> {
        let blobs = fs::read_dir(self.layout().join("blobs/sha256")).unwrap();
        let blobs = blobs.map(|blob| blob.unwrap().path());
        let named = ["index.json", "oci-layout"].map(|name| self.layout().join(name));
        blobs.chain(named).collect()
    }

    fn facts(&self) -> Result<LayerFacts> {
        facts(&self.layout())
    }
}

fn facts(layout: &Path) -> Result<LayerFacts> {
    let target = ImageReference::Oci(layout.to_owned(), None);
    let images = source::open(&target, &Request::default())?;
    let context = imgcheck_model::knowledge::read_context(Depth::Default).unwrap();
    let layer = context.read_layer(&images[0].layers[0])?;
    Ok(std::sync::Arc::unwrap_or_clone(layer.facts))
}

fn assert_is_read(facts: &Result<LayerFacts>) {
    let entry = &facts.as_ref().unwrap().entries[0];
    let text = Content::Text("ID=inside".to_owned());
    assert_eq!(entry.kind, EntryKind::File(text));
}

#[test]
fn links_that_stay_in_the_layout_are_followed() {
    let scratch = Scratch::new();
    for (at, part) in scratch.parts().into_iter().enumerate() {
        let store = scratch.layout().join("store");
        fs::create_dir_all(&store).unwrap();
        fs::rename(&part, store.join(at.to_string())).unwrap();
        let depth = part.strip_prefix(scratch.layout()).unwrap().iter().count();
        symlink(format!("{}store/{at}", "../".repeat(depth - 1)), part).unwrap();
    }
    assert_is_read(&scratch.facts());
    // The layout itself is the user's word.
    symlink("layout", scratch.path("link")).unwrap();
    assert_is_read(&facts(&scratch.path("link")));
}

#[test]
fn hard_links_to_a_store_of_the_user_are_files() {
    let scratch = Scratch::new();
    for part in scratch.parts() {
        fs::hard_link(
            &part,
            scratch.path(part.file_name().unwrap().to_str().unwrap()),
        )
        .unwrap();
    }
    assert_is_read(&scratch.facts());
}

#[test]
fn links_out_of_the_layout_are_an_error() {
    for is_absolute in [true, false] {
        for at in 0..5 {
            let scratch = Scratch::new();
            let part = scratch.parts().remove(at);
            fs::rename(&part, scratch.path("outside")).unwrap();
            let depth = part.strip_prefix(scratch.layout()).unwrap().iter().count();
            let target = match is_absolute {
                true => scratch.path("outside"),
                false => format!("{}outside", "../".repeat(depth)).into(),
            };
            symlink(&target, &part).unwrap();
            assert_eq!(
                fs::read(&part).unwrap(),
                fs::read(scratch.path("outside")).unwrap()
            );
            let error = scratch.facts().unwrap_err().to_string();
            let says = ["the link leads out of the layout", "is missing", "has no"];
            assert!(
                says.iter().any(|words| error.contains(words)),
                "{part:?}: {error}"
            );
        }
    }
    let scratch = Scratch::new();
    fs::rename(scratch.layout().join("blobs"), scratch.path("blobs")).unwrap();
    symlink("../blobs", scratch.layout().join("blobs")).unwrap();
    assert!(scratch.facts().is_err());
}

#[test]
fn special_files_are_an_error_and_never_opened() {
    for (kind, number) in [
        (FileType::Fifo, 0),
        // One that gives zeros without end.
        (FileType::CharacterDevice, makedev(1, 5)),
        (FileType::Directory, 0),
    ] {
        if kind == FileType::CharacterDevice && !rustix::process::geteuid().is_root() {
            say(format_args!("skipped: only root makes devices"));
            continue;
        }
        for at in 0..5 {
            let scratch = Scratch::new();
            let part = scratch.parts().remove(at);
            fs::remove_file(&part).unwrap();
            match kind {
                FileType::Directory => fs::create_dir(&part).unwrap(),
                _ => mknodat(CWD, &part, kind, Mode::RUSR | Mode::WUSR, number).unwrap(),
            }
            assert!(scratch.facts().is_err(), "{kind:?} {part:?}");
        }
    }
}

/// A blob of the outside with the right digest would be taken, could it be reached: what it is named is all that is verified.
#[test]
fn a_blob_that_becomes_a_link_is_not_followed() {
    let scratch = Scratch::new();
    let outside = layout::layer(&[("etc/os-release", b"ID=outsid")]);
    assert_eq!(outside.len(), scratch.layer.len());
    fs::write(scratch.path("outside"), outside).unwrap();
    symlink(scratch.path("outside"), scratch.path("evil")).unwrap();
    let (blob, evil) = (scratch.blob(), scratch.path("evil"));
    let is_over = AtomicBool::new(false);
    let mut read = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &blob, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let end = Instant::now() + Duration::from_secs(1);
        let mut found = Vec::new();
        while Instant::now() < end {
            found.push(scratch.facts());
        }
        is_over.store(true, Ordering::Relaxed);
        for facts in found.iter().filter(|facts| facts.is_ok()) {
            assert_is_read(facts);
            read += 1;
        }
    });
    assert!(read > 0);
}

/// skopeo's `oci:DIR:latest`: what the image claims to be is known only to the user.
#[test]
fn a_layout_that_records_only_a_tag_asks_for_a_name() {
    let sample = repository("testdata/sample/pytorch-cuda-v2.9.tar");
    let mut archive = tar::Archive::new(fs::File::open(sample).unwrap());
    let layers = archive.entries().unwrap().filter_map(|entry| {
        let mut entry = entry.unwrap();
        let mut layer = Vec::new();
        let is_layer = entry.path().unwrap().ends_with("layer.tar");
        entry.read_to_end(&mut layer).unwrap();
        is_layer.then(|| (layer.clone(), layer))
    });
    let layers: Vec<(Vec<u8>, Vec<u8>)> = layers.collect();
    for (tag, words) in [
        ("latest", "name it with --as NAME"),
        (
            "latest",
            "help  use a release tag, and pin the image by its digest",
        ),
        (
            "torch2.9-cu121",
            "help  tag the image `torch2.8-cu128`, or install",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        layout::write(directory.path(), tag, &layers);
        let output = imgcheck().arg(directory.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(words), "{words}: {text}");
        // Nothing that is proposed names the repository that does not exist.
        assert!(!text.contains("`unnamed:"), "{text}");
    }
}
