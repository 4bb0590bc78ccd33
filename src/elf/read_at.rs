//! Random access to the bytes of one file, wherever they are kept.

use std::fmt;
use std::io;

use crate::archive::FileRange;

/// Bytes that can be read at any offset.
pub trait ReadAt: Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset` and says how many there were. Fewer than asked come at the end,
    /// and before a range that the source does not hold; 0 only at or behind the end. A read that starts in a range that
    /// is not held fails with a [`MissingBytes`] inside the [`io::Error`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The error of a [`ReadAt`] that does not hold what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingBytes {
    /// First byte that is not held.
    pub offset: u64,
    /// Length of the range that is not held, as far as it was asked for.
    pub length: u64,
}

impl fmt::Display for MissingBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "bytes {}+{} were not kept",
            self.offset, self.length
        )
    }
}

impl std::error::Error for MissingBytes {}

impl From<MissingBytes> for io::Error {
    fn from(missing: MissingBytes) -> Self {
        io::Error::other(missing)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buffer)
    }
}

impl ReadAt for FileRange {
    fn size(&self) -> u64 {
        self.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileRange::read_at(self, offset, buffer)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::sync::Arc;

    #[test]
    fn a_slice_ends_where_it_ends() {
        let bytes: &[u8] = b"0123456789";
        let mut buffer = [0; 4];
        assert_eq!(bytes.read_at(8, &mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"89");
        assert_eq!(bytes.read_at(11, &mut buffer).unwrap(), 0);
        assert_eq!(bytes.read_at(u64::MAX, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_range_shows_nothing_outside_itself() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let range = FileRange::new(Arc::new(file), 2, 5);
        let mut buffer = [0; 10];
        assert_eq!(range.size(), 5);
        assert_eq!(range.read_at(1, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"3456");
        assert_eq!(range.read_at(5, &mut buffer).unwrap(), 0);
        assert_eq!(range.read_at(6, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_file_that_was_cut_is_no_shorter_range() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let range = FileRange::new(Arc::new(file.try_clone().unwrap()), 2, 5);
        file.set_len(4).unwrap();
        let mut buffer = [0; 10];
        assert_eq!(range.read_at(0, &mut buffer[..2]).unwrap(), 2);
        for offset in [0, 2, 4] {
            let error = range.read_at(offset, &mut buffer).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        assert_eq!(range.read_at(5, &mut buffer).unwrap(), 0);
    }
}
