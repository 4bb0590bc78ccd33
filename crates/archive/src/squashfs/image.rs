//! An open image: its superblock, and its blocks.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::block::Compressor;
use super::error::damaged;
use crate::archive::FileRange;
use crate::archive::compression::check_length;
use imgcheck_base::bounds::Bounds;

/// The first bytes of an image.
pub const MAGIC: [u8; 4] = *b"hsqs";
const SUPERBLOCK: usize = 96;
/// Bytes of a block of data, as powers of two.
const BLOCK_LOG: std::ops::RangeInclusive<u16> = 12..=20;
/// Metadata blocks that are kept: 8 KiB each.
const METADATA_KEPT: usize = 1024;

/// The length of a metadata block before compression.
const METADATA: usize = 8 << 10;
/// The bit of such a block's length that says that it is not compressed.
const PLAIN: u16 = 1 << 15;

/// A block of metadata, and where the next one is.
#[derive(Debug)]
pub(super) struct MetadataBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) next: u64,
}

/// An open image.
pub struct Squashfs {
    pub(super) bytes: FileRange,
    pub(super) compressor: Compressor,
    pub(super) block_size: u32,
    pub(super) root: u64,
    pub(super) inode_table: u64,
    pub(super) directory_table: u64,
    pub(super) fragment_table: u64,
    pub(super) fragments: u32,
    pub(super) id_table: u64,
    pub(super) ids: u16,
    pub(super) bounds: Bounds,
    pub(super) metadata: Mutex<HashMap<u64, Arc<MetadataBlock>>>,
    pub(super) kept: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
    pub(super) decompressed: AtomicU64,
}

impl Squashfs {
    /// Opens an image that may be followed by padding.
    ///
    /// # Errors
    /// It is not a SquashFS image of version 4.0, truncated, or compressed in an unsupported way.
    pub fn open(bytes: FileRange, bounds: Bounds) -> io::Result<Self> {
        let mut block = [0; SUPERBLOCK];
        if bytes.read_at(0, &mut block)? < SUPERBLOCK || !block.starts_with(&MAGIC) {
            return Err(damaged("not a SquashFS image"));
        }
        let version = (u16_at(&block, 28), u16_at(&block, 30));
        if version != (4, 0) {
            let problem = format!(
                "SquashFS {}.{} is not supported (4.0 is)",
                version.0, version.1
            );
            return Err(io::Error::new(ErrorKind::Unsupported, problem));
        }
        let used = u64_at(&block, 40);
        if used > bytes.length() {
            return Err(damaged(format!(
                "truncated: the image has {} bytes of {used}",
                bytes.length()
            )));
        }
        let log = u16_at(&block, 22);
        let block_size = u32_at(&block, 12);
        if !BLOCK_LOG.contains(&log) || block_size != 1 << log {
            return Err(damaged(format!("the block size {block_size} is invalid")));
        }
        Ok(Squashfs {
            bytes: bytes.slice(0, used),
            compressor: Compressor::of(u16_at(&block, 20))?,
            block_size,
            root: u64_at(&block, 32),
            inode_table: u64_at(&block, 64),
            directory_table: u64_at(&block, 72),
            fragment_table: u64_at(&block, 80),
            fragments: u32_at(&block, 16),
            id_table: u64_at(&block, 48),
            ids: u16_at(&block, 26),
            bounds,
            metadata: Mutex::default(),
            kept: Mutex::default(),
            decompressed: AtomicU64::new(0),
        })
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.bytes.length()
    }

    pub(super) fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self.bytes.read_at(offset, buffer)? == buffer.len() {
            true => Ok(()),
            false => Err(damaged(format!("byte {offset} is not in the image"))),
        }
    }

    /// Reads a block of at most `most` bytes after decompression.
    pub(super) fn block(
        &self,
        offset: u64,
        length: usize,
        is_compressed: bool,
        most: usize,
    ) -> io::Result<Vec<u8>> {
        self.bounds.cancellation.check()?;
        if length > most {
            return Err(damaged(format!(
                "a block of {length} bytes at byte {offset}"
            )));
        }
        let mut stored = vec![0; length];
        self.read_exact(offset, &mut stored)?;
        if !is_compressed {
            return Ok(stored);
        }
        let plain = self.compressor.decompress(&stored, most)?;
        let more = plain.len() as u64;
        let total = self.decompressed.fetch_add(more, Ordering::Relaxed) + more;
        check_length(&self.bounds.limits, self.length(), total).map_err(io::Error::other)?;
        Ok(plain)
    }

    pub(super) fn metadata_block(&self, offset: u64) -> io::Result<Arc<MetadataBlock>> {
        let lock = || self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = lock().get(&offset) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(read_metadata(self, offset)?);
        let mut kept = lock();
        if kept.len() >= METADATA_KEPT {
            kept.clear();
        }
        kept.insert(offset, Arc::clone(&block));
        Ok(block)
    }
}

impl fmt::Debug for Squashfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Squashfs")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

fn u16_at(bytes: &[u8; SUPERBLOCK], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8; SUPERBLOCK], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8; SUPERBLOCK], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Reads the block of metadata at an offset.
fn read_metadata(image: &Squashfs, offset: u64) -> io::Result<MetadataBlock> {
    let mut header = [0; 2];
    image.read_exact(offset, &mut header)?;
    let header = u16::from_le_bytes(header);
    let length = usize::from(header & !PLAIN);
    if length == 0 || length > METADATA {
        return Err(damaged(format!("a metadata block of {length} bytes")));
    }
    let start = offset.saturating_add(2);
    let bytes = image.block(start, length, header & PLAIN == 0, METADATA)?;
    match bytes.is_empty() {
        true => Err(damaged("an empty metadata block")),
        false => Ok(MetadataBlock {
            bytes,
            next: start.saturating_add(length as u64),
        }),
    }
}
