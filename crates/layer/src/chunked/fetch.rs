//! Fetches ranges of a blob and decompresses them, within bounds beyond which streaming the blob is cheaper.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::super::context::ReadContext;
use super::error::LazyError;
use imgcheck_archive::archive::compression::zstd::Zstd;
use imgcheck_base::error::Error;
use imgcheck_base::limits::{LimitExceeded, Limits};
use imgcheck_source::source::remote::RemoteBlob;

/// Decompressed bytes of a chunk, up to the last one that is needed.
const CHUNK_LIMIT: u64 = 64 << 20;
/// Compressed bytes of one request.
const FETCH_LIMIT: u64 = 64 << 20;
/// Bytes that are decompressed in total, including those that only precede what is needed.
const WORK_LIMIT: u64 = 16 << 30;
/// Maximum number of decompressed bytes in memory at once.
const HELD_LIMIT: u64 = 192 << 20;

/// How the chunks of a blob are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Up to `length` bytes after the first `skipped` ones; fewer if the input is cut off.
    pub fn decompress(
        self,
        input: &[u8],
        skipped: u64,
        length: u64,
        limits: &Limits,
    ) -> io::Result<Vec<u8>> {
        let mut decoder: Box<dyn Read> = match self {
            Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
            Compression::Zstd => Box::new(Zstd::new(input, *limits)?),
        };
        let ignore_cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(error),
        };
        let skip = io::copy(&mut decoder.by_ref().take(skipped), &mut io::sink()).map(drop);
        skip.or_else(ignore_cut)?;
        let mut bytes = Vec::new();
        let read = decoder.take(length).read_to_end(&mut bytes).map(drop);
        read.or_else(ignore_cut)?;
        Ok(bytes)
    }
}

/// Fetches ranges of one blob.
pub(super) struct Fetcher<'a> {
    name: &'a str,
    blob: &'a dyn RemoteBlob,
    size: u64,
    compression: Compression,
    context: &'a ReadContext<'a>,
    fetched: AtomicU64,
    decompressed: AtomicU64,
    held: AtomicU64,
}

impl<'a> Fetcher<'a> {
    /// Of a blob of `size` bytes; `name` is the layer in messages.
    pub fn new(
        context: &'a ReadContext<'a>,
        name: &'a str,
        blob: &'a dyn RemoteBlob,
        size: u64,
    ) -> Self {
        Fetcher {
            name,
            blob,
            size,
            compression: Compression::Zstd,
            context,
            fetched: AtomicU64::new(0),
            decompressed: AtomicU64::new(0),
            held: AtomicU64::new(0),
        }
    }

    /// Sets how chunks are compressed.
    pub fn with_compression(self, compression: Compression) -> Self {
        Fetcher {
            compression,
            ..self
        }
    }

    /// Bytes fetched so far.
    pub fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// The layer is damaged or cannot be read.
    pub fn failed(&self, problem: String) -> LazyError {
        Error::layer(self.name, problem).into()
    }

    /// An entry of the layer exceeds a limit.
    pub fn exceeded(&self, path: &str, exceeded: LimitExceeded) -> LazyError {
        Error::layer_limit(self.name, path, exceeded).into()
    }

    /// Fetches a range, unless more than half of the blob would be fetched: the whole of it in one request is faster then.
    pub fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>, LazyError> {
        self.context.bounds.cancellation.check()?;
        let length = range.end - range.start;
        if length > FETCH_LIMIT
            || self.fetched.fetch_add(length, Ordering::Relaxed) + length > self.size / 2
        {
            return Err(LazyError::UseStream);
        }
        let bytes = match self.blob.read_range(range.clone()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return Err(LazyError::UseStream);
            }
            Err(error) => return Err(Error::layer_io(self.name, error).into()),
        };
        if bytes.len() as u64 != length {
            return Err(self.failed(format!(
                "cannot be read: the server sent {} bytes for the range {}+{length}",
                bytes.len(),
                range.start
            )));
        }
        self.context.progress.advance(length);
        Ok(bytes)
    }

    /// Decompresses `length` bytes after the first `skipped` ones. They count as held until [`Fetcher::release`] is called.
    pub fn decompress(
        &self,
        compressed: &[u8],
        skipped: u64,
        length: u64,
    ) -> Result<Vec<u8>, LazyError> {
        let work = skipped.saturating_add(length);
        if work > CHUNK_LIMIT || self.decompressed.fetch_add(work, Ordering::Relaxed) > WORK_LIMIT {
            return Err(LazyError::UseStream);
        }
        let bytes =
            self.compression
                .decompress(compressed, skipped, length, &self.context.bounds.limits);
        let bytes = bytes.map_err(|error| match error.downcast() {
            Ok(exceeded) => self.exceeded("a chunk", exceeded),
            Err(error) => self.failed(format!("damaged: a chunk cannot be decompressed: {error}")),
        })?;
        if self.held.fetch_add(bytes.len() as u64, Ordering::Relaxed) > HELD_LIMIT {
            return Err(LazyError::UseStream);
        }
        Ok(bytes)
    }

    /// Whether so many decompressed bytes are too many for one chunk.
    pub fn is_too_long(&self, skipped: u64, length: u64) -> bool {
        skipped.saturating_add(length) > CHUNK_LIMIT
    }

    /// Releases this many bytes.
    pub fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}
