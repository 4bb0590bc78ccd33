//! The compression of blocks.

use std::io::{self, ErrorKind, Read};

use flate2::{Decompress, FlushDecompress, Status};
use lzma_rust2::XzReader;

use super::error::damaged;
use super::lzo;

/// Memory for one xz decoder in KiB: dictionaries are as long as a block.
const XZ_MEMORY: u32 = 16 << 10;

/// How the blocks of an image are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compressor {
    Gzip,
    Lzo,
    Xz,
    Lz4,
    Zstd,
}

impl Compressor {
    /// The compressor with this number in the superblock.
    pub fn of(number: u16) -> io::Result<Self> {
        match number {
            1 => Ok(Compressor::Gzip),
            3 => Ok(Compressor::Lzo),
            4 => Ok(Compressor::Xz),
            5 => Ok(Compressor::Lz4),
            6 => Ok(Compressor::Zstd),
            2 => Err(io::Error::new(
                ErrorKind::Unsupported,
                "SquashFS compressed with lzma is not supported (gzip, lzo, xz, lz4 and zstd are)",
            )),
            number => Err(damaged(format!("the compressor {number} is unknown"))),
        }
    }

    /// Decompresses a block of at most `most` bytes.
    ///
    /// # Errors
    /// The block is damaged, or longer.
    pub fn decompress(self, block: &[u8], most: usize) -> io::Result<Vec<u8>> {
        match self {
            Compressor::Gzip => inflate(block, most),
            Compressor::Lzo => lzo::decompress(block, most),
            Compressor::Xz => {
                let mut plain = Vec::new();
                let reader = XzReader::new_mem_limit(block, false, XZ_MEMORY);
                reader.take(most as u64 + 1).read_to_end(&mut plain)?;
                match plain.len() > most {
                    true => Err(damaged("a block is too long")),
                    false => Ok(plain),
                }
            }
            Compressor::Lz4 => {
                let mut plain = vec![0; most];
                let length = lz4_flex::block::decompress_into(block, &mut plain);
                plain.truncate(length.map_err(damaged)?);
                Ok(plain)
            }
            Compressor::Zstd => zstd::bulk::decompress(block, most),
        }
    }
}

/// A zlib stream (RFC 1950).
fn inflate(block: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let mut plain = vec![0; most];
    let mut decoder = Decompress::new(true);
    let status = decoder.decompress(block, &mut plain, FlushDecompress::Finish);
    match status.map_err(damaged)? {
        Status::StreamEnd => {
            plain.truncate(usize::try_from(decoder.total_out()).unwrap_or(most));
            Ok(plain)
        }
        _ => Err(damaged("a block is truncated or too long")),
    }
}
