//! Fetches ranges of a blob: neighbours in one request, several requests at once, and never more than is worth it.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::super::context::ReadContext;
use super::super::zstd::Zstd;
use super::Halt;
use super::file::{ChunkedFile, Piece};
use crate::error::Error;
use crate::limits::{Limits, Passed};
use crate::parallel;
use crate::source::remote::RemoteBlob;

/// Requests at once.
pub(super) const CONNECTIONS: usize = 8;
/// Pieces with a gap up to this many bytes are fetched in one request: as many bytes as one round trip is worth.
const GAP: u64 = 8 << 10;
/// A request is not made longer than this by joining.
const REQUEST: u64 = 4 << 20;
/// Decompressed bytes up to the last that is wanted of a chunk.
const PART_LIMIT: u64 = 64 << 20;
/// Compressed bytes of one request. What needs more is no gain.
const FETCH_LIMIT: u64 = 64 << 20;
/// Decompressed bytes of all parts together, with those that only stand before what is wanted: no part is decompressed so often
/// that the whole layer would be less work.
const WORK_LIMIT: u64 = 16 << 30;
/// Decompressed bytes that are held at once. A table that needs more is too coarse.
const HELD_LIMIT: u64 = 192 << 20;

/// How the parts of a blob are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Up to `length` bytes behind the first `skipped` ones. Fewer if the input is cut off.
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
        let end_is_missing = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(error),
        };
        let skip = io::copy(&mut decoder.by_ref().take(skipped), &mut io::sink()).map(drop);
        skip.or_else(end_is_missing)?;
        let mut bytes = Vec::new();
        let read = decoder.take(length).read_to_end(&mut bytes).map(drop);
        read.or_else(end_is_missing)?;
        Ok(bytes)
    }
}

/// Fetches parts of one blob.
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

    /// The same, of parts that are compressed so.
    pub fn of(self, compression: Compression) -> Self {
        Fetcher {
            compression,
            ..self
        }
    }

    /// Bytes that were fetched.
    pub fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// What is wrong with the layer.
    pub fn failed(&self, problem: String) -> Halt {
        Halt::Failed(Error::layer(self.name, problem))
    }

    /// The limit that an entry of the layer passes.
    pub fn passed(&self, path: &str, passed: Passed) -> Halt {
        Halt::Failed(Error::layer_limit(self.name, path, passed))
    }

    /// One range. Half of a blob in parts takes longer than the whole of it at once: then it is to be read as a stream.
    pub fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>, Halt> {
        let length = range.end - range.start;
        if length > FETCH_LIMIT {
            return Err(Halt::Stream);
        }
        if self.fetched.fetch_add(length, Ordering::Relaxed) + length > self.size / 2 {
            return Err(Halt::Stream);
        }
        self.context.cancellation.check()?;
        let bytes = match self.blob.read_range(range.clone()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Err(Halt::Stream),
            Err(error) => return Err(self.failed(format!("cannot be read: {error}"))),
        };
        if bytes.len() as u64 != length {
            return Err(self.failed(format!(
                "cannot be read: {} bytes came of bytes {}+{length}",
                bytes.len(),
                range.start
            )));
        }
        self.context.progress.advance(length);
        Ok(bytes)
    }

    /// Fetches what these ranges of files need and is not held yet, and has the files hold it.
    pub fn hold<'f>(
        &self,
        ranges: impl IntoIterator<Item = (&'f ChunkedFile<'f>, Range<u64>)>,
    ) -> Result<(), Halt> {
        let pieces = ranges.into_iter();
        self.hold_pieces(
            pieces
                .flat_map(|(file, range)| file.missing(range))
                .collect(),
        )
    }

    /// Fetches pieces, and has their files hold them.
    pub fn hold_pieces(&self, mut pieces: Vec<Piece>) -> Result<(), Halt> {
        if pieces
            .iter()
            .any(|it| it.inner.saturating_add(it.wanted) > PART_LIMIT)
        {
            return Err(Halt::Stream);
        }
        pieces.sort_by_key(|piece| piece.range.start);
        let requests: Vec<&[Piece]> = pieces.chunk_by(Piece::joins).collect();
        let requests: Vec<&[Piece]> = requests.into_iter().flat_map(split).collect();
        parallel::map(CONNECTIONS, requests.len(), |at| {
            let pieces = requests[at];
            let start = pieces[0].range.start;
            let end = pieces.iter().map(|it| it.range.end).max().unwrap_or(start);
            let bytes = self.fetch(start..end)?;
            pieces.iter().try_for_each(|piece| {
                let inside =
                    (piece.range.start - start) as usize..(piece.range.end - start) as usize;
                self.store(piece, &bytes[inside])
            })
        })?;
        Ok(())
    }

    /// Decompresses a piece and hands it to its file.
    fn store(&self, piece: &Piece, compressed: &[u8]) -> Result<(), Halt> {
        let wrong = |problem: String| self.failed(format!("damaged: {problem}"));
        let work = piece.inner + piece.wanted;
        if self.decompressed.fetch_add(work, Ordering::Relaxed) > WORK_LIMIT {
            return Err(Halt::Stream);
        }
        let bytes = self
            .compression
            .decompress(compressed, piece.inner, piece.wanted, &self.context.limits)
            .map_err(|error| match error.downcast() {
                Ok(passed) => self.passed("a chunk", passed),
                Err(error) => wrong(format!("a chunk cannot be decompressed: {error}")),
            })?;
        if self.held.fetch_add(bytes.len() as u64, Ordering::Relaxed) > HELD_LIMIT {
            return Err(Halt::Stream);
        }
        piece.file.store(piece, bytes).map_err(wrong)
    }

    /// Says that so many bytes are no longer held.
    pub fn released(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Piece<'_> {
    /// Whether the next piece goes into the same request.
    fn joins(&self, next: &Self) -> bool {
        next.range.start <= self.range.end.saturating_add(GAP)
    }
}

/// Splits joined pieces into requests that are not too long.
fn split<'p, 'f>(pieces: &'p [Piece<'f>]) -> Vec<&'p [Piece<'f>]> {
    let mut requests = Vec::new();
    let mut first = 0;
    for at in 1..pieces.len() {
        if pieces[at]
            .range
            .end
            .saturating_sub(pieces[first].range.start)
            > REQUEST
        {
            requests.push(&pieces[first..at]);
            first = at;
        }
    }
    requests.push(&pieces[first..]);
    requests
}
