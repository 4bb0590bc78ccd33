//! The ELF files of a layer that is read by its table. What each of them needs is not known before its headers are there, so they
//! are read in rounds: all that is missing in any of them is fetched at once, and those are read again.

use std::ops::Range;

use super::super::budget::Budget;
use super::super::content::{ELF_MAGIC, elf};
use super::super::context::ReadContext;
use super::super::facts::{Content, Entry, EntryKind};
use super::Halt;
use super::contents::File;
use super::fetch::{CONNECTIONS, Fetcher};
use super::file::ChunkedFile;
use crate::elf::{Depth, ElfError, ReadAt};
use crate::parallel;

/// What is read of a file to see if it is ELF: what its reader asks for first.
const HEAD: u64 = 16 << 10;
/// Bytes of chunks with which files are opened together.
const BATCH: u64 = 24 << 20;
/// Rounds before each file fetches for itself. Headers and tables take fewer; the headers of fat binaries, each of which says where
/// the next one is, take thousands.
const ROUNDS: usize = 12;

/// A range up to this many bytes is fetched in a round. Who needs more at once goes through it alone, and lets go of it again.
const LONG: u64 = 1 << 20;

/// Reads those of the files that are ELF.
pub(super) fn read(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &mut [Entry],
    budget: &Budget,
) -> Result<(), Halt> {
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
            let taken = budget.content(&content, &context.limits);
            taken.map_err(|passed| fetcher.passed(&entries[entry].path, passed))?;
            entries[entry].kind = EntryKind::File(content);
        }
    }
    Ok(())
}

/// What became of reading a file with what is held of it.
enum Outcome {
    Read(Content),
    Missing(Range<u64>),
}

fn read_batch(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &[Entry],
) -> Result<Vec<(usize, Content)>, Halt> {
    let look = |(entry, file): &(usize, ChunkedFile)| {
        look(context, file).map_err(|error| match error {
            ElfError::Limit(passed) => fetcher.passed(&entries[*entry].path, passed),
            ElfError::Io(error) => error.downcast().unwrap_or(Halt::Stream),
            ElfError::Cancelled(error) => Halt::Failed(error),
            ElfError::Broken(_) | ElfError::Missing { .. } => Halt::Stream,
        })
    };
    let mut waiting: Vec<(usize, ChunkedFile)> = files
        .iter()
        .map(|file| (file.entry, ChunkedFile::new(fetcher, file)))
        .collect();
    hold_beginnings(fetcher, &waiting)?;
    waiting.retain(|(_, file)| begins_elf(file));
    let mut contents = Vec::new();
    let mut alone = Vec::new();
    for _ in 0..ROUNDS {
        let outcomes = parallel::map(parallel::cores(), waiting.len(), |at| look(&waiting[at]))?;
        let mut missing = Vec::new();
        for ((entry, file), outcome) in waiting.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Read(content) => contents.push((entry, content)),
                Outcome::Missing(range) if range.end - range.start > LONG => {
                    alone.push((entry, file));
                }
                Outcome::Missing(range) => missing.push(((entry, file), range)),
            }
        }
        fetcher.hold(
            missing
                .iter()
                .map(|((_, file), range)| (file, range.clone())),
        )?;
        waiting = missing.into_iter().map(|(file, _)| file).collect();
    }
    waiting.append(&mut alone);
    let outcomes = parallel::map(CONNECTIONS, waiting.len(), |at| {
        waiting[at].1.fetch_when_read();
        look(&waiting[at])
    })?;
    for ((entry, _), outcome) in waiting.iter().zip(outcomes) {
        match outcome {
            Outcome::Read(content) => contents.push((*entry, content)),
            Outcome::Missing(_) => return Err(Halt::Stream),
        }
    }
    Ok(contents)
}

/// Fetches until it is known of every file how it begins: where it stands behind others in one part, that may take several
/// times, and each takes twice as much.
fn hold_beginnings(fetcher: &Fetcher, files: &[(usize, ChunkedFile)]) -> Result<(), Halt> {
    let mut unknown: Vec<&ChunkedFile> = files.iter().map(|(_, file)| file).collect();
    for _ in 0..ROUNDS {
        fetcher.hold(unknown.iter().map(|file| (*file, 0..HEAD)))?;
        unknown.retain(|file| file.read_at(0, &mut [0; ELF_MAGIC.len()]).is_err());
        if unknown.is_empty() {
            return Ok(());
        }
    }
    Err(Halt::Stream)
}

fn begins_elf(file: &ChunkedFile) -> bool {
    let mut start = [0; ELF_MAGIC.len()];
    let count = file.read_at(0, &mut start).unwrap_or_default();
    start[..count] == ELF_MAGIC[..]
}

fn look(context: &ReadContext, file: &ChunkedFile) -> Result<Outcome, ElfError> {
    match elf(context, file, Depth::Sampled) {
        Ok(content) => Ok(Outcome::Read(content)),
        Err(ElfError::Missing { offset, length }) => {
            Ok(Outcome::Missing(offset..offset.saturating_add(length)))
        }
        Err(error) => Err(error),
    }
}
