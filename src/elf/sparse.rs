//! The parts of a file that were kept while it streamed by.

use std::io;

use super::read_at::{NotHeld, ReadAt};

/// Neighbours are joined up to this many bytes.
const EXTENT: usize = 64 << 10;

/// Some ranges of a file, in memory.
#[derive(Debug, Clone, Default)]
pub struct SparseFile {
    size: u64,
    /// Ordered, not overlapping; neighbours may touch.
    extents: Vec<(u64, Vec<u8>)>,
}

impl SparseFile {
    /// An empty one of a file of `size` bytes.
    pub(super) fn new(size: u64) -> Self {
        SparseFile {
            size,
            extents: Vec::new(),
        }
    }

    /// Adds bytes behind all that are held.
    pub(super) fn append(&mut self, offset: u64, bytes: &[u8]) {
        match self.extents.last_mut() {
            Some((start, last))
                if *start + last.len() as u64 == offset && last.len() + bytes.len() <= EXTENT =>
            {
                last.extend_from_slice(bytes);
            }
            _ if bytes.is_empty() => {}
            _ => self.extents.push((offset, bytes.to_vec())),
        }
    }

    /// Bytes that are held.
    pub fn held(&self) -> u64 {
        self.extents
            .iter()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum()
    }

    /// Both together: what a second pass over the same file fetched, and the first.
    #[must_use]
    pub fn merge(self, other: SparseFile) -> SparseFile {
        let mut all: Vec<_> = self.extents.into_iter().chain(other.extents).collect();
        all.sort_by_key(|(offset, _)| *offset);
        let mut merged = SparseFile::new(self.size.max(other.size));
        let mut end = 0;
        for (offset, bytes) in all {
            let known = usize::try_from(end.max(offset) - offset).unwrap_or(usize::MAX);
            if known < bytes.len() {
                let start = offset + known as u64;
                end = offset + bytes.len() as u64;
                merged.append(start, &bytes[known..]);
            }
        }
        merged
    }

    /// What is held at an offset, and where the next extent starts.
    fn at(&self, offset: u64) -> (&[u8], Option<u64>) {
        let next = self.extents.partition_point(|(start, _)| *start <= offset);
        let following = self.extents.get(next).map(|(start, _)| *start);
        let held = next
            .checked_sub(1)
            .and_then(|index| self.extents.get(index))
            .and_then(|(start, bytes)| bytes.get(usize::try_from(offset - start).ok()?..));
        (held.unwrap_or_default(), following)
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
                return Err(NotHeld {
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
        let mut file = SparseFile::new(20);
        file.append(0, b"0123");
        file.append(4, b"45");
        file.append(10, b"abc");
        file
    }

    #[test]
    fn a_read_ends_at_a_hole_and_fails_within_one() {
        let file = sample();
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(1, &mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"12345");
        let error = file.read_at(7, &mut buffer).unwrap_err();
        let hole = error.get_ref().unwrap().downcast_ref::<NotHeld>().unwrap();
        assert_eq!((hole.offset, hole.length), (7, 3));
        assert!(file.read_at(13, &mut buffer).is_err());
        assert_eq!(file.read_at(20, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn merging_fills_a_hole_once() {
        let mut second = SparseFile::new(20);
        second.append(3, b"3456789a");
        let file = sample().merge(second);
        assert_eq!(file.held(), 13);
        let mut buffer = [0; 20];
        assert_eq!(file.read_at(0, &mut buffer).unwrap(), 13);
        assert_eq!(&buffer[..13], b"0123456789abc");
    }
}
