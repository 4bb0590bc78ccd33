//! Compression of layers.

use std::io::Write;

/// How a layer is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    Plain,
    /// One gzip member.
    Gzip,
    /// One zstd frame.
    Zstd,
}

/// The stored bytes.
#[must_use]
pub fn compress(bytes: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::Plain => bytes.to_vec(),
        Compression::Gzip => gzip(bytes),
        Compression::Zstd => zstd(bytes),
    }
}

/// One gzip member.
///
/// # Panics
/// Out of memory.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory")
}

/// One zstd frame.
///
/// # Panics
/// Out of memory.
#[must_use]
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory")
}
