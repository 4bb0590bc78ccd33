//! The ELF files of a lazily read layer. Only the headers of a file tell which bytes it takes to read it, so files are read in
//! rounds: each round fetches all missing bytes at once, then reads those files again.

use std::ops::Range;

use super::super::budget::Budget;
use super::super::content::{ELF_MAGIC, elf};
use super::super::context::ReadContext;
use super::contents::File;
use super::error::LazyError;
use super::fetch::Fetcher;
use super::file::{CONNECTIONS, ChunkedFile, fetch_ranges};
use imgcheck_base::parallel;
use imgcheck_elf::{Depth, ElfError, ReadAt};
use imgcheck_image::{Content, Entry, EntryKind};

/// Bytes that are read to see if a file is ELF: what the ELF reader asks for first.
const HEAD: u64 = 16 << 10;
/// Bytes of chunks with which files are opened together.
const BATCH: u64 = 24 << 20;
/// Rounds before each file fetches on its own. Headers and tables take fewer; the headers of fat binaries, each of which says where
/// the next one is, take thousands.
const ROUNDS: usize = 12;

/// A range of up to this many bytes is fetched in a round. A file that needs more reads it on its own, sequentially.
const LONG: u64 = 1 << 20;

/// Reads those files that are ELF.
pub(super) fn read(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &mut [Entry],
    budget: &Budget,
) -> Result<(), LazyError> {
    let mut rest = files;
    while !rest.is_empty() {
        let mut bytes = 0_u64;
        let count = rest.iter().take_while(|file| {
            let first = bytes == 0;
            bytes =
                bytes.saturating_add(file.chunks.first().map_or(0, |chunk| chunk.length.max(1)));
            first || bytes <= BATCH
        });
        let (batch, others) = rest.split_at(count.count());
        rest = others;
        for (entry, content) in read_batch(context, fetcher, batch, entries)? {
            let taken = budget.content(&content, &context.bounds.limits);
            taken.map_err(|exceeded| fetcher.exceeded(&entries[entry].path, exceeded))?;
            entries[entry].kind = EntryKind::File(content);
        }
    }
    Ok(())
}

/// The result of reading a file from the bytes in memory.
enum Outcome {
    Read(Content),
    Missing(Range<u64>),
}

fn read_batch(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &[Entry],
) -> Result<Vec<(usize, Content)>, LazyError> {
    let read = |(entry, file): &(usize, ChunkedFile)| {
        read_held(context, file).map_err(|error| match error {
            ElfError::Limit(exceeded) => fetcher.exceeded(&entries[*entry].path, exceeded),
            ElfError::Io(error) => error.downcast().unwrap_or(LazyError::UseStream),
            ElfError::Cancelled(error) => LazyError::Failed(error),
            ElfError::Broken(_) | ElfError::Missing { .. } => LazyError::UseStream,
        })
    };
    let mut waiting: Vec<(usize, ChunkedFile)> = files
        .iter()
        .map(|file| (file.entry, ChunkedFile::new(fetcher, file)))
        .collect();
    fetch_beginnings(fetcher, &waiting)?;
    waiting.retain(|(_, file)| begins_elf(file));
    let mut contents = Vec::new();
    let mut on_their_own = Vec::new();
    for _ in 0..ROUNDS {
        let outcomes = parallel::map(parallel::cores(), waiting.len(), |at| read(&waiting[at]))?;
        let mut missing = Vec::new();
        for ((entry, file), outcome) in waiting.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Read(content) => contents.push((entry, content)),
                Outcome::Missing(range) if range.end - range.start > LONG => {
                    on_their_own.push((entry, file));
                }
                Outcome::Missing(range) => missing.push(((entry, file), range)),
            }
        }
        fetch_ranges(
            fetcher,
            missing
                .iter()
                .map(|((_, file), range)| (file, range.clone())),
        )?;
        waiting = missing.into_iter().map(|(file, _)| file).collect();
    }
    waiting.append(&mut on_their_own);
    let outcomes = parallel::map(CONNECTIONS, waiting.len(), |at| {
        waiting[at].1.fetch_when_read();
        read(&waiting[at])
    })?;
    for ((entry, _), outcome) in waiting.iter().zip(outcomes) {
        match outcome {
            Outcome::Read(content) => contents.push((*entry, content)),
            Outcome::Missing(_) => return Err(LazyError::UseStream),
        }
    }
    Ok(contents)
}

/// Fetches until the beginning of every file is in memory. Where a file follows others in one gzip member, that may take several attempts,
/// each of which fetches twice as much.
fn fetch_beginnings(fetcher: &Fetcher, files: &[(usize, ChunkedFile)]) -> Result<(), LazyError> {
    let mut unknown: Vec<&ChunkedFile> = files.iter().map(|(_, file)| file).collect();
    for _ in 0..ROUNDS {
        fetch_ranges(fetcher, unknown.iter().map(|file| (*file, 0..HEAD)))?;
        unknown.retain(|file| file.read_at(0, &mut [0; ELF_MAGIC.len()]).is_err());
        if unknown.is_empty() {
            return Ok(());
        }
    }
    Err(LazyError::UseStream)
}

fn begins_elf(file: &ChunkedFile) -> bool {
    let mut start = [0; ELF_MAGIC.len()];
    let count = file.read_at(0, &mut start).unwrap_or_default();
    start[..count] == ELF_MAGIC[..]
}

fn read_held(context: &ReadContext, file: &ChunkedFile) -> Result<Outcome, ElfError> {
    match elf(context, file, Depth::Sampled) {
        Ok(content) => Ok(Outcome::Read(content)),
        Err(ElfError::Missing { offset, length }) => {
            Ok(Outcome::Missing(offset..offset.saturating_add(length)))
        }
        Err(error) => Err(error),
    }
}
