//! The content of files: what is kept of it, and how ELF files are handed to their reader.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::wanted::{Form, Limits, Wanted};
use super::{Content, Entry};
use crate::archive::{FileRange, Segment};
use crate::elf::{self, ElfError, ReadAt};

/// How every ELF file begins.
pub(super) const ELF_MAGIC: &[u8; 4] = b"\x7fELF";

/// A sparse file of an archive, with its holes as zeros.
#[derive(Debug)]
pub(super) struct SparseRange {
    pub range: FileRange,
    pub segments: Vec<Segment>,
    pub size: u64,
}

impl ReadAt for SparseRange {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let count = self.read_piece(offset.saturating_add(done as u64), &mut buffer[done..])?;
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }
}

impl SparseRange {
    /// Reads within one stored range or one hole.
    fn read_piece(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let following = self
            .segments
            .partition_point(|segment| segment.offset <= offset);
        let inside = following.checked_sub(1).map(|at| self.segments[at]);
        let inside = inside.filter(|segment| offset - segment.offset < segment.length);
        let end = match inside {
            Some(segment) => segment.offset + segment.length,
            None => self
                .segments
                .get(following)
                .map_or(self.size, |segment| segment.offset),
        };
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        let part = &mut buffer[..length];
        match inside {
            Some(segment) => self
                .range
                .read_at(segment.stored + (offset - segment.offset), part),
            None => {
                part.fill(0);
                Ok(length)
            }
        }
    }
}

/// Reads an ELF file that is wholly at hand. `Err` where its bytes could not be read, which says nothing of the file.
pub(super) fn elf(bytes: &dyn ReadAt, wanted: &Wanted) -> Result<Content, String> {
    match elf::read(bytes, &wanted.recipes, wanted.depth) {
        Ok(facts) => Ok(Content::Elf(Box::new(facts))),
        Err(ElfError::Broken(problem)) => Ok(broken(bytes, problem)),
        Err(error) => Err(error.to_string()),
    }
}

/// A file that could not be understood, with what the loader says of it.
pub(super) fn broken(bytes: &dyn ReadAt, problem: String) -> Content {
    let refusal = elf::refusal(bytes).unwrap_or_default();
    Content::BrokenElf { problem, refusal }
}

/// The content of a wanted file, of which all bytes are there.
pub(super) fn kept(form: Form, bytes: Vec<u8>) -> Content {
    match form {
        Form::Text => Content::Text(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
        Form::Bytes => Content::Bytes(bytes),
        Form::Sniffed => Content::Unread,
    }
}

/// How much has been kept, against the limits.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    /// Takes a file that is to be kept whole. `Err` names the limit that it passes.
    pub fn take(&self, entry: &Entry, limits: &Limits) -> Result<(), String> {
        let before = self.0.fetch_add(entry.size, Ordering::Relaxed);
        let (name, limit) = if entry.size > limits.file_bytes {
            ("file_bytes", limits.file_bytes)
        } else if before.saturating_add(entry.size) > limits.kept_bytes {
            ("kept_bytes", limits.kept_bytes)
        } else {
            return Ok(());
        };
        Err(format!(
            "{} has {} bytes; the limit {name} is {limit}",
            entry.path, entry.size
        ))
    }
}
