//! The root filesystem of an image: its merged layers, with the layer that each path is from.
//!
//! It is computed from the [`LayerFacts`] alone, and borrows names and contents from them.

mod access;
pub mod configuration;
pub mod layer_facts;
mod merge;
mod resolve;
mod unpack;

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::hash::{Hash, Hasher};

use imgcheck_archive::archive::Owner;
use imgcheck_elf::ElfFacts;

pub use access::{Access, Credentials};
pub use layer_facts::{Content, Entry, EntryKind, LayerFacts};
pub use resolve::ResolveError;

/// Index of a node. Nodes are never moved or reused, so the index of the node that added a file to the image is also the identity of
/// the file.
type NodeId = u32;

const ROOT: NodeId = 0;

/// The merged tree of an image.
#[derive(Debug)]
pub struct RootFilesystem<'a> {
    nodes: Vec<NodeData<'a>>,
    /// What a later layer removed, each with the layer that did. What was below a removed directory is still below it.
    removed: Vec<(NodeId, usize)>,
}

#[derive(Debug)]
struct NodeData<'a> {
    parent: NodeId,
    name: &'a str,
    layer: Option<u32>,
    kind: NodeKind<'a>,
}

/// Small, because an image has a million files and few directories.
#[derive(Debug)]
enum NodeKind<'a> {
    Directory(Box<Directory<'a>>),
    Other {
        entry: &'a Entry,
        identity: NodeId,
    },
    /// While a layer is merged: hides this name in lower layers.
    Whiteout,
}

/// Permission bits, and for whom they are.
#[derive(Debug, Clone, Copy)]
struct Permissions {
    mode: u32,
    owner: Owner,
}

impl From<&Entry> for Permissions {
    fn from(entry: &Entry) -> Self {
        Permissions {
            mode: entry.mode,
            owner: entry.owner,
        }
    }
}

#[derive(Debug, Default)]
struct Directory<'a> {
    children: BTreeMap<&'a str, NodeId>,
    permissions: Option<Permissions>,
    /// While a layer is merged: whether it hides the content of the directory in lower layers.
    opaque: bool,
}

impl NodeKind<'_> {
    fn new_directory(permissions: Option<Permissions>) -> Self {
        NodeKind::Directory(Box::new(Directory {
            permissions,
            ..Directory::default()
        }))
    }
}

/// The file that a path refers to: equal for all hard links of one file, and for nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity(NodeId);

/// One path of the merged tree.
#[derive(Debug, Clone, Copy)]
pub struct Node<'r> {
    root: &'r RootFilesystem<'r>,
    id: NodeId,
}

/// Two nodes are equal if they are the same path of the same tree. Hard links of a file are different nodes.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.root, other.root)
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<'a> RootFilesystem<'a> {
    /// The directory `/`.
    pub fn root(&self) -> Node<'_> {
        self.node(ROOT)
    }

    /// All regular files in the order of their paths, once for each hard link.
    pub fn files(&self) -> impl Iterator<Item = Node<'_>> {
        self.walk_tree().filter(|node| node.content().is_some())
    }

    /// All paths below `/`: each directory before its content, siblings in the order of their names.
    pub fn walk_tree(&self) -> TreeWalk<'_> {
        TreeWalk {
            root: self,
            open: vec![self.children_of(ROOT).iter()],
        }
    }

    /// All files and links that a later layer removed, each with the index of that layer. They are not part of the tree.
    pub fn removed(&self) -> impl Iterator<Item = (Node<'_>, usize)> {
        self.removed.iter().flat_map(|&(top, layer)| {
            let walk = TreeWalk {
                root: self,
                open: vec![self.children_of(top).iter()],
            };
            let below = walk.filter(|node| !node.is_directory());
            let own = (!self.is_directory(top)).then(|| self.node(top));
            own.into_iter().chain(below).map(move |node| (node, layer))
        })
    }

    /// All paths of a file. Walks the whole tree.
    pub fn hard_links(&self, identity: FileIdentity) -> impl Iterator<Item = Node<'_>> {
        self.walk_tree()
            .filter(move |node| node.identity() == Some(identity))
    }

    fn node(&self, id: NodeId) -> Node<'_> {
        Node { root: self, id }
    }

    fn data(&self, id: NodeId) -> &NodeData<'a> {
        &self.nodes[id as usize]
    }

    fn children_of(&self, id: NodeId) -> &BTreeMap<&'a str, NodeId> {
        static NONE: BTreeMap<&str, NodeId> = BTreeMap::new();
        self.directory(id)
            .map_or(&NONE, |directory| &directory.children)
    }

    fn directory(&self, id: NodeId) -> Option<&Directory<'a>> {
        match &self.data(id).kind {
            NodeKind::Directory(directory) => Some(directory),
            NodeKind::Other { .. } | NodeKind::Whiteout => None,
        }
    }

    fn directory_mut(&mut self, id: NodeId) -> Option<&mut Directory<'a>> {
        match &mut self.nodes[id as usize].kind {
            NodeKind::Directory(directory) => Some(directory),
            NodeKind::Other { .. } | NodeKind::Whiteout => None,
        }
    }

    fn child(&self, directory: NodeId, name: &str) -> Option<NodeId> {
        self.children_of(directory).get(name).copied()
    }

    fn is_directory(&self, id: NodeId) -> bool {
        self.directory(id).is_some()
    }

    fn is_whiteout(&self, id: NodeId) -> bool {
        matches!(self.data(id).kind, NodeKind::Whiteout)
    }

    /// Index of the next node. It saturates, but 2³² nodes would need hundreds of gigabytes.
    fn next_id(&self) -> NodeId {
        NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX)
    }

    /// Adds an entry to a directory and returns the one that it replaces.
    fn insert_child(&mut self, directory: NodeId, name: &'a str, child: NodeId) -> Option<NodeId> {
        self.directory_mut(directory)?.children.insert(name, child)
    }

    fn set_attributes(&mut self, directory: NodeId, permissions: Option<Permissions>) {
        if let Some(directory) = self.directory_mut(directory) {
            directory.permissions = permissions;
        }
    }

    fn set_opaque(&mut self, directory: NodeId) {
        if let Some(directory) = self.directory_mut(directory) {
            directory.opaque = true;
        }
    }

    fn symlink_target(&self, id: NodeId) -> Option<&'a str> {
        match self.data(id).kind {
            NodeKind::Other { entry, .. } => match &entry.kind {
                EntryKind::Symlink(target) => Some(target),
                _ => None,
            },
            NodeKind::Directory(_) | NodeKind::Whiteout => None,
        }
    }
}

impl<'r> Node<'r> {
    /// The absolute path, with a leading `/` and without symbolic links.
    pub fn path(self) -> String {
        let mut names = Vec::new();
        let mut id = self.id;
        while id != ROOT {
            let data = self.root.data(id);
            names.push(data.name);
            id = data.parent;
        }
        if names.is_empty() {
            return "/".to_owned();
        }
        let mut path = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        for name in names.iter().rev() {
            path.push('/');
            path.push_str(name);
        }
        path
    }

    /// The last component of the path; empty for `/`.
    pub fn name(self) -> &'r str {
        self.root.data(self.id).name
    }

    /// The parent directory; `/` for `/` itself.
    pub fn parent(self) -> Node<'r> {
        self.root.node(self.root.data(self.id).parent)
    }

    /// Index of the layer that added the path, from the lowest; `None` for `/`. A directory belongs to the first layer that has it, not
    /// to later ones that list it again.
    pub fn layer(self) -> Option<usize> {
        self.root.data(self.id).layer.map(|layer| layer as usize)
    }

    /// Whether it is a directory.
    pub fn is_directory(self) -> bool {
        self.root.is_directory(self.id)
    }

    /// The target of a symbolic link, as written.
    pub fn symlink_target(self) -> Option<&'r str> {
        self.root.symlink_target(self.id)
    }

    /// The content of a regular file, as far as it was read; `None` for everything else.
    pub fn content(self) -> Option<&'r Content> {
        match &self.entry()?.kind {
            EntryKind::File(content) => Some(content),
            _ => None,
        }
    }

    /// The text of a file, if it was captured.
    pub fn text(self) -> Option<&'r str> {
        match self.content()? {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a binary file, if they were captured.
    pub fn bytes(self) -> Option<&'r [u8]> {
        match self.content()? {
            Content::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The facts of an ELF file.
    pub fn elf(self) -> Option<&'r ElfFacts> {
        match self.content()? {
            Content::Elf(facts) => Some(facts),
            _ => None,
        }
    }

    /// Size of a regular file in bytes; 0 for everything else.
    pub fn size(self) -> u64 {
        self.entry().map_or(0, |entry| entry.size)
    }

    /// Permission bits; `None` for a directory that no layer lists (only the paths below it imply it).
    pub fn mode(self) -> Option<u32> {
        self.permissions().map(|it| it.mode)
    }

    fn permissions(self) -> Option<Permissions> {
        match &self.root.data(self.id).kind {
            NodeKind::Directory(directory) => directory.permissions,
            NodeKind::Other { entry, .. } => Some((*entry).into()),
            NodeKind::Whiteout => None,
        }
    }

    /// The identity of the file; `None` for a directory.
    pub fn identity(self) -> Option<FileIdentity> {
        match self.root.data(self.id).kind {
            NodeKind::Other { identity, .. } => Some(FileIdentity(identity)),
            NodeKind::Directory(_) | NodeKind::Whiteout => None,
        }
    }

    /// The entries of a directory in the order of their names; empty for everything else.
    pub fn children(self) -> impl Iterator<Item = Node<'r>> {
        let root = self.root;
        root.children_of(self.id)
            .values()
            .map(move |&id| root.node(id))
    }

    /// What a layer says of the node; `None` for a directory.
    pub fn entry(self) -> Option<&'r Entry> {
        match self.root.data(self.id).kind {
            NodeKind::Other { entry, .. } => Some(entry),
            NodeKind::Directory(_) | NodeKind::Whiteout => None,
        }
    }

    /// Whether the file is at the path that its layer stores it under. It is not if it is a hard link, or was unpacked through a link.
    pub fn is_at_stored_path(self) -> bool {
        let Some(entry) = self.entry() else {
            return true;
        };
        let mut at = self;
        let same = entry.path.rsplit('/').all(|name| {
            let is_same = at.name() == name;
            at = at.parent();
            is_same
        });
        same && at.id == ROOT
    }
}

/// Iterator over all paths of a tree, from [`RootFilesystem::walk_tree`].
pub struct TreeWalk<'r> {
    root: &'r RootFilesystem<'r>,
    open: Vec<btree_map::Iter<'r, &'r str, NodeId>>,
}

impl<'r> Iterator for TreeWalk<'r> {
    type Item = Node<'r>;

    fn next(&mut self) -> Option<Node<'r>> {
        loop {
            let Some((_, &id)) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            if self.root.is_directory(id) {
                self.open.push(self.root.children_of(id).iter());
            }
            return Some(self.root.node(id));
        }
    }
}
