//! Reads an image that an engine holds, in the way that costs least.

use super::stream;
use crate::error::{Error, Result};
use crate::layer::{ReadContext, ReadMethod};
use crate::source::daemon::Held;
use crate::source::{Image, Way};

/// The images; the facts of their layers are added to those that were read. They come from earlier runs and from the engine's
/// storage, else from what the engine sends: it has the last word where its storage changes while it is read.
pub(super) fn read(context: &ReadContext, mut held: Held) -> Result<Vec<Image>> {
    let images = std::mem::take(&mut held.images);
    let described = !images.is_empty();
    let images: Result<Vec<Image>> = images
        .into_iter()
        .map(|image| {
            let layers = context.read_image(&image)?;
            let known = layers.iter().all(|layer| layer.method == ReadMethod::Cache);
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
        _ => stream::read(context, held.passing()?),
    }
}
