//! An archive that is compressed as a whole, decompressed on a separate thread.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::super::pipe::{Reader, pipe};
use super::format::Compression;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::limits::LimitExceeded;

/// Buffers between the two threads, and bytes of one.
const BUFFERS: usize = 8;
const BUFFER: usize = 512 << 10;

/// The decompressed bytes. Reading ends with an error, and repeats it, if the input is damaged or truncated or exceeds a limit.
#[derive(Debug)]
pub struct Decompressed {
    bytes: Reader,
    /// `None` when it has ended.
    thread: Option<JoinHandle<io::Result<()>>>,
    failure: Option<Failure>,
    cancellation: Cancellation,
}

#[derive(Debug)]
enum Failure {
    Limit(LimitExceeded),
    Problem(io::ErrorKind, String),
}

impl Decompressed {
    /// Starts to decompress. The thread ends soon after the reader is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(
        input: impl BufRead + Send + 'static,
        compression: Compression,
        bounds: Bounds,
    ) -> io::Result<Self> {
        let (writer, bytes) = pipe(BUFFERS, BUFFER);
        let consumed = Arc::new(AtomicU64::new(0));
        let input = Counted {
            input,
            consumed: Arc::clone(&consumed),
        };
        let cancellation = bounds.cancellation.clone();
        let thread = thread::Builder::new().spawn(move || {
            let stored = || consumed.load(Ordering::Relaxed);
            compression
                .decompress(input, &writer, stored, &bounds)
                .map_err(|error| ended_early(error, stored()))
        })?;
        Ok(Decompressed {
            bytes,
            thread: Some(thread),
            failure: None,
            cancellation,
        })
    }

    /// The error that decompression ended with.
    fn result(&mut self) -> io::Result<()> {
        if let Some(thread) = self.thread.take() {
            let stopped = |_| Err(io::Error::other("the decompressor stopped"));
            let ended = thread.join().unwrap_or_else(stopped);
            self.failure = ended.err().map(Failure::new);
        }
        self.cancellation.check()?;
        match &self.failure {
            None => Ok(()),
            Some(Failure::Limit(exceeded)) => Err(io::Error::other(*exceeded)),
            Some(Failure::Problem(kind, problem)) => Err(io::Error::new(*kind, problem.clone())),
        }
    }
}

/// The error of data that ends too early says after how many compressed bytes.
fn ended_early(error: io::Error, bytes: u64) -> io::Error {
    if error.kind() != io::ErrorKind::UnexpectedEof {
        return error;
    }
    let problem = format!("truncated: the compressed data ends too early, after {bytes} bytes");
    io::Error::new(error.kind(), problem)
}

impl Failure {
    fn new(error: io::Error) -> Self {
        let kind = error.kind();
        match error.downcast::<LimitExceeded>() {
            Ok(exceeded) => Failure::Limit(exceeded),
            Err(error) if kind == io::ErrorKind::UnexpectedEof => {
                Failure::Problem(kind, error.to_string())
            }
            Err(error) => Failure::Problem(kind, format!("cannot be decompressed: {error}")),
        }
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Decompressed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes.fill_buf()?.is_empty() {
            self.result()?;
        }
        self.bytes.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.bytes.consume(count);
    }
}

/// Counts the bytes that are consumed.
struct Counted<R> {
    input: R,
    consumed: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        self.input.consume(count);
    }
}
