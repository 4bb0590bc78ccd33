//! SquashFS 4.0 images, read by random access: of a file, only the blocks that are asked for are decompressed.
//!
//! The format is described in the Linux kernel (`fs/squashfs/squashfs_fs.h`) and by squashfs-tools-ng (`doc/format.adoc`). Every
//! offset, length and count is of the image, and none is trusted: reads stay within it, blocks have at most the length that the format
//! allows, and what is decompressed in all is bounded as it is for a layer. Extended attributes are not read.

mod block;
mod directory;
mod file;
mod inode;
mod lzo;
mod metadata;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::FileRange;
use crate::archive::compression::check_length;
use crate::cancellation::Cancellation;
use crate::limits::Limits;
use block::Compressor;
pub use directory::Child;
pub use file::SquashfsFile;
pub use inode::{Extent, Inode, InodeKind, Listing};
use metadata::{Cursor, MetadataBlock};

/// The first bytes of an image.
pub const MAGIC: [u8; 4] = *b"hsqs";
const SUPERBLOCK: usize = 96;
/// Bytes of a block of data, as powers of two.
const BLOCK_LOG: std::ops::RangeInclusive<u16> = 12..=20;
/// Metadata blocks that are kept: 8 KiB each.
const METADATA_KEPT: usize = 1024;
/// Blocks of small files that are kept, up to 1 MiB each.
const FRAGMENTS_KEPT: usize = 8;
/// Entries of the tables in a metadata block.
const FRAGMENTS: u32 = 512;
const IDS: u16 = 2048;

/// An open image.
pub struct Squashfs {
    bytes: FileRange,
    compressor: Compressor,
    block_size: u32,
    root: u64,
    inode_table: u64,
    directory_table: u64,
    fragment_table: u64,
    fragments: u32,
    id_table: u64,
    ids: u16,
    limits: Limits,
    cancellation: Cancellation,
    metadata: Mutex<HashMap<u64, Arc<MetadataBlock>>>,
    kept: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
    decompressed: AtomicU64,
}

impl Squashfs {
    /// Opens an image that may be followed by padding.
    ///
    /// # Errors
    /// It is not a SquashFS image of version 4.0, truncated, or compressed in an unsupported way.
    pub fn open(bytes: FileRange, limits: Limits, cancellation: Cancellation) -> io::Result<Self> {
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
            limits,
            cancellation,
            metadata: Mutex::default(),
            kept: Mutex::default(),
            decompressed: AtomicU64::new(0),
        })
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.bytes.length()
    }

    /// The root directory.
    ///
    /// # Errors
    /// It is damaged.
    pub fn root(&self) -> io::Result<Inode> {
        self.inode(self.root)
    }

    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self.bytes.read_at(offset, buffer)? == buffer.len() {
            true => Ok(()),
            false => Err(damaged(format!("byte {offset} is not in the image"))),
        }
    }

    /// Reads a block of at most `most` bytes after decompression.
    fn block(
        &self,
        offset: u64,
        length: usize,
        is_compressed: bool,
        most: usize,
    ) -> io::Result<Vec<u8>> {
        self.cancellation.check()?;
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
        check_length(&self.limits, self.length(), total).map_err(io::Error::other)?;
        Ok(plain)
    }

    fn metadata_block(&self, offset: u64) -> io::Result<Arc<MetadataBlock>> {
        let lock = || self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = lock().get(&offset) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(metadata::read(self, offset)?);
        let mut kept = lock();
        if kept.len() >= METADATA_KEPT {
            kept.clear();
        }
        kept.insert(offset, Arc::clone(&block));
        Ok(block)
    }

    /// The block of the ends of files with this number.
    fn fragment(&self, number: u32) -> io::Result<Arc<Vec<u8>>> {
        if number >= self.fragments {
            return Err(damaged(format!("the fragment {number} does not exist")));
        }
        let place = (number % FRAGMENTS * 16) as u16;
        let mut cursor = self.in_table(self.fragment_table, number / FRAGMENTS, place)?;
        let (start, size) = (cursor.u64()?, cursor.u32()?);
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = lock().iter().find(|(kept, _)| *kept == start) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(self.data_block(start, size)?);
        let mut kept = lock();
        if kept.len() >= FRAGMENTS_KEPT {
            kept.pop_front();
        }
        kept.push_back((start, Arc::clone(&block)));
        Ok(block)
    }

    /// A block of data, with its length as the tables have it.
    fn data_block(&self, start: u64, size: u32) -> io::Result<Vec<u8>> {
        let length = (size & (file::PLAIN - 1)) as usize;
        let is_compressed = size & file::PLAIN == 0;
        self.block(start, length, is_compressed, self.block_size as usize)
    }

    /// The user or group with this index.
    fn id(&self, index: u16) -> io::Result<u32> {
        if index >= self.ids {
            return Err(damaged(format!("the owner {index} does not exist")));
        }
        let place = (index % IDS) * 4;
        self.in_table(self.id_table, u32::from(index / IDS), place)?
            .u32()
    }

    /// A position in a block of a table that lists its blocks.
    fn in_table(&self, table: u64, block: u32, position: u16) -> io::Result<Cursor<'_>> {
        let mut start = [0; 8];
        let entry = table.saturating_add(u64::from(block) * 8);
        self.read_exact(entry, &mut start)?;
        Cursor::new(self, u64::from_le_bytes(start), position)
    }
}

impl fmt::Debug for Squashfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Squashfs")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

fn damaged(problem: impl fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("damaged: {problem}"))
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
