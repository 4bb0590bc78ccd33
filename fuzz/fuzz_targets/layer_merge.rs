//! Layers on top of each other. Whatever they hold, each node of the tree is found by its path, and what a layer does that has
//! no links in it is what a plain table of paths says.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use imgcheck::image::{Node, RootFilesystem};
use imgcheck::layer::{Content, Entry, EntryKind, LayerFacts};
use libfuzzer_sys::fuzz_target;

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
            Name::Long => "a name with other characters: \u{202e}\n",
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
        vec![names.join("/"); 1 + usize::from(self.repeated)].join("/")
    }

    /// As an entry has it.
    fn normal(&self) -> String {
        imgcheck::archive::path::normalise(self.text().as_bytes())
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
struct Item {
    path: Path,
    made: Made,
    mode: u16,
}

fuzz_target!(|layers: Vec<Vec<Item>>| {
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
});

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
    // A path that is too long for the kernel is found by nobody.
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

/// The same by a table of all paths. What lies below a path begins with it and a slash.
fn expected(layers: &[LayerFacts]) -> BTreeMap<String, Kind> {
    let mut table = BTreeMap::new();
    for layer in layers {
        for entry in &layer.entries {
            match entry.kind {
                // The kernel takes no longer path, and so nothing is found at one.
                _ if entry.path.len() >= PATH_MAX => {}
                EntryKind::Whiteout => remove(&mut table, &entry.path),
                EntryKind::Opaque => below(&mut table, &entry.path),
                _ => {}
            }
        }
        for entry in &layer.entries {
            put(&mut table, entry);
        }
    }
    table
}

fn put(table: &mut BTreeMap<String, Kind>, entry: &Entry) {
    let path = format!("/{}", entry.path);
    if matches!(entry.kind, EntryKind::Whiteout) || entry.path.is_empty() {
        return;
    }
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
    for parent in parents.filter(|parent| !parent.is_empty()) {
        table.insert(parent.to_owned(), Kind::Directory);
    }
    let directory = matches!(entry.kind, EntryKind::Directory | EntryKind::Opaque);
    if directory {
        table.insert(path, Kind::Directory);
    } else {
        remove(table, &entry.path);
        table.insert(path, Kind::Other(entry.size));
    }
}

fn remove(table: &mut BTreeMap<String, Kind>, path: &str) {
    if !path.is_empty() {
        table.remove(&format!("/{path}"));
        below(table, path);
    }
}

fn below(table: &mut BTreeMap<String, Kind>, path: &str) {
    let prefix = match path {
        "" => "/".to_owned(),
        path => format!("/{path}/"),
    };
    table.retain(|other, _| !other.starts_with(&prefix));
}
