//! Merges layers as the kernel's overlay filesystem shows them
//! ([overlayfs](https://docs.kernel.org/filesystems/overlayfs.html)).
//!
//! Docker, containerd and Podman unpack each layer into a directory of its own (see [`super::unpack`]) and mount the directories over
//! each other. The OCI image specification
//! ([`layer.md`](https://github.com/opencontainers/image-spec/blob/main/layer.md), "Applying Changesets") describes a single directory
//! instead, into which one layer is unpacked after the other, as umoci does. Layers that container engines write give the same result.
//! Where results differ, the overlay counts, because it is what runs:
//!
//! - A symbolic link in a lower layer is not followed: an entry `lib/x` replaces a lower `lib -> usr/lib` with a directory.
//! - A whiteout of a path in its own layer has no effect: two directories at one path are merged.
//! - An opaque marker at the root has no effect.
//! - A character device with the number 0 is a whiteout.

use std::mem;

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;

use super::layer_facts::LayerFacts;
use super::unpack::Unpack;
use super::{NodeData, NodeId, NodeKind, ROOT, RootFilesystem};

/// Instead of the index of a layer.
const NO_LAYER: usize = usize::MAX;

impl<'a> RootFilesystem<'a> {
    /// Merges layers, lowest first, without limits. As [`RootFilesystem::merge_within`].
    pub fn merge(layers: impl IntoIterator<Item = &'a LayerFacts>) -> Self {
        let mut bounds = Bounds::default();
        // Nothing can exceed it.
        bounds.limits.set(Limit::FactsBytes, u64::MAX);
        Self::merge_within(layers, &bounds).unwrap_or_else(|_| Self::empty())
    }

    /// Merges layers, lowest first. The work is linear in the number of entries and of the components of their paths and of the
    /// links on the way.
    ///
    /// Paths imply their parent directories. A hard link may come before its target, or refer to a lower layer, which only container
    /// engines without an overlay allow. A hard link without a target is skipped, because it cannot be created.
    ///
    /// # Errors
    /// [`Error::Limit`](imgcheck_base::error::Error::Limit) if the nodes, with implied directories, exceed [`Limit::FactsBytes`]: a link of a few bytes can imply
    /// thousands for every entry below it. [`Error::Cancelled`](imgcheck_base::error::Error::Cancelled) or [`Error::Deadline`](imgcheck_base::error::Error::Deadline) if the request ends.
    pub fn merge_within(
        layers: impl IntoIterator<Item = &'a LayerFacts>,
        bounds: &Bounds,
    ) -> Result<Self> {
        let mut tree = Self::empty();
        for (index, layer) in layers.into_iter().enumerate() {
            tree.add(layer, index, bounds)?;
        }
        Ok(tree)
    }

    /// Mounts volumes over the root filesystem: files that belong to no layer.
    ///
    /// # Errors
    /// As [`merge_within`](Self::merge_within).
    pub fn mount(&mut self, volumes: &'a LayerFacts, bounds: &Bounds) -> Result<()> {
        self.add(volumes, NO_LAYER, bounds)?;
        self.removed.retain(|(_, layer)| *layer != NO_LAYER);
        Ok(())
    }

    fn add(&mut self, layer: &'a LayerFacts, index: usize, bounds: &Bounds) -> Result<()> {
        let unpacked = Unpack::new(self, index, bounds).unpack(&layer.entries)?;
        self.lay_over(unpacked.top, index);
        self.remove_whiteouts(&unpacked.whiteouts);
        Ok(())
    }

    fn empty() -> Self {
        RootFilesystem {
            nodes: vec![NodeData {
                parent: ROOT,
                name: "",
                layer: None,
                kind: NodeKind::new_directory(None),
            }],
            removed: Vec::new(),
        }
    }

    /// Merges the content of the directory `top` into the root, on top of what is there.
    fn lay_over(&mut self, top: NodeId, layer: usize) {
        let mut both = vec![(ROOT, top)];
        while let Some((lower, upper)) = both.pop() {
            let NodeKind::Directory(upper) =
                mem::replace(&mut self.nodes[upper as usize].kind, NodeKind::Whiteout)
            else {
                continue;
            };
            if upper.permissions.is_some() {
                self.set_attributes(lower, upper.permissions);
            }
            for (name, child) in upper.children {
                let below = self.child(lower, name);
                match (below, &self.data(child).kind) {
                    (Some(below), NodeKind::Directory(directory)) if self.is_directory(below) => {
                        if directory.opaque {
                            self.clear(below, layer);
                        }
                        both.push((below, child));
                    }
                    (_, NodeKind::Whiteout) => {
                        let removed = self.remove_child(lower, name);
                        self.removed.extend(removed.map(|id| (id, layer)));
                    }
                    _ => {
                        self.nodes[child as usize].parent = lower;
                        self.insert_child(lower, name, child);
                    }
                }
            }
        }
    }

    /// Removes the whiteouts in directories that no lower layer has.
    fn remove_whiteouts(&mut self, whiteouts: &[NodeId]) {
        for &id in whiteouts {
            let NodeData { parent, name, .. } = *self.data(id);
            if self.child(parent, name) == Some(id) {
                self.remove_child(parent, name);
            }
        }
    }

    fn clear(&mut self, directory: NodeId, layer: usize) {
        if let Some(directory) = self.directory_mut(directory) {
            let removed = mem::take(&mut directory.children).into_values();
            self.removed.extend(removed.map(|id| (id, layer)));
        }
    }

    fn remove_child(&mut self, directory: NodeId, name: &str) -> Option<NodeId> {
        self.directory_mut(directory)?.children.remove(name)
    }
}
