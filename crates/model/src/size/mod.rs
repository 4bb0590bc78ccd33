//! Where the bytes of an image are: by layer, by cause and by package.
//!
//! All sizes are those of files, not compressed. Every byte of every layer belongs to one cause, or to none.

mod causes;
mod packages;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stack::Distribution;
use imgcheck_image::{LayerFacts, RootFilesystem};

pub use causes::{Caches, CachesTable, Cause};

/// The largest files of a cause that are listed.
const LISTED: usize = 1000;
/// The largest packages that are listed.
const PACKAGES: usize = 100;

/// Where the bytes of an image are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageSize {
    /// Bytes of the files in all layers, not compressed.
    pub bytes: u64,
    /// Number of files in all layers.
    pub files: u64,
    /// The layers, lowest first.
    pub layers: Vec<LayerSize>,
    /// What a container probably does not need, by cause. No byte has two causes.
    pub causes: Vec<CauseSize>,
    /// The packages and directories of the files that a container sees, largest first. Together with `rest` and the files that a
    /// later layer replaces, they are all bytes.
    pub packages: Vec<PackageSize>,
    /// Bytes of the smaller packages and directories, which are not listed.
    pub rest: u64,
}

/// The size of one layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerSize {
    /// Bytes of its files.
    pub bytes: u64,
    /// Number of its files.
    pub files: u64,
    /// Bytes of its files that a later layer replaces or removes.
    pub replaced: u64,
}

/// The bytes of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseSize {
    /// Why the bytes are there.
    pub cause: Cause,
    /// How many there are.
    pub bytes: u64,
    /// The files and directories with them, largest first, up to 1,000.
    pub largest: Vec<SizedPath>,
}

/// A file, or a directory with all that it contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizedPath {
    /// The path.
    pub path: String,
    /// Bytes of this cause at the path.
    pub bytes: u64,
    /// What is known beside: who fills a cache, which copy of a library is used, which layer replaces a file.
    pub detail: String,
}

/// A Python package, or another directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageSize {
    /// The distribution and its version, `torch 2.8.0+cu128`; the path if no distribution is known.
    pub name: String,
    /// The directory.
    pub path: String,
    /// Bytes of the files in it.
    pub bytes: u64,
}

impl ImageSize {
    /// Measures an image. `loaded` are the files that its processes map.
    pub fn of<'l>(
        layers: impl Iterator<Item = &'l LayerFacts> + Clone,
        root: &RootFilesystem,
        distributions: &[Distribution],
        loaded: &HashSet<&str>,
        caches: &Caches,
    ) -> Self {
        let mut sizes: Vec<LayerSize> = layers.clone().map(LayerSize::of).collect();
        let walked = walk::walk(root, caches, &causes::duplicates(root, loaded));
        let seen = walked.by_layer(sizes.len());
        for (layer, seen) in sizes.iter_mut().zip(seen) {
            layer.replaced = layer.bytes.saturating_sub(seen);
        }
        let replaced = causes::replaced(layers, root, sizes.iter().map(|it| it.replaced).sum());
        let mut packages = packages::sizes(walked.directories, distributions);
        let rest = packages.iter().skip(PACKAGES).map(|it| it.bytes).sum();
        packages.truncate(PACKAGES);
        let causes = [replaced].into_iter().chain(walked.causes);
        ImageSize {
            bytes: sizes.iter().map(|it| it.bytes).sum(),
            files: sizes.iter().map(|it| it.files).sum(),
            layers: sizes,
            causes: causes.filter(|it| it.bytes > 0).collect(),
            packages,
            rest,
        }
    }

    /// Bytes of a cause.
    pub fn of_cause(&self, cause: Cause) -> u64 {
        let found = self.causes.iter().find(|it| it.cause == cause);
        found.map_or(0, |it| it.bytes)
    }
}

impl LayerSize {
    fn of(layer: &LayerFacts) -> Self {
        // A path may occur twice; each takes its space in the layer.
        let files = layer.entries.iter().filter(|it| it.kind.is_file());
        files.fold(LayerSize::default(), |sum, file| LayerSize {
            bytes: sum.bytes.saturating_add(file.size),
            files: sum.files + 1,
            ..sum
        })
    }
}

/// The largest first, and of equal ones in the order of their paths.
pub(crate) fn largest(mut paths: Vec<SizedPath>) -> Vec<SizedPath> {
    paths.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    paths.truncate(LISTED);
    paths
}

/// Bytes by path.
type Directories = BTreeMap<Rc<str>, u64>;
