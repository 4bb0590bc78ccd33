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
mod linked_files;
mod modules;
mod patterns;
mod read;
mod seek;
mod squashfs;
mod stream;
#[cfg(test)]
mod tests;
mod walk;
mod workers;

pub use budget::Budget;
pub use consumer::SourceLayers;
pub use context::{LayerReader, ReadContext, ReadLayer, ReadMethod, Trust};
pub use imgcheck_archive::archive::Owner;
pub use imgcheck_archive::archive::capabilities::FILE_CAPABILITIES;
pub use imgcheck_archive::archive::compression::{Compression, SNIFFED, sniff};
pub use linked_files::{is_extended, read_linked_files};
pub use patterns::{Capture, FilePatterns};
pub use stream::StreamedLayer;
pub use workers::Workers;
