//! The input in chunks, which a thread of its own reads, and how many there may be at a time.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::chunk::{Chunk, Sizes};
use crate::tasks::{Task, Tasks};

/// Chunks that all decompressions of the program have at most, besides [`OWN`] of each: they take most of the memory.
const CHUNKS: usize = 9;
/// Chunks that each decompression has, whatever the others do.
const OWN: usize = 2;

/// The input in chunks.
pub struct Chunks<'a> {
    input: &'a mut (dyn Read + Send),
    sizes: Sizes,
    offset: u64,
    /// What the last chunk and the next one share.
    overlap: Vec<u8>,
    pub is_over: bool,
    /// Why the input ended.
    pub error: Option<io::Error>,
}

impl<'a> Chunks<'a> {
    pub fn new(input: &'a mut (dyn Read + Send), sizes: Sizes) -> Self {
        Chunks {
            input,
            sizes,
            offset: 0,
            overlap: Vec::new(),
            is_over: false,
            error: None,
        }
    }

    /// The first chunk. It begins with a header, and without a window: nothing is found in it.
    pub fn first(&mut self) -> Chunk {
        let mut chunk = Chunk::new(self.sizes);
        self.read(&mut chunk);
        chunk
    }

    fn read(&mut self, chunk: &mut Chunk) {
        let length = self.sizes.input + self.sizes.overlap;
        chunk.input = Vec::with_capacity(length);
        chunk.input.append(&mut self.overlap);
        let missing = length - chunk.input.len();
        let mut input = (&mut *self.input).take(missing as u64);
        let read = input.read_to_end(&mut chunk.input);
        self.error = read.err();
        self.is_over = chunk.input.len() < length;
        chunk.found = None;
        chunk.is_last = self.is_over && self.error.is_none();
        chunk.offset = self.offset;
        if !self.is_over {
            let overlap = &chunk.input[self.sizes.input..];
            self.overlap.extend_from_slice(overlap);
            self.offset += self.sizes.input as u64;
        }
    }

    /// Reads to the end, or until nobody wants more: hands each chunk to those who decompress it, if there are any, and says in order who
    /// will have it then. Returns why the input ended.
    pub fn read_all(
        mut self,
        tasks: Option<&Tasks>,
        mut buffers: Buffers,
        begun: &Sender<Receiver<Chunk>>,
    ) -> Option<io::Error> {
        while !self.is_over {
            let mut chunk = buffers.next()?;
            self.read(&mut chunk);
            let (done, result) = channel();
            match tasks {
                Some(tasks) => tasks.add(Task::Decompress(chunk, done), false),
                None => done.send(chunk).ok()?,
            }
            begun.send(result).ok()?;
        }
        self.error
    }
}

/// Chunks that are not in use, and may be used again.
pub struct Buffers {
    sizes: Sizes,
    /// Chunks that come back.
    spare: Receiver<Chunk>,
    /// Chunks that there are, how many there may be, and what allows for most of them.
    count: usize,
    most: usize,
    permits: Vec<Permit>,
}

impl Buffers {
    /// At most so many chunks.
    pub fn new(sizes: Sizes, most: usize, spare: Receiver<Chunk>) -> Self {
        Buffers {
            sizes,
            spare,
            count: 0,
            most,
            permits: Vec::new(),
        }
    }

    /// A chunk, when there may be one more. `None` if none will come back.
    fn next(&mut self) -> Option<Chunk> {
        if let Ok(chunk) = self.spare.try_recv() {
            return Some(chunk);
        }
        if self.may_be_one_more() {
            self.count += 1;
            return Some(Chunk::new(self.sizes));
        }
        self.spare.recv().ok()
    }

    fn may_be_one_more(&mut self) -> bool {
        if self.count < OWN {
            return true;
        }
        let permit = (self.count < self.most).then(Permit::take).flatten();
        let is_allowed = permit.is_some();
        self.permits.extend(permit);
        is_allowed
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
