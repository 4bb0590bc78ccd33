//! Random access to the bytes of one file, wherever they are stored.

use std::fmt;
use std::io;

/// Bytes that can be read at any offset.
pub trait ReadAt: Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset` and returns how many. Fewer than requested come at the end and before a range
    /// that the source does not have; 0 only at or after the end.
    ///
    /// # Errors
    /// A [`MissingBytes`] inside the [`io::Error`] if the read starts in a range that the source does not have.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The error of a [`ReadAt`] that does not have the requested bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingBytes {
    /// Offset of the first missing byte.
    pub offset: u64,
    /// How many bytes from there on are missing, as far as they were requested.
    pub length: u64,
}

impl fmt::Display for MissingBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "bytes {}+{} are not available",
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

/// Fills a buffer from a source and returns how many bytes it got: fewer than requested only at the end of the source.
pub fn fill(source: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_read_stops_at_the_end_of_a_slice() {
        let bytes: &[u8] = b"0123456789";
        let mut buffer = [0; 4];
        assert_eq!(bytes.read_at(8, &mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"89");
        assert_eq!(bytes.read_at(11, &mut buffer).unwrap(), 0);
        assert_eq!(bytes.read_at(u64::MAX, &mut buffer).unwrap(), 0);
    }
}
