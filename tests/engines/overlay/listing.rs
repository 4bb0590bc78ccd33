//! The entry at each path of a tree, as a container engine unpacked it and as imgcheck merged it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use imgcheck_base::digest::sha256;
use imgcheck_elf::Depth;
use imgcheck_image::{Content, LayerFacts};
use imgcheck_image::{Node, RootFilesystem};

use crate::layers::layer_blob;

/// What stands at each path.
pub type Listing = BTreeMap<String, Found>;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub what: What,
    /// Permission bits; `None` for a symbolic link, and for a directory that no layer lists.
    pub mode: Option<u32>,
    /// All paths of the same file, this one included; none for a directory.
    pub links: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Directory,
    Symlink(String),
    /// A file of this many bytes, and its digest if known.
    File(u64, Option<String>),
    Special,
}

impl Found {
    /// Whether both are the same as far as both are known.
    pub fn agrees(&self, other: &Found) -> bool {
        let what = match (&self.what, &other.what) {
            (What::File(size, Some(_)), What::File(other, None))
            | (What::File(size, None), What::File(other, Some(_))) => size == other,
            (what, other) => what == other,
        };
        let mode = match (self.mode, other.mode) {
            (Some(mode), Some(other)) => mode == other,
            _ => true,
        };
        what && mode && self.links == other.links
    }
}

/// What is different in two listings, in words; `None` if nothing is.
pub fn difference(found: &Listing, expected: &Listing) -> Option<String> {
    let paths: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let different: Vec<String> = paths
        .into_iter()
        .filter(|path| match (found.get(*path), expected.get(*path)) {
            (Some(found), Some(expected)) => !found.agrees(expected),
            _ => true,
        })
        .map(|path| {
            let (found, expected) = (found.get(path), expected.get(path));
            format!("{path}: imgcheck {found:?}, engine {expected:?}")
        })
        .collect();
    (!different.is_empty()).then(|| different.join("\n"))
}

/// Paths and what stands there in short: `a/`, `b -> c`, `d`.
pub fn short(listing: &Listing) -> Vec<String> {
    let line = |(path, found): (&String, &Found)| match &found.what {
        What::Directory => format!("{path}/"),
        What::Symlink(target) => format!("{path} -> {target}"),
        What::File(..) => path.clone(),
        What::Special => format!("{path} (special)"),
    };
    listing.iter().map(line).collect()
}

/// The tree below a directory of this machine.
pub fn real(root: &Path) -> Listing {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for child in fs::read_dir(directory).unwrap() {
            let path = child.unwrap().path();
            // In a directory of one layer alone the overlay lists a whiteout, and says that there is nothing.
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            let name = format!("/{}", path.strip_prefix(root).unwrap().display());
            let kind = metadata.file_type();
            let what = if kind.is_dir() {
                open.push(path);
                What::Directory
            } else if kind.is_symlink() {
                What::Symlink(fs::read_link(&path).unwrap().display().to_string())
            } else if kind.is_file() {
                What::File(metadata.len(), Some(sha256(&fs::read(&path).unwrap())))
            } else {
                assert!(kind.is_fifo() || kind.is_char_device());
                What::Special
            };
            let mode = (!kind.is_symlink()).then_some(metadata.mode() & 0o7777);
            let identity = (!kind.is_dir()).then_some(metadata.ino());
            found.push((name, what, mode, identity));
        }
    }
    linked(found)
}

/// What imgcheck makes of the archives of layers.
pub fn merged(archives: &[Vec<u8>]) -> Listing {
    let context = imgcheck_model::knowledge::read_context(Depth::Default).unwrap();
    let facts = |archive: &Vec<u8>| {
        let blob = layer_blob(archive, archive);
        std::sync::Arc::unwrap_or_clone(context.read_layer(&blob).unwrap().facts)
    };
    let layers: Vec<LayerFacts> = archives.iter().map(facts).collect();
    let root = RootFilesystem::merge(&layers);
    let found = root.walk_tree().map(|node| {
        let what = what(node);
        let mode = node.mode().filter(|_| !matches!(what, What::Symlink(_)));
        (node.path(), what, mode, node.identity())
    });
    linked(found.collect())
}

fn what(node: Node) -> What {
    match (node.symlink_target(), node.content()) {
        _ if node.is_directory() => What::Directory,
        (Some(target), _) => What::Symlink(target.to_owned()),
        (None, Some(Content::Text(text))) => What::File(node.size(), Some(sha256(text.as_bytes()))),
        (None, Some(_)) => What::File(node.size(), None),
        (None, None) => What::Special,
    }
}

/// Gives each path those of the same file.
fn linked<I: Ord>(found: Vec<(String, What, Option<u32>, Option<I>)>) -> Listing {
    let mut links: BTreeMap<&I, BTreeSet<String>> = BTreeMap::new();
    for (name, _, _, identity) in &found {
        if let Some(identity) = identity {
            links.entry(identity).or_default().insert(name.clone());
        }
    }
    let of = |identity: &Option<I>| {
        let identity = identity.as_ref()?;
        links.get(identity).cloned()
    };
    found
        .iter()
        .map(|(name, what, mode, identity)| {
            let found = Found {
                what: what.clone(),
                mode: *mode,
                links: of(identity).unwrap_or_default(),
            };
            (name.clone(), found)
        })
        .collect()
}
