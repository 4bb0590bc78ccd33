//! The content of files, at any offset.

use imgcheck_base::read_at::ReadAt;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::damaged;
use super::image::Squashfs;
use super::inode::Extent;
use super::tables::PLAIN;
use imgcheck_base::limits::Limit;

/// Maximum number of blocks of one file: 512 GiB of the default block size.
const MOST_BLOCKS: u64 = 4 << 20;
/// Blocks that a file keeps.
const KEPT: usize = 4;

/// A regular file.
pub struct SquashfsFile<'a> {
    image: &'a Squashfs,
    size: u64,
    /// Start and stored length of each block.
    blocks: Vec<(u64, u32)>,
    fragment: Option<(u32, u32)>,
    kept: Mutex<VecDeque<(usize, Arc<Vec<u8>>)>>,
}

impl Squashfs {
    /// Opens a file.
    ///
    /// # Errors
    /// Its inode is damaged, or it is too long.
    pub fn file(&self, extent: &Extent) -> io::Result<SquashfsFile<'_>> {
        let checked = self.bounds.limits.check(Limit::LayerBytes, extent.size);
        checked.map_err(io::Error::other)?;
        let block_size = u64::from(self.block_size);
        let count = match extent.fragment {
            Some(_) => extent.size / block_size,
            None => extent.size.div_ceil(block_size),
        };
        if count > MOST_BLOCKS {
            return Err(damaged(format!("a file of {count} blocks")));
        }
        let mut cursor = self.at_inode(extent.inode)?;
        cursor.bytes(extent.header)?;
        let mut start = extent.start;
        let mut blocks = Vec::new();
        for _ in 0..count {
            let size = cursor.u32()?;
            blocks.push((start, size));
            start = start.saturating_add(u64::from(size & (PLAIN - 1)));
        }
        Ok(SquashfsFile {
            image: self,
            size: extent.size,
            blocks,
            fragment: extent.fragment,
            kept: Mutex::default(),
        })
    }
}

impl SquashfsFile<'_> {
    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads at `offset` until the buffer is full or the file ends; returns the number of bytes.
    ///
    /// # Errors
    /// A block is damaged, or a limit is exceeded.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let block_size = u64::from(self.image.block_size);
        let mut done = 0;
        while done < wanted {
            let place = offset + done as u64;
            let index = (place / block_size) as usize;
            let inside = (place % block_size) as usize;
            let length = (wanted - done).min(block_size as usize - inside);
            let part = &mut buffer[done..done + length];
            self.read_block(index, inside, part)?;
            done += length;
        }
        Ok(done)
    }

    /// Fills `part` with the bytes of one block, or of the fragment.
    fn read_block(&self, index: usize, inside: usize, part: &mut [u8]) -> io::Result<()> {
        let (block, from) = match (self.blocks.get(index), self.fragment) {
            // A hole.
            (Some((_, 0)), _) => {
                part.fill(0);
                return Ok(());
            }
            (Some(_), _) => (self.block(index)?, inside),
            (None, Some((fragment, start))) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                (self.image.fragment(fragment)?, start.saturating_add(inside))
            }
            (None, None) => return Err(damaged("a file has too few blocks")),
        };
        let bytes = block.get(from..).and_then(|rest| rest.get(..part.len()));
        part.copy_from_slice(bytes.ok_or_else(|| damaged("a block of a file is too short"))?);
        Ok(())
    }

    fn block(&self, index: usize) -> io::Result<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = kept.iter().find(|(number, _)| *number == index) {
            return Ok(Arc::clone(block));
        }
        let (start, size) = self.blocks[index];
        let block = Arc::new(self.image.data_block(start, size)?);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((index, Arc::clone(&block)));
        Ok(block)
    }

    /// All bytes, of which there are at most as many as a limit on captured files allows.
    ///
    /// # Errors
    /// Same as [`read_at`](Self::read_at), or the file is longer than the limit.
    pub fn whole(&self) -> io::Result<Vec<u8>> {
        let checked = self.image.bounds.limits.check(Limit::TextBytes, self.size);
        checked.map_err(io::Error::other)?;
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or_default()];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }
}

impl ReadAt for SquashfsFile<'_> {
    fn size(&self) -> u64 {
        SquashfsFile::size(self)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        SquashfsFile::read_at(self, offset, buffer)
    }
}
