//! Layers applied on top of each other.
//!
//! The semantics are those of the OCI image specification, `layer.md`, "Applying Changesets" and "Whiteouts": a whiteout or
//! an opaque marker acts on lower layers only, wherever in its layer it stands; a directory over a directory replaces the
//! attributes; anything else replaces what was there. Where the specification says "extracted like a regular tar archive",
//! this is what tar and containerd do: symbolic links in the *parents* of an entry are followed, inside the root only.

use std::collections::BTreeMap;

use crate::layer::{Entry, EntryKind, LayerFacts};

use super::resolve::{MAX_LINKS, PATH_MAX};
use super::{NodeData, NodeId, NodeKind, ROOT, RootFilesystem};

impl<'a> RootFilesystem<'a> {
    /// Merges layers, lowest first. The work is linear in the number of entries and path components.
    ///
    /// Directories that no layer lists are implied by what is in them. A hard link may come before its target; one whose
    /// target is nowhere is left out, since it could not be created either.
    pub fn merge(layers: impl IntoIterator<Item = &'a LayerFacts>) -> Self {
        let mut merge = Merge {
            tree: RootFilesystem {
                nodes: vec![NodeData {
                    parent: ROOT,
                    name: "",
                    layer: None,
                    kind: new_directory(None),
                }],
            },
            layer: 0,
            trail: Trail::default(),
        };
        for (index, layer) in layers.into_iter().enumerate() {
            merge.layer = index;
            merge.apply(&layer.entries);
        }
        merge.tree
    }
}

struct Merge<'a> {
    tree: RootFilesystem<'a>,
    layer: usize,
    trail: Trail<'a>,
}

/// The directories of the path that was walked last: most entries of an archive lie beside the one before.
#[derive(Default)]
struct Trail<'a> {
    path: &'a str,
    /// Length of each prefix of `path` that ends with a component, and the directory there.
    steps: Vec<(usize, NodeId)>,
}

impl<'a> Trail<'a> {
    /// Keeps what the new path has in common with the last one, and returns where to go on from.
    fn turn_to(&mut self, path: &'a str) -> (usize, NodeId) {
        while let Some(&(end, directory)) = self.steps.last() {
            let ends_here = path.len() == end || path.as_bytes().get(end) == Some(&b'/');
            if ends_here && path.get(..end) == self.path.get(..end) {
                self.path = path;
                return (end, directory);
            }
            self.steps.pop();
        }
        self.path = path;
        (0, ROOT)
    }
}

fn new_directory<'a>(mode: Option<u32>) -> NodeKind<'a> {
    NodeKind::Directory {
        children: BTreeMap::new(),
        mode,
    }
}

impl<'a> Merge<'a> {
    fn apply(&mut self, entries: &'a [Entry]) {
        for entry in entries {
            match entry.kind {
                EntryKind::Whiteout => self.remove(&entry.path),
                EntryKind::Opaque => self.empty(&entry.path),
                _ => {}
            }
        }
        let mut links_before_targets = Vec::new();
        for entry in entries {
            if !self.place(entry) {
                links_before_targets.push(entry);
            }
        }
        for entry in links_before_targets {
            self.place(entry);
        }
    }

    fn remove(&mut self, path: &str) {
        if let Ok(id) = self.tree.walk(path, false)
            && id != ROOT
        {
            let NodeData { parent, name, .. } = *self.tree.data(id);
            if let NodeKind::Directory { children, .. } = &mut self.tree.nodes[parent as usize].kind
            {
                children.remove(name);
            }
            self.trail.steps.clear();
        }
    }

    fn empty(&mut self, path: &str) {
        if let Ok(id) = self.tree.walk(path, true)
            && let NodeKind::Directory { children, .. } = &mut self.tree.nodes[id as usize].kind
        {
            children.clear();
            self.trail.steps.clear();
        }
    }

    /// Puts one entry into the tree; `false` for a hard link whose target is not there (yet).
    fn place(&mut self, entry: &'a Entry) -> bool {
        let (parent, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        match &entry.kind {
            EntryKind::Whiteout => {}
            EntryKind::Opaque => {
                self.directory(&entry.path);
            }
            EntryKind::Directory if name.is_empty() => self.set_mode(ROOT, entry.mode),
            _ if matches!(name, "" | "." | "..") => {}
            EntryKind::Directory => {
                let parent = self.directory(parent);
                match self.tree.child(parent, name) {
                    Some(id) if self.tree.is_directory(id) => self.set_mode(id, entry.mode),
                    _ => {
                        self.insert(parent, name, new_directory(Some(entry.mode)));
                    }
                }
            }
            EntryKind::HardLink(target) => {
                let Ok(target) = self.tree.walk(target, false) else {
                    return false;
                };
                if let NodeKind::Other { entry, identity } = self.tree.data(target).kind {
                    let parent = self.directory(parent);
                    self.insert(parent, name, NodeKind::Other { entry, identity });
                }
            }
            EntryKind::File(_) | EntryKind::Symlink(_) | EntryKind::Special => {
                let parent = self.directory(parent);
                let identity = self.next_id();
                self.insert(parent, name, NodeKind::Other { entry, identity });
            }
        }
        true
    }

    fn set_mode(&mut self, id: NodeId, new: u32) {
        if let NodeKind::Directory { mode, .. } = &mut self.tree.nodes[id as usize].kind {
            *mode = Some(new);
        }
    }

    /// Saturates: an arena of 2³² nodes is far beyond any limit on entries, and would need hundreds of gigabytes.
    fn next_id(&self) -> NodeId {
        NodeId::try_from(self.tree.nodes.len()).unwrap_or(NodeId::MAX)
    }

    /// Makes a node, instead of what has its name.
    fn insert(&mut self, parent: NodeId, name: &'a str, kind: NodeKind<'a>) -> NodeId {
        let id = self.next_id();
        self.tree.nodes.push(NodeData {
            parent,
            name,
            layer: Some(self.layer),
            kind,
        });
        if let NodeKind::Directory { children, .. } = &mut self.tree.nodes[parent as usize].kind
            && children.insert(name, id).is_some()
        {
            // What was replaced may be a directory, or a link to one, that the trail leads through.
            self.trail.steps.clear();
        }
        id
    }

    /// The directory at a path, made where it is missing.
    fn directory(&mut self, path: &'a str) -> NodeId {
        let (mut position, mut current) = self.trail.turn_to(path);
        while position < path.len() {
            let rest = &path[position..];
            let start = position + usize::from(rest.starts_with('/'));
            let end = path[start..]
                .find('/')
                .map_or(path.len(), |length| start + length);
            let mut links = MAX_LINKS;
            current = self.enter(current, &path[start..end], &mut links);
            self.trail.steps.push((end, current));
            position = end;
        }
        current
    }

    /// The directory of that name in a directory. Symbolic links are followed while `links` of them are left; any other thing
    /// that is not a directory gives way to one.
    fn enter(&mut self, current: NodeId, name: &'a str, links: &mut usize) -> NodeId {
        match name {
            "" | "." => return current,
            ".." => return self.tree.data(current).parent,
            _ => {}
        }
        let child = self.tree.child(current, name);
        if let Some(id) = child
            && self.tree.is_directory(id)
        {
            return id;
        }
        match child.and_then(|id| self.tree.symlink_target(id)) {
            Some(target) if *links > 0 && target.len() < PATH_MAX => {
                *links -= 1;
                let start = if target.starts_with('/') {
                    ROOT
                } else {
                    current
                };
                target
                    .split('/')
                    .fold(start, |directory, name| self.enter(directory, name, links))
            }
            _ => self.insert(current, name, new_directory(None)),
        }
    }
}
