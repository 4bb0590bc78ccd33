//! One layer unpacked into a directory of its own, as engines do that use the kernel's overlay (containerd,
//! `pkg/archive/tar.go`; moby, `pkg/archive/archive.go`; containers/storage, `pkg/archive`).
//!
//! Symbolic links in the *parents* of an entry are followed, inside that directory only. What was unpacked before gives way to a later
//! entry of its name, but a directory to none of its kind. Where engines refuse a layer, this is lenient: a parent that is a file, or a
//! link to nothing, gives way to a directory; whiteouts of what the layer has, and below what is no directory, do nothing.

use crate::layer::{Entry, EntryKind};

use super::resolve::{MAX_LINKS, PATH_MAX};
use super::{NodeData, NodeId, NodeKind, ROOT, RootFilesystem};

/// What a layer became.
pub(super) struct Unpacked {
    /// The directory that it was unpacked into.
    pub top: NodeId,
    /// All whiteouts, also those that later entries replaced.
    pub whiteouts: Vec<NodeId>,
}

pub(super) struct Unpack<'t, 'a> {
    tree: &'t mut RootFilesystem<'a>,
    layer: usize,
    /// Nodes that the tree may have.
    most: usize,
    trail: Trail<'a>,
    done: Unpacked,
}

/// The directories of the path that was walked last: most entries of an archive lie beside the one before.
#[derive(Default)]
struct Trail<'a> {
    path: &'a str,
    steps: Vec<Step>,
}

#[derive(Clone, Copy)]
struct Step {
    /// Length of a prefix of the path that ends with a component.
    end: usize,
    /// The directory there.
    directory: NodeId,
    /// How many symbolic links may still be followed.
    links: usize,
}

impl<'a> Trail<'a> {
    /// Keeps what the new path has in common with the last one, and returns where to go on from, if that is not the top.
    fn turn_to(&mut self, path: &'a str) -> Option<Step> {
        while let Some(step) = self.steps.last() {
            let ends_here = path.len() == step.end || path.as_bytes().get(step.end) == Some(&b'/');
            if ends_here && path.get(..step.end) == self.path.get(..step.end) {
                break;
            }
            self.steps.pop();
        }
        self.path = path;
        self.steps.last().copied()
    }
}

impl<'t, 'a> Unpack<'t, 'a> {
    /// The layer of that index, to be unpacked into a new directory beside the tree, which may have `most` nodes.
    pub fn new(tree: &'t mut RootFilesystem<'a>, layer: usize, most: usize) -> Self {
        let top = tree.next_id();
        tree.nodes.push(NodeData {
            parent: top,
            name: "",
            layer: None,
            kind: NodeKind::new_directory(None),
        });
        Unpack {
            tree,
            layer,
            most,
            trail: Trail::default(),
            done: Unpacked {
                top,
                whiteouts: Vec::new(),
            },
        }
    }

    /// Unpacks all entries; `None` where they make too many nodes.
    pub fn unpack(mut self, entries: &'a [Entry]) -> Option<Unpacked> {
        let mut links_before_targets = Vec::new();
        for entry in entries {
            if !self.place(entry) {
                links_before_targets.push(entry);
            }
            if self.tree.nodes.len() > self.most {
                return None;
            }
        }
        for entry in links_before_targets {
            self.place(entry);
        }
        (self.tree.nodes.len() <= self.most).then_some(self.done)
    }

    /// Unpacks one entry; `false` for a hard link whose target is not there (yet).
    fn place(&mut self, entry: &'a Entry) -> bool {
        let (parent, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        match &entry.kind {
            EntryKind::Opaque if self.can_hold_marks(&entry.path) => {
                let directory = self.directory(&entry.path);
                self.tree.set_opaque(directory);
            }
            EntryKind::Directory if name.is_empty() => {
                self.tree.set_mode(self.done.top, Some(entry.mode));
            }
            EntryKind::Opaque => {}
            _ if matches!(name, "" | "." | "..") => {}
            EntryKind::Directory => {
                let parent = self.directory(parent);
                match self.tree.child(parent, name) {
                    Some(id) if self.tree.is_directory(id) => {
                        self.tree.set_mode(id, Some(entry.mode));
                    }
                    _ => {
                        self.insert(parent, name, NodeKind::new_directory(Some(entry.mode)));
                    }
                }
            }
            EntryKind::Whiteout => {
                if self.can_hold_marks(parent) {
                    let parent = self.directory(parent);
                    if self.tree.child(parent, name).is_none() {
                        self.insert(parent, name, NodeKind::Whiteout);
                    }
                }
            }
            EntryKind::WhiteoutDevice => {
                let parent = self.directory(parent);
                self.insert(parent, name, NodeKind::Whiteout);
            }
            EntryKind::HardLink(target) => {
                let Some(target) = self.target(target) else {
                    return false;
                };
                if let NodeKind::Other { entry, identity } = self.tree.data(target).kind {
                    let parent = self.directory(parent);
                    self.insert(parent, name, NodeKind::Other { entry, identity });
                }
            }
            EntryKind::File(_) | EntryKind::Symlink(_) | EntryKind::Special => {
                let parent = self.directory(parent);
                let identity = self.tree.next_id();
                self.insert(parent, name, NodeKind::Other { entry, identity });
            }
        }
        true
    }

    /// What a hard link leads to, in this layer or in a lower one.
    fn target(&self, path: &str) -> Option<NodeId> {
        let found = |root| self.tree.walk(root, path, false).ok();
        found(self.done.top).or_else(|| found(ROOT))
    }

    /// Whether the path is, or can become, a directory of this layer. Some builders write `.wh.a` and then `a/.wh.b`.
    fn can_hold_marks(&self, path: &str) -> bool {
        match self.tree.walk(self.done.top, path, true) {
            Ok(id) => self.tree.is_directory(id),
            Err(error) => error == super::ResolveError::NotFound,
        }
    }

    /// Makes a node, instead of what has its name.
    fn insert(&mut self, parent: NodeId, name: &'a str, kind: NodeKind<'a>) -> NodeId {
        let id = self.tree.next_id();
        if matches!(kind, NodeKind::Whiteout) {
            self.done.whiteouts.push(id);
        }
        self.tree.nodes.push(NodeData {
            parent,
            name,
            layer: Some(self.layer),
            kind,
        });
        if self.tree.insert_child(parent, name, id).is_some() {
            // What was replaced may be a directory, or a link to one, that the trail leads through.
            self.trail.steps.clear();
        }
        id
    }

    /// The directory at a path, made where it is missing.
    fn directory(&mut self, path: &'a str) -> NodeId {
        let Step {
            end: mut position,
            directory: mut current,
            mut links,
        } = self.trail.turn_to(path).unwrap_or(Step {
            end: 0,
            directory: self.done.top,
            links: MAX_LINKS,
        });
        while position < path.len() {
            let rest = &path[position..];
            let start = position + usize::from(rest.starts_with('/'));
            let end = path[start..]
                .find('/')
                .map_or(path.len(), |length| start + length);
            current = self.enter(current, &path[start..end], &mut links);
            self.trail.steps.push(Step {
                end,
                directory: current,
                links,
            });
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
                    self.done.top
                } else {
                    current
                };
                target
                    .split('/')
                    .fold(start, |directory, name| self.enter(directory, name, links))
            }
            _ => self.make_way(current, name, child),
        }
    }

    /// A new directory. Over a whiteout it is opaque: no engine with an overlay takes an entry below a whiteout, and to all others
    /// what was below is gone.
    fn make_way(&mut self, parent: NodeId, name: &'a str, child: Option<NodeId>) -> NodeId {
        let was_removed = child.is_some_and(|id| self.tree.is_whiteout(id));
        let id = self.insert(parent, name, NodeKind::new_directory(None));
        if was_removed {
            self.tree.set_opaque(id);
        }
        id
    }
}
