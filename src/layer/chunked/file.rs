//! A file of a layer that is read by its table: the chunks that were fetched, as far as they are needed.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Halt;
use super::contents::{Chunk, File, Stored};
use super::fetch::Fetcher;
use crate::digest::sha256;
use crate::elf::{MissingBytes, ReadAt};

/// A chunk up to this many bytes, compressed, is fetched whole, so that its digest can be verified. Of a longer one the first part
/// is enough if what is needed is in it.
const WHOLE: u64 = 256 << 10;
/// What was fetched is decompressed up to this many bytes, even if less of it is needed.
const AHEAD: u64 = 32 << 20;
/// Of the first part of a chunk so much more is fetched than its mean compression demands.
const SPARE: u64 = 64 << 10;
/// A read up to this many bytes goes from place to place: what is behind it is not wanted.
const STEP: usize = 4 << 10;
/// What a file fetches in one go on its way through a long range.
const STRIDE: u64 = 4 << 20;
/// Bytes that a file holds of what it fetched itself on its way forward.
const PASSING: u64 = 8 << 20;

/// A file, with the chunks that it holds.
pub(super) struct ChunkedFile<'a> {
    fetcher: &'a Fetcher<'a>,
    file: &'a File,
    held: Mutex<HashMap<usize, Held>>,
    passing: Mutex<Passing>,
    fetches: AtomicBool,
}

/// What was fetched by reading.
#[derive(Default)]
struct Passing {
    /// The chunks, oldest first.
    chunks: VecDeque<usize>,
    bytes: u64,
    /// Where the last of them ends, and how much was fetched to get there.
    end: u64,
    stride: u64,
}

/// The first bytes of a chunk, or all of them.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    /// Compressed bytes that they came from.
    fetched: u64,
}

/// A part of a blob that gives the first bytes of a chunk.
pub(super) struct Piece<'a> {
    /// The file.
    pub file: &'a ChunkedFile<'a>,
    /// The number of the chunk in it.
    chunk: usize,
    /// The compressed bytes.
    pub range: Range<u64>,
    /// Decompressed bytes in front of those of the chunk.
    pub inner: u64,
    /// Decompressed bytes of the chunk that are needed.
    needed: u64,
    /// Those that are kept, if the range has so many.
    pub wanted: u64,
}

impl<'a> ChunkedFile<'a> {
    /// A file that holds nothing yet.
    pub fn new(fetcher: &'a Fetcher<'a>, file: &'a File) -> Self {
        ChunkedFile {
            fetcher,
            file,
            held: Mutex::default(),
            passing: Mutex::default(),
            fetches: AtomicBool::new(false),
        }
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.chunks()
            .last()
            .map_or(0, |last| last.start + last.length)
    }

    /// From now on reading fetches what is not held.
    pub fn fetch_when_read(&self) {
        self.fetches.store(true, Ordering::Relaxed);
    }

    /// The bytes of the file, all of which are held.
    pub fn whole(&self) -> Result<Vec<u8>, Halt> {
        let mut bytes = vec![0; self.length() as usize];
        let count = self.read_at(0, &mut bytes).unwrap_or_default();
        if count < bytes.len() {
            return Err(Halt::Stream);
        }
        Ok(bytes)
    }

    /// What must be fetched for the bytes of a range.
    pub fn missing(&'a self, range: Range<u64>) -> Vec<Piece<'a>> {
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
                    inner: stored.inner,
                    needed: upto,
                    wanted: chunk.length.min(upto.max(AHEAD)),
                })
            })
            .collect()
    }

    /// Takes what a piece gave, and verifies it if it is a whole chunk. `Err` says what is wrong.
    pub fn store(&self, piece: &Piece, bytes: Vec<u8>) -> Result<(), String> {
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
                    "the digest of the chunk at byte {} is {found}, it should be {}",
                    stored.offset, stored.digest
                ));
            }
        }
        let fetched = piece.range.end - piece.range.start;
        let before = self.held().insert(piece.chunk, Held { bytes, fetched });
        self.fetcher
            .released(before.map_or(0, |held| held.bytes.len() as u64));
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<usize, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunks(&self) -> &'a [Chunk] {
        &self.file.chunks
    }

    /// The number of the chunk that a byte is in.
    fn chunk_at(&self, offset: u64) -> usize {
        let following = self.chunks().partition_point(|chunk| chunk.start <= offset);
        following.saturating_sub(1)
    }

    /// Fetches what one read needs, and lets go of what earlier ones did. Who reads on where the last read ended gets more and
    /// more at once.
    fn fetch(&self, start: u64, length: usize) -> Result<(), Halt> {
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.chunk_at(start);
        let chunk_end = self.chunks()[first].start + self.chunks()[first].length;
        let end = start.saturating_add(length as u64);
        let end = if length <= STEP {
            end.min(chunk_end)
        } else {
            let before = if start == passing.end {
                passing.stride
            } else {
                0
            };
            let longest = start.saturating_add(STRIDE);
            end.max(start.saturating_add(before * 2)).min(longest)
        };
        let missing = self.missing(start..end);
        let chunks: Vec<usize> = missing.iter().map(|piece| piece.chunk).collect();
        self.fetcher.hold_pieces(missing)?;
        passing.stride = end - start;
        for at in chunks {
            let held = self
                .held()
                .get(&at)
                .map_or(0, |held| held.bytes.len() as u64);
            let chunk = &self.chunks()[at];
            passing.end = chunk.start + chunk.length.min(held);
            passing.bytes += held;
            passing.chunks.push_back(at);
        }
        while passing.bytes > PASSING
            && passing.chunks.len() > 1
            && let Some(old) = passing.chunks.pop_front()
        {
            let held = self.held().remove(&old);
            let bytes = held.map_or(0, |held| held.bytes.len() as u64);
            passing.bytes = passing.bytes.saturating_sub(bytes);
            self.fetcher.released(bytes);
        }
        Ok(())
    }
}

impl Drop for ChunkedFile<'_> {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let bytes = held.values().map(|held| held.bytes.len() as u64).sum();
        self.fetcher.released(bytes);
    }
}

/// How many compressed bytes to fetch for the first `upto` bytes of a chunk, of which `fetched` were not enough.
fn part(chunk: &Chunk, stored: &Stored, upto: u64, fetched: u64) -> u64 {
    let compressed = stored.end - stored.offset;
    if compressed <= WHOLE {
        return compressed;
    }
    let length = stored.inner.saturating_add(chunk.length);
    let share = stored.inner.saturating_add(upto) as f64 / length as f64;
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
