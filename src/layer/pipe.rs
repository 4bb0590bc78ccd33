//! A pipe between two threads: a fixed number of buffers that go round, so that memory is bounded and none is allocated twice.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::archive::Input;
use crate::digest::Hasher;

#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    length: usize,
}

/// The end that is written to.
#[derive(Debug)]
pub(super) struct Writer {
    full: Sender<Buffer>,
    empty: Receiver<Buffer>,
}

/// The end that is read from.
#[derive(Debug)]
pub(super) struct Reader {
    full: Receiver<Buffer>,
    empty: Sender<Buffer>,
    current: Buffer,
    position: usize,
    hasher: Option<Hasher>,
}

/// A pipe of `count` buffers of `size` bytes.
pub(super) fn pipe(count: usize, size: usize) -> (Writer, Reader) {
    let (full_sender, full) = channel();
    let (empty, empty_receiver) = channel();
    for _ in 0..count {
        // The receiver is in scope, so nothing can be lost.
        let _ = empty.send(Buffer {
            bytes: vec![0; size].into_boxed_slice(),
            length: 0,
        });
    }
    let current = Buffer {
        bytes: Box::new([]),
        length: 0,
    };
    (
        Writer {
            full: full_sender,
            empty: empty_receiver,
        },
        Reader {
            full,
            empty,
            current,
            position: 0,
            hasher: None,
        },
    )
}

impl Writer {
    /// Lets `fill` write the next buffer; it returns how many bytes it wrote, 0 at the end. `Ok(0)` also when nobody reads any
    /// more.
    pub fn write(&self, fill: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        let Ok(mut buffer) = self.empty.recv() else {
            return Ok(0);
        };
        buffer.length = fill(&mut buffer.bytes)?;
        let length = buffer.length;
        match self.full.send(buffer) {
            Ok(()) => Ok(length),
            Err(_) => Ok(0),
        }
    }
}

impl Reader {
    /// Also computes the digest of all that comes through.
    pub fn hashed(self) -> Self {
        Reader {
            hasher: Some(Hasher::default()),
            ..self
        }
    }

    /// Reads to the end; gives the digest of a [`Reader::hashed`].
    pub fn finish(mut self) -> Option<String> {
        while self.next_buffer() {}
        self.hasher.map(Hasher::finish)
    }

    /// Whether there is one.
    fn next_buffer(&mut self) -> bool {
        let Ok(next) = self.full.recv() else {
            return false;
        };
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&next.bytes[..next.length]);
        }
        self.position = 0;
        let used = std::mem::replace(&mut self.current, next);
        if !used.bytes.is_empty() {
            // An error means that the writer has ended and needs no buffers.
            let _ = self.empty.send(used);
        }
        true
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.current.length {
            self.next_buffer();
        }
        Ok(&self.current.bytes[self.position..self.current.length])
    }

    fn consume(&mut self, count: usize) {
        self.position = (self.position + count).min(self.current.length);
    }
}

impl Input for Reader {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let available = self.fill_buf()?.len();
            if available == 0 {
                break;
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(available);
            self.consume(step);
            left -= step as u64;
        }
        Ok(count - left)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let (writer, mut reader) = pipe(2, 7);
        let source: Vec<u8> = (0..=255).collect();
        let found = std::thread::scope(|scope| {
            let mut rest = &source[..];
            scope.spawn(move || while writer.write(|buffer| rest.read(buffer)).unwrap() > 0 {});
            assert_eq!(reader.skip(10).unwrap(), 10);
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            assert_eq!(reader.skip(1).unwrap(), 0);
            found
        });
        assert_eq!(found, source[10..]);
    }

    #[test]
    fn a_writer_ends_when_nobody_reads() {
        let (writer, reader) = pipe(2, 7);
        drop(reader);
        while writer.write(|buffer| Ok(buffer.len())).unwrap() > 0 {}
    }
}
