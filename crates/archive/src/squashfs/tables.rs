//! Tables that list their blocks: the ends of files, and owners.

use std::io;
use std::sync::{Arc, PoisonError};

use super::error::damaged;
use super::image::Squashfs;
use super::metadata::Cursor;

/// The bit of the length of a block of data that says that it is not compressed; a length has the bits below it.
pub(super) const PLAIN: u32 = 1 << 24;
/// Blocks of small files that are kept, up to 1 MiB each.
const FRAGMENTS_KEPT: usize = 8;
/// Entries of the tables in a metadata block.
const FRAGMENTS: u32 = 512;
const IDS: u16 = 2048;

impl Squashfs {
    /// The block of the ends of files with this number.
    pub(super) fn fragment(&self, number: u32) -> io::Result<Arc<Vec<u8>>> {
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
    pub(super) fn data_block(&self, start: u64, size: u32) -> io::Result<Vec<u8>> {
        let length = (size & (PLAIN - 1)) as usize;
        let is_compressed = size & PLAIN == 0;
        self.block(start, length, is_compressed, self.block_size as usize)
    }

    /// The user or group with this index.
    pub(super) fn id(&self, index: u16) -> io::Result<u32> {
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
