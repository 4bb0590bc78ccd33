//! A file of a lazily read layer: holds the chunks that were fetched, as far as they are needed. Neighboring chunks are fetched in
//! one request, and several requests are made at once.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::contents::{Chunk, File, Stored};
use super::error::LazyError;
use super::fetch::Fetcher;
use imgcheck_base::digest::sha256;
use imgcheck_base::parallel;
use imgcheck_elf::{MissingBytes, ReadAt};

/// Requests at once.
pub(super) const CONNECTIONS: usize = 8;
/// Chunks with a gap up to this many bytes are fetched in one request: a round trip takes as long as so many bytes.
const GAP: u64 = 8 << 10;
/// Joined requests do not get longer than this.
const REQUEST: u64 = 4 << 20;
/// A chunk of up to this many compressed bytes is fetched whole, so that its digest can be verified. Of a longer one, only the
/// beginning is fetched if that contains what is needed.
const WHOLE: u64 = 256 << 10;
/// What was fetched is decompressed up to this many bytes, even if less of it is needed.
const AHEAD: u64 = 32 << 20;
/// For the beginning of a chunk, so much more is fetched than its mean compression ratio demands.
const SPARE: u64 = 64 << 10;
/// A read of up to this many bytes jumps: what follows is not needed.
const JUMP: usize = 4 << 10;
/// A file that is read sequentially fetches up to this many bytes at once.
const STRIDE: u64 = 4 << 20;
/// A file that is read sequentially holds up to this many bytes.
const SEQUENTIAL: u64 = 8 << 20;

/// A file and the chunks that it holds.
pub(super) struct ChunkedFile<'a> {
    fetcher: &'a Fetcher<'a>,
    file: &'a File,
    held: Mutex<HashMap<usize, Held>>,
    sequence: Mutex<Sequence>,
    fetches: AtomicBool,
}

/// The chunks that were fetched because they were read.
#[derive(Default)]
struct Sequence {
    /// Oldest first.
    chunks: VecDeque<usize>,
    bytes: u64,
    /// Where the last one ends.
    end: u64,
    /// Bytes that the last read fetched.
    stride: u64,
}

/// The first bytes of a chunk, or all of them.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    /// Compressed bytes they were decompressed from.
    fetched: u64,
}

/// A range of the blob that contains the beginning of a chunk.
struct Piece<'a> {
    file: &'a ChunkedFile<'a>,
    /// Index of the chunk in the file.
    chunk: usize,
    /// Compressed bytes.
    range: Range<u64>,
    /// Decompressed bytes before those of the chunk.
    skipped: u64,
    /// Decompressed bytes of the chunk that are needed.
    needed: u64,
    /// Number of bytes already in memory, if the range contains that many.
    held: u64,
}

impl<'a> ChunkedFile<'a> {
    /// A file that holds no chunk yet.
    pub fn new(fetcher: &'a Fetcher<'a>, file: &'a File) -> Self {
        ChunkedFile {
            fetcher,
            file,
            held: Mutex::default(),
            sequence: Mutex::default(),
            fetches: AtomicBool::new(false),
        }
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.chunks()
            .last()
            .map_or(0, |last| last.start + last.length)
    }

    /// Makes reading fetch what is not held.
    pub fn fetch_when_read(&self) {
        self.fetches.store(true, Ordering::Relaxed);
    }

    /// All bytes of the file, which must be held.
    pub fn whole(&self) -> Result<Vec<u8>, LazyError> {
        let mut bytes = vec![0; self.length() as usize];
        let count = self.read_at(0, &mut bytes).unwrap_or_default();
        if count < bytes.len() {
            return Err(LazyError::UseStream);
        }
        Ok(bytes)
    }

    /// What must be fetched to hold a range.
    fn missing(&'a self, range: Range<u64>) -> Vec<Piece<'a>> {
        let first = self.chunk_at(range.start);
        let held = self.held();
        let chunks = self.chunks().iter().enumerate().skip(first);
        chunks
            .take_while(|(_, chunk)| chunk.start < range.end)
            .filter_map(|(at, chunk)| {
                let stored = chunk.stored.as_ref()?;
                let upto = range.end.min(chunk.start + chunk.length) - chunk.start;
                let nothing = Held::default();
                let known = held.get(&at).unwrap_or(&nothing);
                if known.bytes.len() as u64 >= upto {
                    return None;
                }
                let length = part(chunk, stored, upto, known.fetched);
                Some(Piece {
                    file: self,
                    chunk: at,
                    range: stored.offset..stored.offset + length,
                    skipped: stored.skipped,
                    needed: upto,
                    held: chunk.length.min(upto.max(AHEAD)),
                })
            })
            .collect()
    }

    /// Holds the bytes of a piece, and verifies them if they are a whole chunk. The error says what is wrong.
    fn store(&self, piece: &Piece, bytes: Vec<u8>) -> Result<(), String> {
        let chunk = &self.chunks()[piece.chunk];
        let Some(stored) = &chunk.stored else {
            return Ok(());
        };
        let everything = piece.range.end == stored.end;
        if everything && (bytes.len() as u64) < piece.needed {
            return Err(format!(
                "the chunk at byte {} has {} bytes, not {}",
                stored.offset,
                bytes.len(),
                chunk.length
            ));
        }
        if bytes.len() as u64 == chunk.length {
            let found = sha256(&bytes);
            if found != stored.digest {
                return Err(format!(
                    "the digest of the chunk at byte {} is {found}, expected {}",
                    stored.offset, stored.digest
                ));
            }
        }
        let fetched = piece.range.end - piece.range.start;
        let before = self.held().insert(piece.chunk, Held { bytes, fetched });
        self.fetcher
            .release(before.map_or(0, |held| held.bytes.len() as u64));
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<usize, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunks(&self) -> &'a [Chunk] {
        &self.file.chunks
    }

    /// Index of the chunk that contains a byte.
    fn chunk_at(&self, offset: u64) -> usize {
        let following = self.chunks().partition_point(|chunk| chunk.start <= offset);
        following.saturating_sub(1)
    }

    /// Fetches what one read needs, and drops what earlier ones needed. Sequential reads fetch more and more at once.
    fn fetch(&self, start: u64, length: usize) -> Result<(), LazyError> {
        let mut sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.chunk_at(start);
        let chunk_end = self.chunks()[first].start + self.chunks()[first].length;
        let end = start.saturating_add(length as u64);
        let end = if length <= JUMP {
            end.min(chunk_end)
        } else {
            let before = match start == sequence.end {
                true => sequence.stride,
                false => 0,
            };
            let longest = start.saturating_add(STRIDE);
            end.max(start.saturating_add(before * 2)).min(longest)
        };
        let missing = self.missing(start..end);
        let chunks: Vec<usize> = missing.iter().map(|piece| piece.chunk).collect();
        fetch_pieces(self.fetcher, missing)?;
        sequence.stride = end - start;
        for at in chunks {
            let held = self.held().get(&at).map_or(0, Held::length);
            let chunk = &self.chunks()[at];
            sequence.end = chunk.start + chunk.length.min(held);
            sequence.bytes += held;
            sequence.chunks.push_back(at);
        }
        while sequence.bytes > SEQUENTIAL
            && sequence.chunks.len() > 1
            && let Some(oldest) = sequence.chunks.pop_front()
        {
            let bytes = self.held().remove(&oldest).map_or(0, |held| held.length());
            sequence.bytes = sequence.bytes.saturating_sub(bytes);
            self.fetcher.release(bytes);
        }
        Ok(())
    }
}

impl Held {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Fetches what these ranges of files need and is not held yet.
pub(super) fn fetch_ranges<'f>(
    fetcher: &Fetcher,
    ranges: impl IntoIterator<Item = (&'f ChunkedFile<'f>, Range<u64>)>,
) -> Result<(), LazyError> {
    let ranges = ranges.into_iter();
    let pieces = ranges.flat_map(|(file, range)| file.missing(range));
    fetch_pieces(fetcher, pieces.collect())
}

fn fetch_pieces(fetcher: &Fetcher, mut pieces: Vec<Piece>) -> Result<(), LazyError> {
    if pieces
        .iter()
        .any(|piece| fetcher.is_too_long(piece.skipped, piece.held))
    {
        return Err(LazyError::UseStream);
    }
    pieces.sort_by_key(|piece| piece.range.start);
    let requests: Vec<&[Piece]> = pieces
        .chunk_by(|piece, next| next.range.start <= piece.range.end.saturating_add(GAP))
        .flat_map(split)
        .collect();
    parallel::map(CONNECTIONS, requests.len(), |at| {
        let pieces = requests[at];
        let start = pieces[0].range.start;
        let end = pieces.iter().map(|it| it.range.end).max().unwrap_or(start);
        let bytes = fetcher.fetch(start..end)?;
        pieces.iter().try_for_each(|piece| {
            let inside = (piece.range.start - start) as usize..(piece.range.end - start) as usize;
            let bytes = fetcher.decompress(&bytes[inside], piece.skipped, piece.held)?;
            let stored = piece.file.store(piece, bytes);
            stored.map_err(|problem| fetcher.failed(format!("damaged: {problem}")))
        })
    })?;
    Ok(())
}

/// Splits joined pieces into requests that are not too long.
fn split<'p, 'f>(pieces: &'p [Piece<'f>]) -> Vec<&'p [Piece<'f>]> {
    let mut requests = Vec::new();
    let mut first = 0;
    for at in 1..pieces.len() {
        let length = pieces[at]
            .range
            .end
            .saturating_sub(pieces[first].range.start);
        if length > REQUEST {
            requests.push(&pieces[first..at]);
            first = at;
        }
    }
    requests.push(&pieces[first..]);
    requests
}

impl Drop for ChunkedFile<'_> {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let bytes = held.values().map(Held::length).sum();
        self.fetcher.release(bytes);
    }
}

/// How many compressed bytes to fetch for the first `upto` bytes of a chunk, given that `fetched` bytes were not enough.
fn part(chunk: &Chunk, stored: &Stored, upto: u64, fetched: u64) -> u64 {
    let compressed = stored.end - stored.offset;
    if compressed <= WHOLE {
        return compressed;
    }
    let length = stored.skipped.saturating_add(chunk.length);
    let share = stored.skipped.saturating_add(upto) as f64 / length as f64;
    let expected = (compressed as f64 * share * 1.25) as u64 + SPARE;
    expected.max(fetched.saturating_mul(2)).min(compressed)
}

impl ReadAt for ChunkedFile<'_> {
    fn size(&self) -> u64 {
        self.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.length();
        let mut done = 0;
        while done < buffer.len() && offset.saturating_add(done as u64) < size {
            let place = offset + done as u64;
            let at = self.chunk_at(place);
            let chunk = &self.chunks()[at];
            let inside = (place - chunk.start) as usize;
            let left = usize::try_from(chunk.length - inside as u64).unwrap_or(usize::MAX);
            let part = left.min(buffer.len() - done);
            if chunk.stored.is_none() {
                buffer[done..done + part].fill(0);
                done += part;
                continue;
            }
            if let Some(held) = self.held().get(&at).and_then(|it| it.bytes.get(inside..)) {
                let part = part.min(held.len());
                buffer[done..done + part].copy_from_slice(&held[..part]);
                done += part;
                if part > 0 {
                    continue;
                }
            }
            if done > 0 {
                break;
            }
            if !self.fetches.load(Ordering::Relaxed) {
                let missing = MissingBytes {
                    offset: place,
                    length: (size - place).min(buffer.len() as u64),
                };
                return Err(missing.into());
            }
            self.fetch(place, buffer.len() - done)
                .map_err(io::Error::other)?;
        }
        Ok(done)
    }
}
