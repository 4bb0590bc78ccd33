//! Layers on top of each other, as the kernel's overlay shows them (Linux, `Documentation/filesystems/overlayfs.rst`).
//!
//! Docker, containerd and Podman unpack each layer into a directory of its own (see [`super::unpack`]) and mount the directories
//! over each other. The OCI image specification, `layer.md`, "Applying Changesets", speaks of one directory instead, into which
//! one layer is unpacked after the other, as umoci does. Of the layers that engines write themselves both make the same. Where
//! they part, this is what the overlay shows, since that is what runs:
//!
//! - A symbolic link of a lower layer is not followed: an entry `lib/x` makes a directory of a lower `lib -> usr/lib`.
//! - A whiteout of a path that its own layer has, too, does nothing: a directory over a directory shows what both hold.
//! - An opaque marker at the root hides nothing.
//! - A character device of the number 0 is a whiteout.

use std::mem;

use crate::layer::LayerFacts;
use crate::layer::facts::NODE;
use crate::limits::{Limit, LimitExceeded, Limits};

use super::unpack::Unpack;
use super::{NodeData, NodeId, NodeKind, ROOT, RootFilesystem};

impl<'a> RootFilesystem<'a> {
    /// Merges layers, lowest first, without a bound on what they imply. As [`RootFilesystem::merge_within`].
    pub fn merge(layers: impl IntoIterator<Item = &'a LayerFacts>) -> Self {
        Self::merged(layers, usize::MAX).0
    }

    /// Merges layers, lowest first. The work is linear in the number of entries and of the components of their paths and of the
    /// links on the way.
    ///
    /// Directories that no layer lists are implied by what is in them. A hard link may come before its target, or lead to a lower
    /// layer, which only engines without an overlay allow; one whose target is nowhere is left out, since it could not be created.
    ///
    /// # Errors
    /// With the directories that are implied there are more than fit into [`Limit::FactsBytes`]: a link of a few bytes can imply
    /// thousands for every entry below it.
    pub fn merge_within(
        layers: impl IntoIterator<Item = &'a LayerFacts>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let most = limits.of(Limit::FactsBytes) / NODE;
        let (tree, is_whole) = Self::merged(layers, usize::try_from(most).unwrap_or(usize::MAX));
        match is_whole {
            true => Ok(tree),
            false => Err(limits.exceeded(Limit::FactsBytes, tree.nodes.len() as u64 * NODE)),
        }
    }

    /// The tree, and whether it has all layers, or more than `most` nodes already.
    fn merged(layers: impl IntoIterator<Item = &'a LayerFacts>, most: usize) -> (Self, bool) {
        let mut tree = RootFilesystem {
            nodes: vec![NodeData {
                parent: ROOT,
                name: "",
                layer: None,
                kind: NodeKind::new_directory(None),
            }],
        };
        for (index, layer) in layers.into_iter().enumerate() {
            let Some(unpacked) = Unpack::new(&mut tree, index, most).unpack(&layer.entries) else {
                return (tree, false);
            };
            tree.lay_over(unpacked.top);
            tree.drop_whiteouts(&unpacked.whiteouts);
        }
        (tree, true)
    }

    /// Puts what is in the directory `top` over what is in the root.
    fn lay_over(&mut self, top: NodeId) {
        let mut both = vec![(ROOT, top)];
        while let Some((lower, upper)) = both.pop() {
            let NodeKind::Directory { children, mode, .. } =
                mem::replace(&mut self.nodes[upper as usize].kind, NodeKind::Whiteout)
            else {
                continue;
            };
            if mode.is_some() {
                self.set_mode(lower, mode);
            }
            for (name, child) in children {
                let below = self.child(lower, name);
                match (below, &self.data(child).kind) {
                    (Some(below), NodeKind::Directory { opaque, .. })
                        if self.is_directory(below) =>
                    {
                        if *opaque {
                            self.clear(below);
                        }
                        both.push((below, child));
                    }
                    (_, NodeKind::Whiteout) => {
                        self.remove_child(lower, name);
                    }
                    _ => {
                        self.nodes[child as usize].parent = lower;
                        self.insert_child(lower, name, child);
                    }
                }
            }
        }
    }

    /// Takes away the whiteouts in directories that lie over nothing.
    fn drop_whiteouts(&mut self, whiteouts: &[NodeId]) {
        for &id in whiteouts {
            let NodeData { parent, name, .. } = *self.data(id);
            if self.child(parent, name) == Some(id) {
                self.remove_child(parent, name);
            }
        }
    }

    fn clear(&mut self, directory: NodeId) {
        if let NodeKind::Directory { children, .. } = &mut self.nodes[directory as usize].kind {
            children.clear();
        }
    }

    fn remove_child(&mut self, directory: NodeId, name: &str) {
        if let NodeKind::Directory { children, .. } = &mut self.nodes[directory as usize].kind {
            children.remove(name);
        }
    }
}
