//! Reads an image that an engine holds, in the way that costs least.

use super::Progress;
use super::layers::{self, How, LayersRead};
use super::stream;
use crate::error::{Error, Result};
use crate::layer::Wanted;
use crate::layer::cache::FactsCache;
use crate::source::daemon::Held;
use crate::source::{Image, Way};

/// The images; the facts of their layers are added to those that were read. They come from earlier runs and from the engine's
/// storage, else from what the engine sends: it has the last word where its storage changes while it is read.
pub(super) fn read(
    mut held: Held,
    wanted: &Wanted,
    cache: &FactsCache,
    read: &mut LayersRead,
    progress: &dyn Progress,
) -> Result<Vec<Image>> {
    let images = std::mem::take(&mut held.images);
    let described = !images.is_empty();
    let images: Result<Vec<Image>> = images
        .into_iter()
        .map(|image| {
            let layers = layers::of_image(&image, wanted, cache, read, progress)?;
            let known = layers.iter().all(|layer| layer.how == How::Cached);
            let way = if known { Way::Cache } else { Way::Storage };
            Ok(Image {
                way: Some(way),
                ..image
            })
        })
        .collect();
    match images {
        Ok(images) if described => Ok(images),
        // The engine would send as much.
        Err(error @ Error::Limit { .. }) => Err(error),
        _ => stream::read(held.passing()?, wanted, cache, read, progress),
    }
}
