//! Unpacks one layer into a directory of its own, as container engines do for the kernel's overlay (containerd,
//! `pkg/archive/tar.go`; moby, `pkg/archive/archive.go`; containers/storage, `pkg/archive`).
//!
//! Symbolic links in the *parents* of an entry are followed, inside that directory only. A later entry replaces an earlier one of the same
//! name, but a directory does not replace a directory. Layers that container engines reject are accepted: a directory replaces a parent
//! that is a file or a dangling link; whiteouts of paths in the same layer, and below something that is not a directory, have no effect.

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;

use super::layer_facts::{Entry, EntryKind, NODE};
use super::resolve::{MAX_LINKS, PATH_MAX};
use super::{NodeData, NodeId, NodeKind, ROOT, RootFilesystem};

/// How many entries are unpacked between two checks of the cancellation.
const CHECK_EVERY: usize = 256;

/// An unpacked layer.
pub(crate) struct Unpacked {
    /// The directory that it was unpacked to.
    pub top: NodeId,
    /// All whiteouts, including those that later entries replaced.
    pub whiteouts: Vec<NodeId>,
}

pub(crate) struct Unpack<'t, 'a> {
    tree: &'t mut RootFilesystem<'a>,
    layer: usize,
    bounds: &'t Bounds,
    trail: Trail<'a>,
    done: Unpacked,
}

/// The directories on the last path: most entries of an archive are next to the one before.
#[derive(Default)]
struct Trail<'a> {
    path: &'a str,
    steps: Vec<Step>,
}

#[derive(Clone, Copy)]
struct Step {
    /// Length of the path up to the end of this component.
    end: usize,
    /// The directory there.
    directory: NodeId,
    /// How many symbolic links may still be followed.
    links: usize,
}

impl<'a> Trail<'a> {
    /// Keeps the common prefix of the last path and a new one, and returns its last step, if it has any.
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
    /// Adds a directory next to the tree, into which the layer with this index is unpacked.
    pub fn new(tree: &'t mut RootFilesystem<'a>, layer: usize, bounds: &'t Bounds) -> Self {
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
            bounds,
            trail: Trail::default(),
            done: Unpacked {
                top,
                whiteouts: Vec::new(),
            },
        }
    }

    /// Unpacks all entries.
    ///
    /// # Errors
    /// The tree exceeds its bounds, or the request ends.
    pub fn unpack(mut self, entries: &'a [Entry]) -> Result<Unpacked> {
        let mut links_before_targets = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            if index.is_multiple_of(CHECK_EVERY) {
                self.bounds.cancellation.check()?;
            }
            if !self.unpack_entry(entry) {
                links_before_targets.push(entry);
            }
            self.check_nodes()?;
        }
        for entry in links_before_targets {
            self.unpack_entry(entry);
        }
        self.check_nodes()?;
        Ok(self.done)
    }

    fn check_nodes(&self) -> Result<()> {
        let memory = self.tree.nodes.len() as u64 * NODE;
        self.bounds
            .check(Limit::FactsBytes, memory, "all layers together")
    }

    /// Unpacks one entry; `false` for a hard link whose target does not exist yet.
    fn unpack_entry(&mut self, entry: &'a Entry) -> bool {
        let (parent, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        match &entry.kind {
            EntryKind::Opaque if self.can_be_directory(&entry.path) => {
                let directory = self.directory(&entry.path);
                self.tree.set_opaque(directory);
            }
            EntryKind::Directory if name.is_empty() => {
                self.tree.set_attributes(self.done.top, Some(entry.into()));
            }
            EntryKind::Opaque => {}
            _ if matches!(name, "" | "." | "..") => {}
            EntryKind::Directory => {
                let parent = self.directory(parent);
                match self.tree.child(parent, name) {
                    Some(id) if self.tree.is_directory(id) => {
                        self.tree.set_attributes(id, Some(entry.into()));
                    }
                    _ => {
                        self.insert(parent, name, NodeKind::new_directory(Some(entry.into())));
                    }
                }
            }
            EntryKind::Whiteout => {
                if self.can_be_directory(parent) {
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

    /// The target of a hard link, in this layer or in a lower one.
    fn target(&self, path: &str) -> Option<NodeId> {
        let found = |root| self.tree.walk(root, path, false).ok();
        found(self.done.top).or_else(|| found(ROOT))
    }

    /// Whether the path is, or can become, a directory of this layer. Some builders write `.wh.a` and then `a/.wh.b`.
    fn can_be_directory(&self, path: &str) -> bool {
        match self.tree.walk(self.done.top, path, true) {
            Ok(id) => self.tree.is_directory(id),
            Err(error) => error == super::ResolveError::NotFound,
        }
    }

    /// Adds a node, which replaces one of the same name.
    fn insert(&mut self, parent: NodeId, name: &'a str, kind: NodeKind<'a>) -> NodeId {
        let id = self.tree.next_id();
        if matches!(kind, NodeKind::Whiteout) {
            self.done.whiteouts.push(id);
        }
        self.tree.nodes.push(NodeData {
            parent,
            name,
            layer: u32::try_from(self.layer).ok(),
            kind,
        });
        if self.tree.insert_child(parent, name, id).is_some() {
            // The replaced node may be a directory on the trail, or a link to one.
            self.trail.steps.clear();
        }
        id
    }

    /// The directory at a path, created if it is missing.
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

    /// The directory of this name in a directory. At most `links` symbolic links are followed; a new directory replaces anything else.
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
            _ => self.replace_with_directory(current, name, child),
        }
    }

    /// Creates a directory in place of `child`. In place of a whiteout it is opaque: container engines with an overlay reject an entry
    /// below a whiteout, and in others the lower content is gone.
    fn replace_with_directory(
        &mut self,
        parent: NodeId,
        name: &'a str,
        child: Option<NodeId>,
    ) -> NodeId {
        let was_removed = child.is_some_and(|id| self.tree.is_whiteout(id));
        let id = self.insert(parent, name, NodeKind::new_directory(None));
        if was_removed {
            self.tree.set_opaque(id);
        }
        id
    }
}
