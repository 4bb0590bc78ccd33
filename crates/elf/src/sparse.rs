//! Some ranges of a file in memory, such as those that were kept of a stream.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imgcheck_base::memory::Buffer;
use imgcheck_base::read_at::{MissingBytes, ReadAt};

/// Length of one chunk of memory, in bytes.
const CHUNK: usize = 256 << 10;
/// Unused chunks that a pool keeps; it frees those beyond.
const MAX_UNUSED: usize = 512;

/// Memory that files reuse one after the other. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChunkPool(Arc<Mutex<Vec<Chunk>>>);

/// Some memory, of which the first bytes are in use.
#[derive(Debug)]
struct Chunk {
    memory: Buffer,
    length: usize,
}

impl Chunk {
    fn new() -> Self {
        Chunk {
            memory: Buffer::new(CHUNK),
            length: 0,
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.memory[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }
}

impl ChunkPool {
    /// Returns all unused memory to the system.
    pub fn clear(&self) {
        *self.unused() = Vec::new();
    }

    fn take(&self) -> Chunk {
        self.unused().pop().unwrap_or_else(Chunk::new)
    }

    fn give_back(&self, chunks: impl Iterator<Item = Chunk>) {
        let mut unused = self.unused();
        let room = MAX_UNUSED.saturating_sub(unused.len());
        unused.extend(chunks.take(room).map(|chunk| Chunk { length: 0, ..chunk }));
    }

    fn unused(&self) -> MutexGuard<'_, Vec<Chunk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Some ranges of a file, in memory.
#[derive(Debug)]
pub struct SparseFile {
    size: u64,
    /// Ordered, not overlapping; neighbours may touch.
    extents: Vec<Extent>,
    chunks: Vec<Chunk>,
    pool: ChunkPool,
}

/// One range of the file, and where in the chunks its bytes are.
#[derive(Debug)]
struct Extent {
    offset: u64,
    chunk: usize,
    start: usize,
    length: usize,
}

impl SparseFile {
    /// No ranges of a file of `size` bytes.
    pub(crate) fn new(size: u64, pool: ChunkPool) -> Self {
        SparseFile {
            size,
            extents: Vec::new(),
            chunks: Vec::new(),
            pool,
        }
    }

    /// Adds bytes after all others.
    pub(crate) fn append(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let used = self.chunks.last().map_or(CHUNK, |chunk| chunk.length);
            if used >= CHUNK {
                self.chunks.push(self.pool.take());
                continue;
            }
            let (part, rest) = bytes.split_at(bytes.len().min(CHUNK - used));
            self.append_part(offset, part);
            offset += part.len() as u64;
            bytes = rest;
        }
    }

    /// Adds bytes for which the last chunk has room.
    fn append_part(&mut self, offset: u64, part: &[u8]) {
        let Some(chunk) = self.chunks.len().checked_sub(1) else {
            return;
        };
        let start = self.chunks[chunk].length;
        self.chunks[chunk].append(part);
        match self.extents.last_mut() {
            Some(last) if last.chunk == chunk && last.end() == offset => last.length += part.len(),
            _ => self.extents.push(Extent {
                offset,
                chunk,
                start,
                length: part.len(),
            }),
        }
    }

    /// Number of bytes in memory.
    pub fn held(&self) -> u64 {
        self.extents.iter().map(|extent| extent.length as u64).sum()
    }

    fn bytes(&self, extent: &Extent) -> &[u8] {
        &self.chunks[extent.chunk].memory[extent.start..extent.start + extent.length]
    }

    /// The bytes from an offset on, and where the next extent starts.
    fn at(&self, offset: u64) -> (&[u8], Option<u64>) {
        let next = self.extents.partition_point(|it| it.offset <= offset);
        let following = self.extents.get(next).map(|it| it.offset);
        let held = next
            .checked_sub(1)
            .and_then(|index| self.extents.get(index))
            .and_then(|it| {
                self.bytes(it)
                    .get(usize::try_from(offset - it.offset).ok()?..)
            });
        (held.unwrap_or_default(), following)
    }
}

impl Extent {
    /// Offset of the first byte after it.
    fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

impl Drop for SparseFile {
    fn drop(&mut self) {
        self.pool.give_back(self.chunks.drain(..));
    }
}

impl ReadAt for SparseFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let place = offset + filled as u64;
            let (held, next) = self.at(place);
            if held.is_empty() {
                if filled > 0 || place >= self.size {
                    break;
                }
                let end = next.unwrap_or(self.size).min(self.size);
                return Err(MissingBytes {
                    offset: place,
                    length: (end - place).min(buffer.len() as u64),
                }
                .into());
            }
            let length = held.len().min(buffer.len() - filled);
            buffer[filled..filled + length].copy_from_slice(&held[..length]);
            filled += length;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> SparseFile {
        let mut file = SparseFile::new(20, ChunkPool::default());
        file.append(0, b"0123");
        file.append(4, b"45");
        file.append(10, b"abc");
        file
    }

    #[test]
    fn a_read_stops_at_a_hole_and_fails_inside_one() {
        let file = sample();
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(1, &mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"12345");
        let error = file.read_at(7, &mut buffer).unwrap_err();
        let hole = error
            .get_ref()
            .unwrap()
            .downcast_ref::<MissingBytes>()
            .unwrap();
        assert_eq!((hole.offset, hole.length), (7, 3));
        assert!(file.read_at(13, &mut buffer).is_err());
        assert_eq!(file.read_at(20, &mut buffer).unwrap(), 0);
    }
}
