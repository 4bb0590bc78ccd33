//! Reads an image that an engine holds, in the way that costs least.

use super::Progress;
use super::layers::{self, LayersRead};
use super::stream;
use crate::error::Result;
use crate::layer::Wanted;
use crate::source::daemon::Held;
use crate::source::{Image, Way};

/// The image; the facts of its layers are added to those that were read. They come from earlier runs and from the engine's
/// storage, else from what the engine sends: it has the last word where its storage changes while it is read.
pub(super) fn read(
    mut held: Held,
    wanted: &Wanted,
    read: &mut LayersRead,
    progress: &dyn Progress,
) -> Result<Vec<Image>> {
    if let Some(image) = held.image.take() {
        let bytes = image.layers.iter().map(|layer| layer.size).sum();
        let name = image.reference.as_deref().unwrap_or_default();
        progress.image(name, image.layers.len(), bytes);
        let layers = layers::read(&image.layers, wanted, read, progress);
        progress.finish();
        if let Ok(layers) = layers {
            let known = layers.iter().all(|layer| layer.cached);
            let way = if known { Way::Cache } else { Way::Storage };
            return Ok(vec![Image {
                way: Some(way),
                ..image
            }]);
        }
    }
    stream::read(held.passing()?, wanted, read, progress)
}
