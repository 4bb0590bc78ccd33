#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, mknodat, renameat_with};
use rustix::io::Errno;

use super::linux::{check, step_by_step};
use super::*;

/// How long two threads race.
const RACE: Duration = Duration::from_secs(1);

/// A directory `root` with `d/file`, and things outside of it that may take the place of what is in it.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        let scratch = Scratch(tempfile::tempdir().unwrap());
        fs::create_dir_all(scratch.path("root/d")).unwrap();
        fs::create_dir_all(scratch.path("outside")).unwrap();
        fs::write(scratch.path("root/d/file"), "inside").unwrap();
        fs::write(scratch.path("outside/file"), "outside").unwrap();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn root(&self) -> Directory {
        root(&self.path("root")).unwrap()
    }

    /// Exchanges two things as fast as it can while `look` is called again and again.
    fn race(&self, one: &str, other: &str, mut look: impl FnMut()) {
        let (one, other) = (self.path(one), self.path(other));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let end = Instant::now() + RACE;
            while Instant::now() < end {
                look();
            }
        });
    }
}

/// Ends a race, also where a check fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What can be read of a file; empty where it cannot be opened.
fn text(file: io::Result<impl Into<File>>) -> String {
    let mut text = String::new();
    if let Ok(file) = file {
        file.into().read_to_string(&mut text).unwrap();
    }
    text
}

#[test]
fn links_are_followed_only_below_the_root() {
    let scratch = Scratch::new();
    symlink("d", scratch.path("root/link")).unwrap();
    symlink("file", scratch.path("root/d/link")).unwrap();
    symlink("../outside", scratch.path("root/out")).unwrap();
    symlink(scratch.path("root/d"), scratch.path("root/absolute")).unwrap();
    let root = scratch.root();
    let portable = portable::root(&scratch.path("root")).unwrap();
    for (path, is_link, is_beneath) in [
        ("d/file", false, true),
        ("link/file", true, true),
        ("d/link", true, true),
        ("out/file", true, false),
        ("absolute/file", true, false),
        ("../outside/file", true, false),
        ("/etc/passwd", true, false),
        ("d", true, false),
        ("none", true, false),
    ] {
        let path = Path::new(path);
        let opens = |links| file(&root, path, links).is_ok();
        assert_eq!(opens(Links::Refused), !is_link, "{path:?}");
        assert_eq!(opens(Links::Beneath), is_beneath, "{path:?}");
        let stepwise = step_by_step(&root, path, OFlags::PATH).and_then(check);
        assert_eq!(stepwise.is_ok(), !is_link, "{path:?}");
        let opens = |links| portable::file(&portable, path, links).is_ok();
        assert_eq!(opens(Links::Refused), !is_link, "{path:?}");
        // A link that is written as a whole path may stay in the directory.
        let is_beneath = is_beneath || path.starts_with("absolute");
        assert_eq!(opens(Links::Beneath), is_beneath, "{path:?}");
    }
    let error = |path: &str| {
        let found = file(&root, Path::new(path), Links::Beneath);
        found.unwrap_err().to_string()
    };
    assert_eq!(error("out/file"), "the path leads out of the directory");
    assert_eq!(error("d"), "not a regular file");
    let found = portable::file(&portable, Path::new("out/file"), Links::Beneath);
    assert_eq!(found.unwrap_err().to_string(), error("out/file"));
}

#[test]
fn directories_are_opened_by_the_same_rules() {
    let scratch = Scratch::new();
    symlink("d", scratch.path("root/link")).unwrap();
    let root = scratch.root();
    let portable = portable::root(&scratch.path("root")).unwrap();
    for (path, opens) in [("", true), ("d", true), ("link", false), ("d/file", false)] {
        let path = Path::new(path);
        assert_eq!(
            directory(&root, path, Links::Refused).is_ok(),
            opens,
            "{path:?}"
        );
        let stepwise = step_by_step(&root, path, OFlags::DIRECTORY);
        assert_eq!(stepwise.is_ok(), opens, "{path:?}");
        let found = portable::directory(&portable, path, Links::Refused);
        assert_eq!(found.is_ok(), opens, "{path:?}");
    }
}

#[test]
fn the_standard_library_tells_what_the_kernel_tells() {
    let scratch = Scratch::new();
    symlink("../d/file", scratch.path("root/d/link")).unwrap();
    fs::hard_link(scratch.path("root/d/file"), scratch.path("root/d/other")).unwrap();
    let fifo = scratch.path("root/d/fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let root = directory(&scratch.root(), Path::new("d"), Links::Refused).unwrap();
    let portable = portable::root(&scratch.path("root/d")).unwrap();
    let sorted = |names: io::Result<Vec<_>>| {
        let mut names = names.unwrap();
        names.sort();
        names
    };
    let found = sorted(names(&root).unwrap().collect());
    assert_eq!(found, ["fifo", "file", "link", "other"]);
    assert_eq!(found, sorted(portable::names(&portable).unwrap().collect()));
    for name in ["", "fifo", "file", "link", "other"] {
        let name = Path::new(name);
        let one = metadata(&root, name).unwrap();
        assert_eq!(
            one,
            portable::metadata(&portable, name).unwrap(),
            "{name:?}"
        );
    }
    let found = file(&root, Path::new("file"), Links::Refused).unwrap();
    let name = "user.none";
    assert_eq!(attribute(&found, name).unwrap(), None);
    assert_eq!(portable::attribute(&found, name).unwrap(), None);
    let target = link_target(&root, "link".as_ref()).unwrap();
    assert_eq!(target, "../d/file");
    assert_eq!(
        portable::link_target(&portable, "link".as_ref()).unwrap(),
        target
    );
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere() {
    let scratch = Scratch::new();
    symlink(scratch.path("outside"), scratch.path("evil")).unwrap();
    let root = scratch.root();
    let path = Path::new("d/file");
    let mut seen = [0_u32; 3];
    scratch.race("root/d", "evil", || {
        let texts = [
            text(file(&root, path, Links::Refused)),
            text(file(&root, path, Links::Beneath)),
            text(step_by_step(&root, path, OFlags::RDONLY)),
        ];
        for (text, seen) in texts.iter().zip(&mut seen) {
            assert_ne!(text, "outside");
            *seen += u32::from(text == "inside");
        }
    });
    assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
}

#[test]
fn a_file_that_becomes_a_link_is_not_followed() {
    let scratch = Scratch::new();
    symlink(scratch.path("outside/file"), scratch.path("evil")).unwrap();
    let root = scratch.root();
    let path = Path::new("d/file");
    scratch.race("root/d/file", "evil", || {
        for text in [
            text(file(&root, path, Links::Refused)),
            text(file(&root, path, Links::Beneath)),
            text(step_by_step(&root, path, OFlags::RDONLY)),
        ] {
            assert_ne!(text, "outside");
        }
    });
}

/// A fifo can be opened for writing, without waiting, only while somebody has it open for reading.
#[test]
fn a_file_that_becomes_a_fifo_is_never_opened() {
    let scratch = Scratch::new();
    let evil = scratch.path("evil");
    mknodat(CWD, &evil, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let fifo = rustix::fs::open(&evil, OFlags::PATH, Mode::empty()).unwrap();
    let writer = format!("/proc/self/fd/{}", fifo.as_raw_fd());
    let root = scratch.root();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            while !is_over.load(Ordering::Relaxed) {
                let opened = rustix::fs::open(&writer, flags, Mode::empty());
                assert_eq!(opened.err(), Some(Errno::NXIO), "somebody reads the fifo");
            }
        });
        scratch.race("root/d/file", "evil", || {
            let _ = file(&root, Path::new("d/file"), Links::Refused);
        });
    });
}
