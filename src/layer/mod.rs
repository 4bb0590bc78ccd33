//! Layer blobs to layer facts: decompress, walk the tar, read what is wanted of each file.

mod allowance;
mod at_rest;
mod budget;
mod bytes;
pub mod cache;
mod chunked;
mod compression;
mod content;
mod directory;
mod entry;
pub mod facts;
mod gzip;
mod pipe;
mod stream;
mod walk;
mod wanted;
mod zstd;

pub use budget::Budget;
pub use facts::{Content, Entry, EntryKind, LayerFacts};
pub use wanted::Wanted;

use crate::archive::FileRange;
use crate::error::{Error, Result};
use crate::source::{LayerBlob, LayerData};
use bytes::{Bytes, Passing};
pub use compression::{Compression, SNIFFED, sniff};
use std::io::Read;
pub use stream::Streamed;
use stream::{Expected, Stream};

/// The facts of one layer, and whether its bytes were seen to be those that its diff id names.
#[derive(Debug)]
pub struct Scanned {
    /// The facts.
    pub facts: LayerFacts,
    /// Whether all bytes were hashed and have the diff id. Where only headers are touched, they are not.
    pub verified: bool,
    /// Whether it was fetched in parts, by a table of contents: then GPU code may be [sampled](crate::elf::facts::GpuCode::sampled).
    pub in_parts: bool,
}

/// Reads all facts of one layer.
///
/// `progress` is told how many bytes of the blob were passed since it was last called. An [`Error::Layer`] means that the layer
/// is damaged, truncated, compressed in an unknown way, larger than the limits or not readable: nothing can then be
/// said of the image. A file that only looks like ELF is no error ([`Content::BrokenElf`]).
pub fn scan(blob: &LayerBlob, wanted: &Wanted, progress: &(dyn Fn(u64) + Sync)) -> Result<Scanned> {
    let name = &blob.name();
    let unverified = |facts| Scanned {
        facts,
        verified: false,
        in_parts: false,
    };
    let stream = |bytes: &dyn Bytes| {
        let stream = Stream {
            name,
            bytes,
            size: blob.size,
            expected: Expected {
                digest: blob.digest.as_deref(),
                diff_id: Some(&blob.diff_id),
            },
            wanted,
        };
        stream.scan(progress).map(|streamed| Scanned {
            facts: streamed.facts,
            verified: true,
            in_parts: false,
        })
    };
    match &blob.data {
        LayerData::Directory(path) => directory::scan(path, wanted, progress).map(unverified),
        LayerData::Overlay(overlay) => {
            directory::scan_overlay(overlay, wanted, progress).map(unverified)
        }
        LayerData::Passed(_) | LayerData::Held(_) => {
            Err(Error::layer(name, "it has gone by, or has not come yet"))
        }
        LayerData::Remote(remote) => match chunked::scan(blob, &**remote, wanted, progress)? {
            Some(facts) => Ok(Scanned {
                in_parts: true,
                ..unverified(facts)
            }),
            None => stream(remote),
        },
        LayerData::Range {
            file,
            offset,
            length,
            ..
        } => {
            let range = FileRange::new(file.clone(), *offset, *length);
            match at_rest_compression(name, &range)? {
                Compression::None => {
                    at_rest::scan(blob, name, &range, wanted, progress).map(unverified)
                }
                _ => stream(&range),
            }
        }
    }
}

/// Reads all facts of a layer of `size` bytes that goes by once, and of which nothing is known beforehand. The bytes are read
/// to their end even if the layer is damaged. Errors as [`scan`].
pub fn scan_passing(
    name: &str,
    bytes: impl Read + Send,
    size: u64,
    wanted: &Wanted,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed> {
    let stream = Stream {
        name,
        bytes: &Passing::new(bytes),
        size,
        expected: Expected::default(),
        wanted,
    };
    stream.scan(progress)
}

fn at_rest_compression(name: &str, range: &FileRange) -> Result<Compression> {
    let mut start = [0; SNIFFED];
    let length = range
        .read_at(0, &mut start)
        .map_err(|error| Error::layer_io(name, error))?;
    sniff(&start[..length]).map_err(|problem| Error::layer(name, problem))
}
