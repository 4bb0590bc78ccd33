//! From layer blobs to layer facts: decompress, walk the archive, read what matters of each file.

mod budget;
mod bytes;
pub mod cache;
mod chunked;
mod consumer;
mod content;
mod context;
mod directory;
mod entry;
pub mod facts;
mod patterns;
mod read;
mod seek;
mod squashfs;
mod stream;
mod walk;
mod workers;

pub use crate::archive::Owner;
pub use crate::archive::capabilities::FILE_CAPABILITIES;
pub use crate::archive::compression::{Compression, SNIFFED, sniff};
pub use budget::Budget;
pub use consumer::SourceLayers;
pub use context::{LayerReader, ReadContext, ReadLayer, ReadMethod, Trust};
pub use facts::{Content, Entry, EntryKind, LayerFacts};
pub use patterns::{Capture, FilePatterns};
pub use stream::StreamedLayer;
pub use workers::Workers;
