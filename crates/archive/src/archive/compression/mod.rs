//! Compressed archives: the formats of layers, and of archives that are compressed as a whole.

mod decompressed;
mod format;
pub mod zstd;

pub use decompressed::Decompressed;
pub use format::check_length;
pub use format::{Compression, SNIFFED, sniff};
