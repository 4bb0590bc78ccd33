//! Decompresses gzip (RFC 1952).

mod bits;
mod code;
mod codes;
mod error;
mod header;
mod inflate;
mod members;
mod reader;
mod symbol;

pub use error::Invalid;
pub use reader::Gzip;
