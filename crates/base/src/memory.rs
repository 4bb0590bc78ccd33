//! Large buffers. The system has their memory back as soon as they are dropped: an allocator keeps it for the thread that asked for it,
//! and other threads ask for more.

use std::fmt;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Zeros at first. Worth it from some hundred KiB on: each is a mapping of its own.
pub enum Buffer {
    /// Memory of the system.
    Mapped(MmapMut),
    /// Memory of the allocator, where the system has no mapping left.
    Allocated(Box<[u8]>),
}

impl Buffer {
    /// A buffer of so many bytes.
    pub fn new(length: usize) -> Self {
        match MmapMut::map_anon(length) {
            Ok(mapped) => Buffer::Mapped(mapped),
            Err(_) => Buffer::Allocated(vec![0; length].into_boxed_slice()),
        }
    }
}

/// An empty buffer.
impl Default for Buffer {
    fn default() -> Self {
        Buffer::Allocated(Box::default())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Buffer::Mapped(bytes) => bytes,
            Buffer::Allocated(bytes) => bytes,
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Buffer::Mapped(bytes) => bytes,
            Buffer::Allocated(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Buffer({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_with_zeros_and_keeps_what_is_written() {
        let mut buffer = Buffer::new(300 << 10);
        assert!(buffer.iter().all(|byte| *byte == 0));
        buffer[200 << 10..].fill(7);
        assert_eq!(buffer.iter().filter(|byte| **byte == 7).count(), 100 << 10);
        assert!(matches!(buffer, Buffer::Mapped(_)));
        assert!(Buffer::new(0).is_empty() && Buffer::default().is_empty());
    }
}
