//! Decompresses gzip (RFC 1952).

mod bits;
mod checksum;
mod chunk;
mod code;
mod codes;
mod error;
mod find;
mod header;
mod inflate;
mod members;
mod parallel;
mod reader;
mod symbol;

pub use error::Invalid;
pub use chunk::Sizes;
pub use parallel::{Sink, decompress, decompress_in};
pub use reader::Gzip;
