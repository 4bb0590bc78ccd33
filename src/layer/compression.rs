//! How a layer is compressed, by its first bytes: media types and file names are not always right.

use crate::archive::{BLOCK, begins_archive};

/// How a layer is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// With gzip.
    Gzip,
    /// With zstd.
    Zstd,
}

/// How many of the first bytes [`sniff`] wants to see.
pub const SNIFFED: usize = BLOCK as usize;

/// Looks at the first bytes of a layer. `Err` says what was found instead.
pub fn sniff(start: &[u8]) -> Result<Compression, String> {
    let start = &start[..start.len().min(SNIFFED)];
    match start {
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        // RFC 8878: a frame, or a skippable one in front of it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Compression::Zstd),
        _ if begins_archive(start) => Ok(Compression::None),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(unknown("xz")),
        [b'B', b'Z', b'h', ..] => Err(unknown("bzip2")),
        [0x04, 0x22, 0x4d, 0x18, ..] => Err(unknown("lz4")),
        _ => Err(format!(
            "unknown compression: it is neither a tar archive nor gzip or zstd, it begins with {:02x?}; it may be damaged or encrypted",
            &start[..start.len().min(8)]
        )),
    }
}

fn unknown(name: &str) -> String {
    format!("unknown compression: it is {name}; layers of images are plain, gzip or zstd")
}
