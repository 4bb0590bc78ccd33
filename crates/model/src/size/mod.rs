//! Where the bytes of an image are: by layer, by cause and by package.
//!
//! All sizes are those of files, not compressed. Every byte of every layer belongs to one cause, or to none.

mod causes;
mod facts;
mod packages;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashSet;

use crate::stack::Distribution;
use imgcheck_image::{LayerFacts, RootFilesystem};

pub use causes::{Caches, CachesTable};
pub(crate) use facts::largest;
pub use facts::{Cause, CauseSize, ImageSize, LayerSize, PackageSize, SizedPath};

/// The largest packages that are listed.
const PACKAGES: usize = 100;

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
