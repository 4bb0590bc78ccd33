//! Decompresses gzip (RFC 1952).

mod bits;
mod checksum;
mod chunk;
mod chunks;
mod code;
mod coded;
mod codes;
mod error;
mod find;
mod header;
mod inflate;
mod members;
mod packed;
mod parallel;
mod reader;
mod stream;
mod symbol;
mod tasks;

pub use chunk::Sizes;
pub use error::Invalid;
pub use parallel::{Sink, decompress, decompress_in};
pub use reader::Gzip;
