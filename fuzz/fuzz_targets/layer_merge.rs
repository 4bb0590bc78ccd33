//! Layers on top of each other. Each node of the merged tree is found by its path, and without links the tree is equal to a plain
//! table of paths.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_image::{Node, RootFilesystem};

/// The kernel finds nothing at a path of this length or more.
const PATH_MAX: usize = 4096;

/// A name out of a few, so that entries meet each other.
#[derive(Debug, Clone, Arbitrary)]
enum Name {
    A,
    B,
    C,
    Long,
    Upwards,
    Here,
    Nothing,
}

impl Name {
    fn text(&self) -> &'static str {
        match self {
            Name::A => "a",
            Name::B => "b",
            Name::C => "c",
            Name::Long => "a long name: \u{202e}\n",
            Name::Upwards => "..",
            Name::Here => ".",
            Name::Nothing => "",
        }
    }
}

/// A path as a link may have it.
#[derive(Debug, Clone, Arbitrary)]
struct Path {
    names: Vec<Name>,
    repeated: u8,
}

impl Path {
    fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(Name::text).collect();
        vec![names.join("/"); 1 + usize::from(self.repeated % 32)].join("/")
    }

    /// As an entry has it.
    fn normal(&self) -> String {
        imgcheck_archive::archive::path::normalise(self.text().as_bytes())
    }
}

#[derive(Debug, Clone, Arbitrary)]
enum Made {
    Directory,
    File,
    Symlink(Path),
    HardLink(Path),
    Special,
    Whiteout,
    Opaque,
}

#[derive(Debug, Clone, Arbitrary)]
pub struct Item {
    path: Path,
    made: Made,
    mode: u16,
}

pub fn fuzz(layers: Vec<Vec<Item>>) {
    let layers: Vec<LayerFacts> = layers.iter().map(|items| facts(items)).collect();
    let tree = RootFilesystem::merge(&layers);
    for node in tree.walk_tree() {
        check(&tree, node, layers.len());
    }
    let has_links = layers
        .iter()
        .flat_map(|layer| &layer.entries)
        .any(|entry| matches!(entry.kind, EntryKind::Symlink(_) | EntryKind::HardLink(_)));
    if !has_links {
        assert_eq!(listed(&tree), expected(&layers));
    }
}

fn facts(items: &[Item]) -> LayerFacts {
    let entries = items.iter().enumerate().map(|(at, item)| Entry {
        path: item.path.normal(),
        kind: match &item.made {
            Made::Directory => EntryKind::Directory,
            Made::File => EntryKind::File(Content::Unread),
            Made::Symlink(target) => EntryKind::Symlink(target.text()),
            Made::HardLink(target) => EntryKind::HardLink(target.normal()),
            Made::Special => EntryKind::Special,
            Made::Whiteout => EntryKind::Whiteout,
            Made::Opaque => EntryKind::Opaque,
        },
        size: at as u64,
        mode: u32::from(item.mode),
        owner: Default::default(),
    });
    LayerFacts {
        entries: entries.collect(),
    }
}

fn check(tree: &RootFilesystem, node: Node, layers: usize) {
    let path = node.path();
    assert!(!matches!(node.name(), "" | "." | ".."), "{path:?}");
    assert!(!node.name().contains('/'), "{path:?}");
    assert!(node.layer().is_some_and(|layer| layer < layers), "{path:?}");
    assert!(node.parent().is_directory(), "{path:?}");
    // A path that is too long for the kernel is never found.
    if path.len() < PATH_MAX {
        let found = tree.entry(&path).expect("the path of a node");
        assert_eq!(found.path(), path);
        if let Ok(end) = tree.resolve(&path) {
            assert!(end.symlink_target().is_none(), "{path:?}");
        }
    }
}

/// What there is: a directory, or something else by the number of its entry.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Directory,
    Other(u64),
}

fn listed(tree: &RootFilesystem) -> BTreeMap<String, Kind> {
    let nodes = tree.walk_tree().map(|node| {
        let kind = match node.is_directory() {
            true => Kind::Directory,
            false => Kind::Other(node.size()),
        };
        (node.path(), kind)
    });
    nodes.collect()
}

/// What a layer makes of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unpacked {
    Directory { opaque: bool },
    Other(u64),
    Whiteout,
}

/// The same by tables of all paths: each layer is unpacked into one of its own, and lies over those below it. What is in a
/// directory begins with its path and a slash.
fn expected(layers: &[LayerFacts]) -> BTreeMap<String, Kind> {
    let mut table = BTreeMap::new();
    for layer in layers {
        for (path, made) in unpacked(layer) {
            lay_over(&mut table, path, made);
        }
    }
    table
}

/// Parents come before their content.
fn unpacked(layer: &LayerFacts) -> BTreeMap<String, Unpacked> {
    let mut table = BTreeMap::new();
    for entry in layer.entries.iter().filter(|it| !it.path.is_empty()) {
        let path = format!("/{}", entry.path);
        let (parent, _) = path.rsplit_once('/').unwrap_or_default();
        match entry.kind {
            EntryKind::Whiteout if can_be_directory(&table, parent) => {
                make_directories(&mut table, parent);
                table.entry(path).or_insert(Unpacked::Whiteout);
            }
            EntryKind::Opaque if can_be_directory(&table, &path) => {
                make_directories(&mut table, &path);
                table.insert(path, Unpacked::Directory { opaque: true });
            }
            EntryKind::Whiteout | EntryKind::Opaque => {}
            EntryKind::Directory => {
                make_directories(&mut table, parent);
                let there = table
                    .entry(path)
                    .or_insert(Unpacked::Directory { opaque: false });
                if !matches!(there, Unpacked::Directory { .. }) {
                    *there = Unpacked::Directory { opaque: false };
                }
            }
            _ => {
                make_directories(&mut table, parent);
                remove(&mut table, &path);
                table.insert(path, Unpacked::Other(entry.size));
            }
        }
    }
    table
}

/// Each directory on the way to a path, and the path itself.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
    let all = ends.chain([path.len()]).map(|end| &path[..end]);
    all.filter(|prefix| !prefix.is_empty())
}

/// Whether a mark can be in it: the kernel finds nothing at a path that is too long, and a file in the way stays there.
fn can_be_directory(table: &BTreeMap<String, Unpacked>, path: &str) -> bool {
    let mut there = prefixes(path).map_while(|prefix| table.get(prefix));
    path.len() <= PATH_MAX && there.all(|made| matches!(made, Unpacked::Directory { .. }))
}

/// A directory in place of a whiteout hides what is below.
fn make_directories(table: &mut BTreeMap<String, Unpacked>, path: &str) {
    for prefix in prefixes(path) {
        let opaque = match table.get(prefix) {
            Some(Unpacked::Directory { .. }) => continue,
            there => there == Some(&Unpacked::Whiteout),
        };
        table.insert(prefix.to_owned(), Unpacked::Directory { opaque });
    }
}

fn lay_over(table: &mut BTreeMap<String, Kind>, path: String, made: Unpacked) {
    let over_directory = table.get(&path) == Some(&Kind::Directory);
    match made {
        Unpacked::Directory { opaque: false } if over_directory => {}
        Unpacked::Directory { .. } => {
            remove(table, &path);
            table.insert(path, Kind::Directory);
        }
        Unpacked::Other(size) => {
            remove(table, &path);
            table.insert(path, Kind::Other(size));
        }
        Unpacked::Whiteout => remove(table, &path),
    }
}

fn remove<T>(table: &mut BTreeMap<String, T>, path: &str) {
    table.retain(|other, _| {
        let rest = other.strip_prefix(path);
        !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
}
