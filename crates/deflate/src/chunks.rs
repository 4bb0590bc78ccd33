//! The input in chunks, and how many there may be at a time.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::chunk::{Chunk, Sizes};

/// Chunks that all decompressions of the program have at most, besides [`OWN`] of each: they take most of the memory.
const CHUNKS: usize = 6;
/// Chunks that each decompression has, whatever the others do.
const OWN: usize = 2;

/// The input in chunks.
pub struct Chunks<'a> {
    input: &'a mut dyn Read,
    pub sizes: Sizes,
    offset: u64,
    /// What the last chunk and the next one share.
    overlap: Vec<u8>,
    pub is_over: bool,
    /// Why the input ended.
    pub error: Option<io::Error>,
}

impl<'a> Chunks<'a> {
    pub fn new(input: &'a mut dyn Read, sizes: Sizes) -> Self {
        Chunks {
            input,
            sizes,
            offset: 0,
            overlap: Vec::new(),
            is_over: false,
            error: None,
        }
    }

    pub fn read(&mut self, chunk: &mut Chunk) {
        chunk.input.clear();
        chunk.input.append(&mut self.overlap);
        let length = self.sizes.input + self.sizes.overlap;
        let missing = length - chunk.input.len();
        let read = self
            .input
            .take(missing as u64)
            .read_to_end(&mut chunk.input);
        self.error = read.err();
        self.is_over = chunk.input.len() < length;
        chunk.is_last = self.is_over && self.error.is_none();
        chunk.offset = self.offset;
        if !self.is_over {
            self.overlap
                .extend_from_slice(&chunk.input[self.sizes.input..]);
            self.offset += self.sizes.input as u64;
        }
    }
}

/// Buffers that are not in use, and may be used again.
pub struct Spare {
    sizes: Sizes,
    pub chunks: Vec<Chunk>,
    pub inputs: Vec<Vec<u8>>,
    pub plain: Vec<Vec<u8>>,
    /// Chunks that there are, and what allows for most of them.
    count: usize,
    permits: Vec<Permit>,
}

impl Spare {
    pub fn new(sizes: Sizes) -> Self {
        Spare {
            sizes,
            chunks: Vec::new(),
            inputs: Vec::new(),
            plain: Vec::new(),
            count: 0,
            permits: Vec::new(),
        }
    }

    /// A chunk, if there may be one more.
    pub fn chunk(&mut self) -> Option<Chunk> {
        let mut chunk = match self.chunks.pop() {
            Some(chunk) => chunk,
            None => {
                if self.count >= OWN {
                    self.permits.push(Permit::take()?);
                }
                self.count += 1;
                Chunk::new(self.sizes)
            }
        };
        if chunk.input.capacity() == 0 {
            chunk.input = self.inputs.pop().unwrap_or_default();
        }
        Some(chunk)
    }
}

/// Permits that are not taken.
static PERMITS: AtomicUsize = AtomicUsize::new(CHUNKS);

/// Allows for one chunk.
struct Permit;

impl Permit {
    fn take() -> Option<Self> {
        let less = |permits: usize| permits.checked_sub(1);
        let taken = PERMITS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.ok().map(|_| Permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        PERMITS.fetch_add(1, Ordering::Relaxed);
    }
}
