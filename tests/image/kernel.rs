//! Random layers against the kernel: what a merge gives is what applying the layers to a directory gives, and a path leads where
//! `openat2(2)` with RESOLVE_IN_ROOT leads. Kernels and sandboxes without `openat2` leave these out.

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
        say::line(format_args!("skipped: openat2 is not available here"));
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
        .map(|(name, what, inode)| (name, (what, links.get(&inode).cloned().unwrap_or_default())))
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
