//! An image archive on standard input.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::apptainer;
use super::archive_file::{ArchiveFormat, ArchiveInput};
use super::image::Image;
use super::request::{LayerConsumer, Request, Source};
use imgcheck_archive::squashfs::MAGIC;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};

/// Bytes that are read at once, at most.
const CHUNK: usize = 256 << 10;

/// Chunks to read ahead.
const READ_AHEAD: usize = 4;

/// How long to wait for input before looking at the cancellation.
const INTERVAL: Duration = Duration::from_millis(50);

/// `-`, `docker-archive:-[:REFERENCE]` or `oci-archive:-[:REFERENCE]`.
pub(super) struct StandardInput {
    pub format: ArchiveFormat,
    pub reference: Option<String>,
}

impl Source for StandardInput {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let subject = "-";
        let selection = request.selection(self.reference.as_deref())?;
        let bytes = Interruptible::start(io::stdin(), request.bounds.cancellation.clone());
        let mut bytes = bytes.map_err(|error| Error::io(subject, error))?;
        let start = bytes
            .fill_buf()
            .map_err(|error| Error::io(subject, error))?;
        if start.is_empty() {
            let help = "the command before the pipe wrote no image: run it alone, and see its error (such as `docker save train:v3`)";
            return Err(Error::damaged(subject, "standard input is empty").with_help(help));
        }
        if start.starts_with(&MAGIC) || apptainer::is_sif(start) {
            let problem = "a SquashFS or SIF image is not read from a stream";
            let help = "write it to a file, and check that";
            return Err(Error::unsupported(subject, problem).with_help(help));
        }
        ArchiveInput::new(subject.to_owned(), bytes)?.read(self.format, &selection, request, layers)
    }
}

/// Input from which reading ends with the request: a thread waits for it instead of the reader.
struct Interruptible {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were consumed.
    consumed: usize,
    has_ended: bool,
    cancellation: Cancellation,
}

impl Interruptible {
    /// The thread may read a few chunks ahead, and ends with the input or after the next chunk.
    fn start(
        mut input: impl Read + Send + 'static,
        cancellation: Cancellation,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(READ_AHEAD);
        let read = move || {
            let mut buffer = vec![0; CHUNK];
            loop {
                let read = match input.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.map(|count| buffer[..count].to_vec()),
                };
                let is_last = read.as_ref().map_or(true, Vec::is_empty);
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("standard input".to_owned())
            .spawn(read)?;
        Ok(Interruptible {
            chunks,
            chunk: Vec::new(),
            consumed: 0,
            has_ended: false,
            cancellation,
        })
    }

    fn receive(&mut self) -> io::Result<()> {
        loop {
            self.cancellation.check()?;
            match self.chunks.recv_timeout(INTERVAL) {
                Ok(chunk) => {
                    self.chunk = chunk?;
                    self.consumed = 0;
                    self.has_ended = self.chunk.is_empty();
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("it could not be read before"));
                }
            }
        }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Interruptible {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.chunk.len() && !self.has_ended {
            self.receive()?;
        }
        Ok(&self.chunk[self.consumed..])
    }

    fn consume(&mut self, count: usize) {
        self.consumed = self.chunk.len().min(self.consumed + count);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use super::*;
    use imgcheck_base::error::ErrorCode;

    #[test]
    fn a_cancelled_request_does_not_wait_for_input() {
        let (reader, mut writer) = io::pipe().unwrap();
        let cancellation = Cancellation::default();
        let mut input = Interruptible::start(reader, cancellation.clone()).unwrap();
        io::Write::write_all(&mut writer, b"x").unwrap();
        assert_eq!(input.read(&mut [0; 8]).unwrap(), 1);
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            cancellation.cancel();
        });
        let start = Instant::now();
        let error = Error::io("input", input.read(&mut [0; 8]).unwrap_err());
        assert_eq!(error.code(), ErrorCode::Cancelled);
        assert!(start.elapsed() < Duration::from_secs(20));
        canceller.join().unwrap();
        drop(writer);
    }
}
