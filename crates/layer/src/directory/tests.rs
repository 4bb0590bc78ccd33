#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, XattrFlags, mknodat, renameat_with, setxattr};

use super::*;
use crate::tests::context;
use imgcheck_source::source::overlay::Attributes;

/// A layer as the overlay file system of an unprivileged user stores it.
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
            storage: self.0.path().to_owned(),
            directory: "diff".into(),
            attributes: Attributes::User,
            record: "record".into(),
        };
        scan_overlay(&context(), &overlay)
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
fn a_layer_that_depends_on_lower_layers_is_an_error() {
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
        (removed, "was removed while it was being read"),
    ] {
        let error = layer.scan().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_layer_that_is_a_link_is_not_followed() {
    let layer = Layer::new();
    let outside = tempfile::tempdir().unwrap();
    fs::rename(layer.path("diff"), outside.path().join("diff")).unwrap();
    symlink(outside.path().join("diff"), layer.path("diff")).unwrap();
    assert!(layer.scan().is_err());
}

#[test]
fn devices_and_fifos_are_never_opened() {
    let place = tempfile::tempdir().unwrap();
    for (name, kind) in [
        ("fifo", FileType::Fifo),
        ("device", FileType::CharacterDevice),
    ] {
        // A fifo that were waited for would keep the test for ever, and there is no device of this number.
        let number = rustix::fs::makedev(4095, 1);
        mknodat(CWD, place.path().join(name), kind, Mode::RUSR, number).unwrap();
    }
    let facts = scan(&context(), place.path()).unwrap();
    let found = facts
        .entries
        .iter()
        .map(|entry| (&*entry.path, &entry.kind));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            ("device", &EntryKind::Special),
            ("fifo", &EntryKind::Special)
        ]
    );
}

/// Ends a race, even if an assertion fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Scans again and again while `inside`, a path below the scanned directory, is exchanged with what `make` makes of a path beside it.
fn race(inside: &str, make: impl FnOnce(&Path, &Path)) {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    for (place, text) in [("root", "ID=inside"), ("outside", "ID=outside")] {
        fs::create_dir_all(path(place).join("etc")).unwrap();
        fs::write(path(place).join("etc/os-release"), text).unwrap();
    }
    fs::copy("/proc/self/exe", path("outside/etc/only-outside")).unwrap();
    make(&path("evil"), &path("outside"));
    let (inside, evil) = (path("root").join(inside), path("evil"));
    let context = context();
    let (is_over, mut scans, mut refused) = (AtomicBool::new(false), 0, 0);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &inside, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            scans += 1;
            let Ok(facts) = scan(&context, &path("root")) else {
                refused += 1;
                continue;
            };
            for entry in facts.entries {
                assert!(!entry.path.contains("only-outside"), "{entry:?}");
                assert_ne!(
                    entry.kind,
                    EntryKind::File(Content::Text("ID=outside".to_owned()))
                );
            }
        }
    });
    assert!(scans > refused, "all of {scans} scans were refused");
}

#[test]
fn a_directory_replaced_by_a_link_is_not_followed() {
    race("etc", |evil, outside| {
        symlink(outside.join("etc"), evil).unwrap()
    });
}

#[test]
fn a_file_replaced_by_a_link_is_not_followed() {
    race("etc/os-release", |evil, outside| {
        symlink(outside.join("etc/os-release"), evil).unwrap();
    });
}

#[test]
fn a_file_replaced_by_a_fifo_does_not_block() {
    race("etc/os-release", |evil, _| {
        mknodat(CWD, evil, FileType::Fifo, Mode::RUSR, 0).unwrap();
    });
}
