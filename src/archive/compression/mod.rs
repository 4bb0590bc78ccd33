//! Compressed archives: the formats of layers, and of archives that are compressed as a whole.

mod decompressed;
mod format;
pub(crate) mod gzip;
pub(crate) mod zstd;

pub(crate) use decompressed::Decompressed;
pub(crate) use format::check_length;
pub use format::{Compression, SNIFFED, sniff};
