//! The merged root filesystem: cases by hand, and properties against the kernel itself.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use imgcheck::image::{ResolveError, RootFilesystem};
use imgcheck::layer::{Content, Entry, EntryKind, LayerFacts};

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry {
        path: path.to_owned(),
        kind,
        size: 0,
        mode: 0o755,
    }
}

fn directory(path: &str) -> Entry {
    entry(path, EntryKind::Directory)
}

fn file(path: &str, text: &str) -> Entry {
    entry(path, EntryKind::File(Content::Text(text.to_owned())))
}

fn symlink(path: &str, target: &str) -> Entry {
    entry(path, EntryKind::Symlink(target.to_owned()))
}

fn hard_link(path: &str, target: &str) -> Entry {
    entry(path, EntryKind::HardLink(target.to_owned()))
}

fn whiteout(path: &str) -> Entry {
    entry(path, EntryKind::Whiteout)
}

fn opaque(path: &str) -> Entry {
    entry(path, EntryKind::Opaque)
}

fn layers<const N: usize>(layers: [Vec<Entry>; N]) -> Vec<LayerFacts> {
    layers.map(|entries| LayerFacts { entries }).to_vec()
}

/// Every path of the tree with its layer, directories with a `/` at their end.
fn listing(root: &RootFilesystem) -> Vec<String> {
    root.walk_tree()
        .map(|node| {
            let slash = if node.is_directory() { "/" } else { "" };
            format!(
                "{}{slash} {}",
                node.path(),
                node.layer().unwrap_or(usize::MAX)
            )
        })
        .collect()
}

#[test]
fn later_layers_replace_and_remove() {
    let layers = layers([
        vec![
            directory("a"),
            file("a/kept", ""),
            file("a/gone", ""),
            file("b", "old"),
        ],
        vec![
            directory("a"),
            whiteout("a/gone"),
            file("b", "new"),
            file("c", ""),
        ],
    ]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(listing(&root), ["/a/ 0", "/a/kept 0", "/b 1", "/c 1"]);
    assert_eq!(root.resolve("/b").unwrap().text(), Some("new"));
}

#[test]
fn a_whiteout_acts_on_lower_layers_only_wherever_it_stands() {
    // The example of the OCI image specification, layer.md, "Whiteouts", in both orders.
    let base = vec![
        directory("a"),
        directory("a/b"),
        directory("a/b/c"),
        file("a/b/c/bar", ""),
    ];
    let recreated = [
        directory("a"),
        directory("a/b"),
        directory("a/b/c"),
        file("a/b/c/foo", ""),
    ];
    let expected = ["/a/ 0", "/a/b/ 1", "/a/b/c/ 1", "/a/b/c/foo 1"];
    for marker_first in [true, false] {
        for marker in [opaque("a"), whiteout("a/b")] {
            let mut upper = recreated.to_vec();
            upper.insert(if marker_first { 0 } else { upper.len() }, marker);
            let layers = layers([base.clone(), upper]);
            assert_eq!(listing(&RootFilesystem::merge(&layers)), expected);
        }
    }
}

#[test]
fn a_whiteout_of_nothing_and_of_the_root_does_nothing() {
    let layers = layers([
        vec![file("a", "")],
        vec![whiteout("x/y"), whiteout(""), opaque("z")],
    ]);
    assert_eq!(listing(&RootFilesystem::merge(&layers)), ["/a 0", "/z/ 1"]);
}

#[test]
fn an_opaque_root_hides_all_lower_layers() {
    let layers = layers([vec![file("a/b", "")], vec![file("c", ""), opaque("")]]);
    assert_eq!(listing(&RootFilesystem::merge(&layers)), ["/c 1"]);
}

#[test]
fn a_directory_and_a_file_replace_each_other() {
    let layers = layers([
        vec![file("a/x", ""), file("b", "")],
        vec![file("a", ""), file("b/x", "")],
    ]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a 1", "/b/ 1", "/b/x 1"]
    );
}

#[test]
fn entries_before_their_parents_and_duplicates() {
    let layers = layers([vec![
        file("a/b/c", "first"),
        directory("a"),
        file("a/b/c", "second"),
    ]]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(listing(&root), ["/a/ 0", "/a/b/ 0", "/a/b/c 0"]);
    assert_eq!(root.resolve("a/b/c").unwrap().text(), Some("second"));
    assert_eq!(root.resolve("a").unwrap().mode(), Some(0o755));
    assert_eq!(root.resolve("a/b").unwrap().mode(), None);
}

#[test]
fn hard_links_are_one_file_also_across_layers() {
    let layers = layers([
        vec![
            hard_link("early", "a"),
            file("a", "one"),
            hard_link("b", "a"),
            file("other", "one"),
        ],
        vec![
            hard_link("c", "b"),
            file("a", "two"),
            hard_link("lost", "nowhere"),
        ],
    ]);
    let root = RootFilesystem::merge(&layers);
    let identity = |path: &str| root.entry(path).unwrap().identity();
    assert_eq!(identity("b"), identity("c"));
    assert_eq!(identity("b"), identity("early"));
    assert_ne!(identity("a"), identity("b"));
    assert_ne!(identity("other"), identity("b"));
    assert_eq!(root.resolve("c").unwrap().text(), Some("one"));
    assert_eq!(root.resolve("c").unwrap().layer(), Some(1));
    assert!(root.entry("lost").is_none());
    let links: Vec<_> = root
        .hard_links(identity("b").unwrap())
        .map(|node| node.path())
        .collect();
    assert_eq!(links, ["/b", "/c", "/early"]);
}

#[test]
fn links_in_the_parents_of_an_entry_are_followed() {
    // As COPY does on a distribution whose /lib leads to /usr/lib.
    let layers = layers([
        vec![directory("usr/lib"), symlink("lib", "usr/lib")],
        vec![file("lib/x/libfoo.so", ""), whiteout("lib/none")],
    ]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(
        root.resolve("/usr/lib/x/libfoo.so").unwrap().layer(),
        Some(1)
    );
    assert_eq!(
        root.resolve("/lib/x/libfoo.so").unwrap().path(),
        "/usr/lib/x/libfoo.so"
    );
    assert_eq!(
        root.entry("/lib").unwrap().symlink_target(),
        Some("usr/lib")
    );
}

#[test]
fn links_are_resolved_inside_the_root() {
    let layers = layers([vec![
        file("usr/lib/x86_64-linux-gnu/libc.so.6", ""),
        symlink("lib", "usr/lib"),
        symlink("absolute", "/lib/x86_64-linux-gnu"),
        symlink("outside", "../../../../usr/lib"),
        symlink("usr/lib/up", ".."),
        symlink("self", "self"),
        symlink("ping", "pong"),
        symlink("pong", "/ping"),
        symlink("dangling", "/nowhere"),
        symlink("empty", ""),
        file("plain", ""),
    ]]);
    let root = RootFilesystem::merge(&layers);
    let path = |path: &str| root.resolve(path).map(|node| node.path());
    let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned();
    for name in [
        "/lib/x86_64-linux-gnu/libc.so.6",
        "absolute/libc.so.6",
        "outside/x86_64-linux-gnu/libc.so.6",
        "/lib/up/lib//x86_64-linux-gnu/./libc.so.6",
        "../../usr/lib/x86_64-linux-gnu/libc.so.6",
    ] {
        assert_eq!(path(name), Ok(libc.clone()), "{name}");
    }
    assert_eq!(path("/"), Ok("/".to_owned()));
    assert_eq!(path("self"), Err(ResolveError::Loop));
    assert_eq!(path("ping/x"), Err(ResolveError::Loop));
    assert_eq!(path("dangling"), Err(ResolveError::NotFound));
    assert_eq!(path("empty"), Err(ResolveError::NotFound));
    assert_eq!(path("plain/x"), Err(ResolveError::NotADirectory));
    assert_eq!(path("plain/.."), Err(ResolveError::NotADirectory));
    assert_eq!(path(&"x/".repeat(3000)), Err(ResolveError::NameTooLong));
    assert_eq!(
        root.read_dir("/lib")
            .map(|node| node.name())
            .collect::<Vec<_>>(),
        ["up", "x86_64-linux-gnu"]
    );
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let chain = |length: usize| {
        let mut entries: Vec<_> = (1..length)
            .map(|index| symlink(&format!("l{index}"), &format!("l{}", index + 1)))
            .collect();
        entries.push(symlink(&format!("l{length}"), "end"));
        entries.push(file("end", ""));
        layers([entries])
    };
    let forty = chain(40);
    assert!(RootFilesystem::merge(&forty).resolve("l1").is_ok());
    let more = chain(41);
    assert_eq!(
        RootFilesystem::merge(&more).resolve("l1").err(),
        Some(ResolveError::Loop)
    );
}

#[test]
fn hostile_layers_end() {
    let deep = "d/".repeat(100_000) + "f";
    let mut entries = vec![
        file(&deep, ""),
        symlink("loop", "loop/loop"),
        file("loop/x", ""),
        file("../../escape", ""),
        file("a/..", ""),
        hard_link("me", "me"),
        directory(""),
        file("", ""),
        hard_link("dir", "d"),
    ];
    entries.extend((0..1000).map(|index| file(&format!("loop/{index}/x"), "")));
    let layers = layers([entries]);
    let root = RootFilesystem::merge(&layers);
    assert!(root.entry("escape").is_some());
    assert!(root.entry("me").is_none());
    assert!(root.entry("dir").is_none());
    assert!(root.files().count() > 1000);
}

/// Random layers against the kernel: what a merge gives is what applying the layers to a directory gives, and a path leads where
/// `openat2(2)` with RESOLVE_IN_ROOT leads. Kernels and sandboxes without `openat2` leave these out.
mod kernel {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::io;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

    use super::*;

    /// Where a path leads inside a root.
    fn resolve(root: &Path, path: &str) -> io::Result<PathBuf> {
        let directory = fs::File::open(root)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let path = if path.is_empty() { "." } else { path };
        let found = openat2(
            &directory,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::IN_ROOT,
        )?;
        use std::os::fd::AsRawFd;
        fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd()))
    }

    fn is_available() -> bool {
        let available = resolve(Path::new("/"), "/").is_ok();
        if !available {
            eprintln!("skipped: openat2 is not available here");
        }
        available
    }

    /// The real directory for the parent of an entry, made as tar would make it. `None` where the specification does not say what
    /// happens: a parent that is a link to nowhere.
    fn parent(root: &Path, path: &str) -> Option<PathBuf> {
        let mut prefix = String::new();
        let mut current = root.to_owned();
        let (directories, _) = path.rsplit_once('/').unwrap_or(("", path));
        for name in directories.split('/').filter(|name| !name.is_empty()) {
            prefix = format!("{prefix}/{name}");
            let place = current.join(name);
            match fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_symlink() => {
                    current = resolve(root, &prefix).ok().filter(|found| found.is_dir())?;
                }
                Ok(metadata) if metadata.is_dir() => current = place,
                found => {
                    if found.is_ok() {
                        fs::remove_file(&place).unwrap();
                    }
                    fs::create_dir(&place).unwrap();
                    current = place;
                }
            }
        }
        Some(current)
    }

    fn remove(path: &Path) {
        if let Ok(metadata) = fs::symlink_metadata(path) {
            if metadata.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
    }

    fn apply(root: &Path, layer: &LayerFacts) -> Option<()> {
        for entry in &layer.entries {
            let (directory, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            match entry.kind {
                EntryKind::Whiteout => {
                    if let Ok(directory) = resolve(root, directory) {
                        remove(&directory.join(name));
                    }
                }
                EntryKind::Opaque => {
                    let children = resolve(root, &entry.path)
                        .ok()
                        .and_then(|path| fs::read_dir(path).ok());
                    for child in children.into_iter().flatten() {
                        remove(&child.unwrap().path());
                    }
                }
                _ => {}
            }
        }
        for entry in &layer.entries {
            let name = entry.path.rsplit('/').next().unwrap();
            let place = || parent(root, &entry.path).map(|parent| parent.join(name));
            match &entry.kind {
                EntryKind::Directory => {
                    let place = place()?;
                    if !fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir()) {
                        remove(&place);
                        fs::create_dir(&place).unwrap();
                    }
                }
                EntryKind::File(_) => {
                    let place = place()?;
                    remove(&place);
                    fs::File::create(&place)
                        .unwrap()
                        .set_len(entry.size)
                        .unwrap();
                }
                EntryKind::Symlink(target) => {
                    let place = place()?;
                    remove(&place);
                    symlink(target, &place).unwrap();
                }
                EntryKind::HardLink(target) => {
                    let (directory, name) = target.rsplit_once('/').unwrap_or(("", target));
                    let found = resolve(root, directory).map(|directory| directory.join(name));
                    let metadata = found
                        .as_ref()
                        .ok()
                        .and_then(|path| fs::symlink_metadata(path).ok());
                    match metadata {
                        // A link to what comes later is made at the end of the layer; that is not modelled here.
                        None => return None,
                        Some(metadata) if metadata.is_dir() => {}
                        Some(_) => {
                            let kept = root.with_extension("kept");
                            // The target may be what the link replaces, or lie in it.
                            fs::hard_link(found.unwrap(), &kept).unwrap();
                            let place = place()?;
                            remove(&place);
                            fs::rename(&kept, &place).unwrap();
                            remove(&kept);
                        }
                    }
                }
                EntryKind::Opaque => {
                    let below = format!("{}/x", entry.path);
                    parent(root, &below)?;
                }
                EntryKind::Whiteout | EntryKind::Special => {}
            }
        }
        Some(())
    }

    /// Path, what is there, and for files their size (each has its own) with the paths of all their links.
    type Listing = BTreeMap<String, (String, BTreeSet<String>)>;

    fn real(root: &Path) -> Listing {
        let mut links: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        let mut found = Vec::new();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            for child in fs::read_dir(directory).unwrap() {
                let path = child.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let name = format!("/{}", path.strip_prefix(root).unwrap().display());
                let what = if metadata.is_dir() {
                    open.push(path);
                    "directory".to_owned()
                } else if metadata.is_symlink() {
                    format!("-> {}", fs::read_link(&path).unwrap().display())
                } else {
                    format!("{} bytes", metadata.len())
                };
                if !metadata.is_dir() {
                    links
                        .entry(metadata.ino())
                        .or_default()
                        .insert(name.clone());
                }
                found.push((name, what, metadata.ino()));
            }
        }
        found
            .into_iter()
            .map(|(name, what, inode)| {
                (name, (what, links.get(&inode).cloned().unwrap_or_default()))
            })
            .collect()
    }

    fn merged(root: &RootFilesystem) -> Listing {
        root.walk_tree()
            .map(|node| {
                let what = match node.symlink_target() {
                    _ if node.is_directory() => "directory".to_owned(),
                    Some(target) => format!("-> {target}"),
                    None => format!("{} bytes", node.size()),
                };
                let links = node
                    .identity()
                    .into_iter()
                    .flat_map(|identity| root.hard_links(identity))
                    .map(|node| node.path());
                (node.path(), (what, links.collect()))
            })
            .collect()
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec("[abc]", 1..4).prop_map(|names| names.join("/"))
    }

    fn target() -> impl Strategy<Value = String> {
        ("(/|\\.\\./|\\.\\./\\.\\./)?", path()).prop_map(|(start, path)| start + &path)
    }

    fn kind() -> impl Strategy<Value = EntryKind> {
        prop_oneof![
            4 => Just(EntryKind::Directory),
            4 => Just(EntryKind::File(Content::Unread)),
            2 => target().prop_map(EntryKind::Symlink),
            1 => path().prop_map(EntryKind::HardLink),
            1 => Just(EntryKind::Whiteout),
            1 => Just(EntryKind::Opaque),
        ]
    }

    fn image() -> impl Strategy<Value = Vec<LayerFacts>> {
        let layer = prop::collection::vec((path(), kind()), 0..8);
        prop::collection::vec(layer, 1..4).prop_map(|layers| {
            let mut size = 0;
            let mut entry = |(path, kind): (String, EntryKind)| {
                size += 1;
                Entry {
                    path,
                    kind,
                    size,
                    mode: 0o755,
                }
            };
            layers
                .into_iter()
                .map(|entries| LayerFacts {
                    entries: entries.into_iter().map(&mut entry).collect(),
                })
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn merging_gives_what_applying_gives(layers in image(), queries in prop::collection::vec(target(), 8)) {
            if !is_available() {
                return Ok(());
            }
            let scratch = tempfile::tempdir().unwrap();
            let directory = scratch.path().join("root");
            fs::create_dir(&directory).unwrap();
            for layer in &layers {
                prop_assume!(apply(&directory, layer).is_some());
            }
            let root = RootFilesystem::merge(&layers);
            prop_assert_eq!(merged(&root), real(&directory));
            for query in queries {
                let expected = resolve(&directory, &query).ok().map(|path| {
                    format!("/{}", path.strip_prefix(&directory).unwrap().display())
                });
                let found = root.resolve(&query).ok().map(|node| node.path());
                prop_assert_eq!(found, expected, "{}", query);
            }
        }
    }
}
