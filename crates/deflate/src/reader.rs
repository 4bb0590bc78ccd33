//! Decompression on the thread that reads.

use std::io::{self, Read};

use crate::checksum::Checksum;
use crate::members::{Members, Reason};
use crate::stream::Input;

/// Bytes of input that are read at a time.
const BUFFER: usize = 128 << 10;

/// Decompresses all members of a gzip file. Reading ends with an error unless the last one is whole and its checksum right.
pub struct Gzip<R> {
    input: R,
    buffer: Box<[u8]>,
    /// The bytes of the buffer that are not yet used: from the bit `start` on to the byte `end`.
    start: usize,
    end: usize,
    /// Whether nothing follows.
    is_last: bool,
    members: Members,
    checksum: Checksum,
    is_over: bool,
}

impl<R: Read> Gzip<R> {
    /// Decompresses the input.
    pub fn new(input: R) -> Self {
        Gzip {
            input,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            is_last: false,
            members: Members::new(),
            checksum: Checksum::default(),
            is_over: false,
        }
    }

    /// Moves the unused input to the front, and reads more.
    fn refill(&mut self) -> io::Result<()> {
        let used = (self.start / 8).min(self.end);
        self.buffer.copy_within(used..self.end, 0);
        self.start -= used * 8;
        self.end -= used;
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    self.is_last = count == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, plain: &mut [u8]) -> io::Result<usize> {
        while !self.is_over && !plain.is_empty() {
            let mut input = Input {
                bytes: &self.buffer[..self.end],
                bit: self.start,
            };
            let read = self
                .members
                .read(&mut input, self.is_last, usize::MAX, plain);
            self.start = input.bit;
            let (written, reason) = read?;
            self.checksum.update(&plain[..written]);
            match reason {
                Reason::Member(trailer) => self.checksum.verify(trailer)?,
                Reason::End => self.is_over = true,
                Reason::Input if written == 0 => self.refill()?,
                Reason::Input | Reason::Output | Reason::Block => {}
            }
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}
