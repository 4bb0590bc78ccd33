//! Tables of metadata: blocks of up to 8 KiB, each compressed on its own, that are read as one sequence of bytes.

use std::io;
use std::sync::Arc;

use super::error::damaged;
use super::image::{MetadataBlock, Squashfs};

/// Reads a table from a position.
pub(super) struct Cursor<'a> {
    image: &'a Squashfs,
    block: Arc<MetadataBlock>,
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at a byte of the block that starts at `block` in the image.
    pub fn new(image: &'a Squashfs, block: u64, position: u16) -> io::Result<Self> {
        let block = image.metadata_block(block)?;
        let position = usize::from(position);
        match position > block.bytes.len() {
            true => Err(damaged("a reference leads out of a metadata block")),
            false => Ok(Cursor {
                image,
                block,
                position,
            }),
        }
    }

    /// The next `length` bytes.
    pub fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            if self.position == self.block.bytes.len() {
                self.block = self.image.metadata_block(self.block.next)?;
                self.position = 0;
            }
            let rest = &self.block.bytes[self.position..];
            let part = &rest[..rest.len().min(length - bytes.len())];
            bytes.extend_from_slice(part);
            self.position += part.len();
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(N)?);
        Ok(array)
    }

    pub fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
