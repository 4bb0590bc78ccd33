#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::*;
use crate::elf::Depth;
use crate::source::overlay::Attributes;

/// A layer as an overlay keeps it that its user has mounted, and the facts of it.
struct Layer(tempfile::TempDir);

impl Layer {
    fn new() -> Self {
        let layer = Layer(tempfile::tempdir().unwrap());
        fs::create_dir(layer.path("diff")).unwrap();
        fs::create_dir(layer.path("record")).unwrap();
        layer
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn directory(&self, name: &str) {
        fs::create_dir_all(self.path("diff").join(name)).unwrap();
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.path("diff").join(name), text).unwrap();
    }

    fn mark(&self, name: &str, attribute: &str, value: &str) {
        let path = self.path("diff").join(name);
        let attribute = Attributes::User.name(attribute);
        setxattr(path, attribute, value.as_bytes(), XattrFlags::empty()).unwrap();
    }

    fn scan(&self) -> Result<LayerFacts> {
        let overlay = Overlay {
            directory: self.path("diff"),
            attributes: Attributes::User,
            record: self.path("record"),
        };
        let wanted = Wanted::builtin(Depth::Default).unwrap();
        scan_overlay(&overlay, &wanted, &|_| {})
    }

    /// The paths of one kind.
    fn paths(&self, kind: &EntryKind) -> Vec<String> {
        let entries = self.scan().unwrap().entries.into_iter();
        let found = entries.filter(|entry| entry.kind == *kind);
        found.map(|entry| entry.path).collect()
    }
}

#[test]
fn whiteouts_and_opaque_directories() {
    let layer = Layer::new();
    layer.directory("opt/opaque");
    layer.directory("opt/marked");
    layer.mark("opt/opaque", "opaque", "y");
    layer.mark("opt/marked", "opaque", "x");
    let device = layer.path("diff").join("opt/removed");
    mknodat(CWD, device, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    layer.file("opt/marked/removed", "");
    layer.mark("opt/marked/removed", "whiteout", "y");
    layer.file("opt/marked/empty", "");
    layer.file("opt/.wh.fuse", "");
    layer.file("opt/.wh..wh..opq", "");
    assert_eq!(
        layer.paths(&EntryKind::Whiteout),
        ["opt/fuse", "opt/removed", "opt/marked/removed"]
    );
    assert_eq!(layer.paths(&EntryKind::Opaque), ["opt", "opt/opaque"]);
    assert_eq!(
        layer.paths(&EntryKind::File(Content::Unread)),
        ["opt/marked/empty"]
    );
}

#[test]
fn what_is_partly_in_a_lower_layer_is_an_error() {
    let moved = Layer::new();
    moved.directory("opt/moved");
    moved.mark("opt/moved", "redirect", "/opt/before");
    let copied = Layer::new();
    copied.file("copied", "12345");
    copied.mark("copied", "metacopy", "");
    let removed = Layer::new();
    fs::remove_dir(removed.path("record")).unwrap();
    for (layer, problem) in [
        (moved, "moved here from a lower layer"),
        (copied, "its content is in a lower layer"),
        (removed, "was removed while it was read"),
    ] {
        let error = layer.scan().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn no_link_is_followed_and_no_fifo_is_opened() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("directory")).unwrap();
    fs::write(place.path().join("directory/file"), "x").unwrap();
    symlink("directory", place.path().join("link")).unwrap();
    symlink("file", place.path().join("directory/link")).unwrap();
    let fifo = place.path().join("fifo");
    mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let root = rustix::fs::open(place.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let open = |path: &str| open_below(&root, Path::new(path), OFlags::empty());
    assert!(open("directory/file").is_ok());
    for path in ["link/file", "directory/link", "link"] {
        let error = open(path).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }
    // A fifo that were waited for would keep the test for ever.
    let file = File::from(open("fifo").unwrap());
    assert!(!file.metadata().unwrap().is_file());
    let wanted = Wanted::builtin(Depth::Default).unwrap();
    let facts = scan(place.path(), &wanted, &|_| {}).unwrap();
    let special = facts.entries.iter().find(|entry| entry.path == "fifo");
    assert_eq!(special.unwrap().kind, EntryKind::Special);
}

#[test]
fn no_link_is_followed_where_the_kernel_cannot_be_told_so() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), "text").unwrap();
    symlink("a", root.join("link")).unwrap();
    symlink("file", root.join("a/b/link")).unwrap();
    let root: OwnedFd = File::open(root).unwrap().into();
    for (path, opens) in [
        ("", true),
        ("a/b/file", true),
        ("link/b/file", false),
        ("a/b/link", false),
        ("a/none", false),
    ] {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        let stepwise = open_step_by_step(&root, Path::new(path), flags).is_ok();
        let at_once = open_below(&root, Path::new(path), OFlags::RDONLY).is_ok();
        assert_eq!([stepwise, at_once], [opens; 2], "{path}");
    }
}
