//! Layer blobs to layer facts: decompress, walk the tar, read what is wanted of each file.

mod at_rest;
mod compression;
mod content;
mod directory;
mod entry;
pub mod facts;
mod gzip;
mod parallel;
mod pipe;
mod stream;
mod walk;
mod wanted;

pub use facts::{Content, Entry, EntryKind, LayerFacts};
pub use wanted::{Limits, Wanted};

use crate::archive::FileRange;
use crate::error::{Error, Result};
use crate::source::{LayerBlob, LayerData};
use compression::{Compression, sniff};
use stream::Stream;

/// Reads all facts of one layer.
///
/// `progress` is told how many bytes of the blob were passed since it was last called. An [`Error::Layer`] means that the layer
/// is damaged, truncated, compressed in an unknown way, larger than the limits or not readable: nothing can then be
/// said of the image. A file that only looks like ELF is no error ([`Content::BrokenElf`]).
pub fn scan(
    blob: &LayerBlob,
    wanted: &Wanted,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<LayerFacts> {
    let name = &blob.name();
    let (file, offset, length) = match &blob.data {
        LayerData::Directory(path) => return directory::scan(path, wanted, progress),
        LayerData::Range {
            file,
            offset,
            length,
            ..
        } => (file, *offset, *length),
    };
    let range = &FileRange::new(file.clone(), offset, length);
    let compression =
        sniff(range).map_err(|error| Error::layer(name, format!("cannot be read: {error}")))?;
    match compression.map_err(|problem| Error::layer(name, problem))? {
        Compression::None => at_rest::scan(blob, name, range, wanted, progress),
        compression => Stream {
            name,
            blob,
            range,
            compression,
            wanted,
        }
        .scan(progress),
    }
}
