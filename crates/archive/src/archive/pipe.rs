//! A pipe between two threads: a fixed number of buffers that are reused, so that memory is bounded.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::Input;
use super::input::skip_buffered;
use imgcheck_base::digest::Hasher;
use imgcheck_base::memory;

#[derive(Debug, Default)]
struct Buffer {
    bytes: memory::Buffer,
    length: usize,
}

/// The end that is written to.
#[derive(Debug)]
pub struct Writer {
    full: Sender<Buffer>,
    empty: Receiver<Buffer>,
}

/// The end that is read from.
#[derive(Debug)]
pub struct Reader {
    full: Receiver<Buffer>,
    empty: Sender<Buffer>,
    current: Buffer,
    position: usize,
}

/// Computes the digest of what goes through a pipe, on a thread of its own.
#[derive(Debug)]
pub struct Hashing {
    full: Receiver<Buffer>,
    hashed: Sender<Buffer>,
}

/// A pipe of `count` buffers of `size` bytes.
pub fn pipe(count: usize, size: usize) -> (Writer, Reader) {
    let (full_sender, full) = channel();
    let (empty, empty_receiver) = channel();
    for _ in 0..count {
        let _ = empty.send(Buffer {
            bytes: memory::Buffer::new(size),
            length: 0,
        });
    }
    (
        Writer {
            full: full_sender,
            empty: empty_receiver,
        },
        Reader {
            full,
            empty,
            current: Buffer::default(),
            position: 0,
        },
    )
}

impl Writer {
    /// Calls `fill` with the next buffer; it returns how many bytes it wrote, 0 at the end. Returns 0 also when the reader was
    /// dropped.
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
    /// Hashes all bytes before they are read.
    pub fn hashed(self) -> (Hashing, Self) {
        let (hashed, full) = channel();
        let hashing = Hashing {
            full: self.full,
            hashed,
        };
        (hashing, Reader { full, ..self })
    }

    /// Reads to the end.
    pub fn finish(mut self) {
        while self.next_buffer() {}
    }

    /// False at the end.
    fn next_buffer(&mut self) -> bool {
        let Ok(next) = self.full.recv() else {
            return false;
        };
        self.position = 0;
        let used = std::mem::replace(&mut self.current, next);
        if !used.bytes.is_empty() {
            // An error means that the writer was dropped.
            let _ = self.empty.send(used);
        }
        true
    }
}

impl Hashing {
    /// Hashes until the writer or the reader is dropped, and returns the digest.
    pub fn run(self) -> String {
        let mut hasher = Hasher::default();
        for buffer in self.full {
            hasher.update(&buffer.bytes[..buffer.length]);
            if self.hashed.send(buffer).is_err() {
                break;
            }
        }
        hasher.finish()
    }
}

/// Fills the buffer, unless the input ends.
pub fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
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
        skip_buffered(self, count)
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
    fn bytes_are_hashed_on_the_way() {
        let (writer, reader) = pipe(2, 7);
        let (hashing, mut reader) = reader.hashed();
        let source: Vec<u8> = (0..=255).collect();
        let (mut rest, mut found) = (&source[..], [0; 100]);
        let digest = std::thread::scope(|scope| {
            scope.spawn(move || while writer.write(|buffer| rest.read(buffer)).unwrap() > 0 {});
            let hashing = scope.spawn(|| hashing.run());
            reader.read_exact(&mut found).unwrap();
            reader.finish();
            hashing.join().unwrap()
        });
        assert_eq!(found, source[..100]);
        assert_eq!(digest, imgcheck_base::digest::sha256(&source));
    }

    #[test]
    fn hashing_ends_when_the_reader_is_dropped() {
        let (writer, reader) = pipe(2, 7);
        let (hashing, reader) = reader.hashed();
        drop(reader);
        std::thread::scope(|scope| {
            scope.spawn(|| hashing.run());
            while writer.write(|buffer| Ok(buffer.len())).unwrap() > 0 {}
        });
    }

    #[test]
    fn a_writer_ends_when_the_reader_is_dropped() {
        let (writer, reader) = pipe(2, 7);
        drop(reader);
        while writer.write(|buffer| Ok(buffer.len())).unwrap() > 0 {}
    }
}
