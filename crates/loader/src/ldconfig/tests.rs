#![allow(clippy::unwrap_used)]

use super::*;
use crate::abi::Abi;
use crate::cache::CacheError;
use crate::cache::Entry;
use crate::hwcaps::GlibcVersion;
use imgcheck_elf::ElfFacts;
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry as File, EntryKind, LayerFacts};

const GLIBC: GlibcVersion = GlibcVersion::new(2, 41);

/// Layers of an image: a path with its content.
#[derive(Default)]
struct Image(Vec<LayerFacts>);

impl Image {
    fn layer(mut self) -> Self {
        self.0.push(LayerFacts::default());
        self
    }

    fn file(mut self, path: &str, kind: EntryKind) -> Self {
        if self.0.is_empty() {
            self = self.layer();
        }
        self.0.last_mut().unwrap().entries.push(File {
            path: path.to_owned(),
            kind,
            size: 1,
            mode: 0o755,
            owner: Default::default(),
        });
        self
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.file(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.file(path, EntryKind::Symlink(target.to_owned()))
    }

    fn library(self, path: &str, soname: &str) -> Self {
        self.elf(path, soname, 62, 64)
    }

    fn elf(self, path: &str, soname: &str, machine: u16, class: u8) -> Self {
        let facts = ElfFacts {
            class,
            machine,
            object_type: 3,
            soname: (!soname.is_empty()).then(|| soname.to_owned()),
            needed: vec!["libm.so.5".to_owned()],
            ..ElfFacts::default()
        };
        self.file(path, EntryKind::File(Content::Elf(Box::new(facts))))
    }

    fn with<T>(&self, ask: impl FnOnce(&RootFilesystem<'_>) -> T) -> T {
        ask(&RootFilesystem::merge(&self.0))
    }

    /// `name flags path` of each entry that ldconfig would write.
    fn rebuilt(&self, glibc: GlibcVersion) -> Vec<String> {
        let root = RootFilesystem::merge(&self.0);
        let rebuilt = rebuild(&root, Abi::X86_64, glibc);
        assert!(rebuilt.complete);
        assert_eq!(rebuilt.files.len(), rebuilt.cache.entries.len());
        let line = |entry: &Entry| format!("{} {:x} {}", entry.name, entry.flags, entry.path);
        rebuilt.cache.entries.iter().map(line).collect()
    }
}

fn paths(configuration: &Configuration) -> Vec<(String, String)> {
    let origin = |origin: &DirectoryOrigin| match origin {
        DirectoryOrigin::File { path, line } => format!("{path}:{line}"),
        DirectoryOrigin::System => "system".to_owned(),
    };
    let directories = configuration.directories.iter();
    directories
        .map(|directory| (directory.path.clone(), origin(&directory.origin)))
        .collect()
}

#[test]
fn the_configuration_is_read_in_order() {
    let image = Image::default()
        .text(
            "etc/ld.so.conf",
            "# first\n\n /opt/a/ # here\ninclude ld.so.conf.d/*.conf  other.conf\n/opt/z=libc6\nhwcap 0 nosegneg\ninclude\n",
        )
        .text("etc/ld.so.conf.d/b.conf", "/opt/b\r\n")
        .text("etc/ld.so.conf.d/a.conf", "include /etc/ld.so.conf\n/opt/with space\t\n")
        .text("etc/other.conf", "/opt/other")
        .file("etc/ld.so.conf.d/unread.conf", EntryKind::File(Content::Unread));
    image.with(|root| {
        let found = configuration(root, Abi::X86_64, GLIBC);
        let expected = [
            ("/opt/a", "/etc/ld.so.conf:3"),
            ("/opt/with space", "/etc/ld.so.conf.d/a.conf:2"),
            ("/opt/b", "/etc/ld.so.conf.d/b.conf:1"),
            ("/opt/other", "/etc/other.conf:1"),
            ("/opt/z=libc6", "/etc/ld.so.conf:5"),
            ("include", "/etc/ld.so.conf:7"),
            ("/lib", "system"),
            ("/lib64", "system"),
            ("/libx32", "system"),
            ("/usr/lib", "system"),
            ("/usr/lib64", "system"),
            ("/usr/libx32", "system"),
        ];
        let expected = expected.map(|(path, origin)| (path.to_owned(), origin.to_owned()));
        assert_eq!(paths(&found), expected);
        assert_eq!(found.unread, ["/etc/ld.so.conf.d/unread.conf"]);
        assert!(found.complete);
        let older = configuration(root, Abi::X86_64, GlibcVersion::new(2, 36));
        assert_eq!(older.directories[4].path, "/opt/z");
    });
}

#[test]
fn debian_has_its_own_directories() {
    let image = Image::default().library("usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6");
    image.with(|root| {
        let found: Vec<String> = system_directories(root, Abi::X86_64).collect();
        let expected = [
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib",
            "/usr/lib",
        ];
        assert_eq!(found, expected);
        assert_eq!(system_directories(root, Abi::Aarch64).count(), 6);
    });
}

#[test]
fn one_entry_for_each_soname_of_a_directory() {
    let image = Image::default()
        .library("usr/lib/libfoo.so.1.9", "libfoo.so.1")
        .library("usr/lib/libfoo.so.1.10", "libfoo.so.1")
        .link("usr/lib/libfoo.so.1", "libfoo.so.1.9")
        .link("usr/lib/libfoo.so", "libfoo.so.1")
        .link("usr/lib/libstale.so.1", "nowhere")
        .link("usr/lib/libother.so", "libfoo.so.1.9")
        .library("usr/lib/libplain.so", "")
        .library("usr/lib/foo.so", "foo.so")
        .library("usr/local/lib/libfoo.so.1", "libfoo.so.1")
        .text("etc/ld.so.conf", "/usr/local/lib")
        .text("usr/lib/libc.so", "GROUP ( /lib/libc.so.6 )")
        .elf("usr/lib/libarm.so.1", "libarm.so.1", 183, 64)
        .elf("usr/lib/libold.so.1", "libold.so.1", 3, 32);
    let expected = [
        "libplain.so 303 /usr/lib/libplain.so",
        "libold.so.1 3 /usr/lib/libold.so.1",
        "libfoo.so.1 303 /usr/local/lib/libfoo.so.1",
        "libfoo.so.1 303 /usr/lib/libfoo.so.1",
        "libfoo.so 303 /usr/lib/libfoo.so",
    ];
    assert_eq!(image.rebuilt(GLIBC), expected);
    let older = image.rebuilt(GlibcVersion::new(2, 31));
    assert!(older.contains(&"libold.so.1 1 /usr/lib/libold.so.1".to_owned()));
    image.with(|root| {
        let rebuilt = rebuild(root, Abi::X86_64, GLIBC);
        let at = rebuilt
            .cache
            .entries
            .iter()
            .rposition(|entry| entry.name == "libfoo.so.1");
        // Not libfoo.so.1.10: libother.so is no link as it should be, so it counts as a file, and its name is the greatest.
        assert_eq!(rebuilt.files[at.unwrap()].path(), "/usr/lib/libfoo.so.1.9");
    });
}

#[test]
fn subdirectories_for_processors() {
    let image = Image::default()
        .library("usr/lib/libm.so.6", "libm.so.6")
        .library("usr/lib/glibc-hwcaps/x86-64-v3/libm-2.so", "libm.so.6")
        .library("usr/lib/glibc-hwcaps/x86-64-v2/libm.so.6", "libm.so.6")
        .library("usr/lib/glibc-hwcaps/.hidden/libm.so.6", "libm.so.6")
        .library("usr/lib/haswell/libm.so.6", "libm.so.6")
        .library("usr/lib/haswell/x86_64/libm.so.6", "libm.so.6")
        .link("lib", "usr/lib");
    let newest = [
        "libm.so.6 303 /lib/glibc-hwcaps/x86-64-v2/libm.so.6",
        "libm.so.6 303 /lib/glibc-hwcaps/x86-64-v3/libm-2.so",
        "libm.so.6 303 /lib/libm.so.6",
    ];
    assert_eq!(image.rebuilt(GLIBC), newest);
    let oldest = [
        "libm.so.6 303 /lib/haswell/x86_64/libm.so.6",
        "libm.so.6 303 /lib/haswell/libm.so.6",
        "libm.so.6 303 /lib/libm.so.6",
    ];
    assert_eq!(image.rebuilt(GlibcVersion::new(2, 31)), oldest);
    let both = [&newest[..2], &oldest[..]].concat();
    assert_eq!(image.rebuilt(GlibcVersion::new(2, 36)), both);
}

fn old_cache(entries: &[(&str, &str)]) -> EntryKind {
    EntryKind::File(Content::Bytes(testkit::ld_so_cache::old_format(entries)))
}

fn stale(image: &Image) -> Staleness {
    image.with(|root| staleness(root, &rebuild(root, Abi::X86_64, GLIBC)))
}

#[test]
fn staleness_lists_missing_and_dangling_entries() {
    let base = || Image::default().library("usr/lib/liba.so.1", "liba.so.1");
    assert_eq!(stale(&base()).state, CacheState::Missing);
    let current = base().file(
        "etc/ld.so.cache",
        old_cache(&[("liba.so.1", "/usr/lib/liba.so.1")]),
    );
    assert_eq!(stale(&current).state, CacheState::Current);
    let corrupt = base().file(
        "etc/ld.so.cache",
        EntryKind::File(Content::Bytes(vec![1, 2])),
    );
    let corrupt = stale(&corrupt);
    assert_eq!(
        (corrupt.state, corrupt.problem),
        (CacheState::Corrupt, Some(CacheError::Magic))
    );

    let entries = [
        ("libgone.so.1", "/usr/lib/libgone.so.1"),
        ("libb.so.1", "/opt/libb.so.1"),
        ("liba.so.1", "/usr/lib/liba.so.1"),
    ];
    let image = base()
        .library("opt/libb.so.1", "libb.so.1")
        .file("etc/ld.so.cache", old_cache(&entries))
        .layer()
        .library("usr/lib/libnew.so.2.1", "libnew.so.2");
    let found = stale(&image);
    assert_eq!((found.state, found.layer), (CacheState::Stale, Some(0)));
    assert_eq!(found.missing.len(), 1);
    let missing = &found.missing[0];
    assert_eq!(missing.entry.path, "/usr/lib/libnew.so.2");
    assert_eq!(
        (missing.file.as_str(), missing.layer),
        ("/usr/lib/libnew.so.2.1", Some(1))
    );
    assert_eq!(found.dangling[0].name, "libgone.so.1");
    assert_eq!(found.dropped[0].name, "libb.so.1");
}
