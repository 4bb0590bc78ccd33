//! Layers that bring a table of contents: zstd:chunked and eStargz. The table is fetched, then the parts of files that are
//! needed, and nothing else of the blob.
//!
//! The table stands for the archive: its entries become the entries of the layer. A table that cannot be used is no error, for
//! the archive can still be read as a stream, and is then verified whole. One that is not what the manifest promises is.

mod contents;
mod elf_files;
mod estargz;
mod fetch;
mod file;
mod zstd_chunked;

use thiserror::Error;

use super::budget::Budget;
use super::content::captured;
use super::context::ReadContext;
use super::facts::{Entry, EntryKind, LayerFacts};
use super::patterns::Capture;
use crate::elf::Depth;
use crate::error::{Error, Result};
use crate::source::LayerBlob;
use crate::source::remote::RemoteBlob;
use contents::{Contents, File};
use fetch::Fetcher;
use file::ChunkedFile;

/// Why a layer could not be read by its table.
#[derive(Debug, Error)]
enum Halt {
    /// It is to be read as a stream: there is no table, it is of another kind or too coarse, or ranges cannot be had.
    #[error("the table of contents cannot be used")]
    Stream,
    /// It cannot be read at all.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The facts of a layer by its table of contents; `None` if it is to be read as a stream.
///
/// # Errors
/// The table, or a chunk that was fetched whole, does not have its digest; or the blob could not be fetched.
pub(super) fn scan(
    context: &ReadContext,
    blob: &LayerBlob,
    remote: &dyn RemoteBlob,
) -> Result<Option<LayerFacts>> {
    match read(context, blob, remote) {
        Ok(facts) => Ok(Some(facts)),
        Err(Halt::Stream) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

fn read(
    context: &ReadContext,
    blob: &LayerBlob,
    remote: &dyn RemoteBlob,
) -> Result<LayerFacts, Halt> {
    // Whole sections are searched, and fat binaries read whole: a stream has them sooner.
    if context.depth == Depth::Deep {
        return Err(Halt::Stream);
    }
    let name = blob.name();
    let fetcher = Fetcher::new(context, &name, remote, blob.size);
    let (contents, compression) =
        if let Some(contents) = zstd_chunked::contents(blob, &fetcher, &context.limits)? {
            (contents, fetch::Compression::Zstd)
        } else if let Some(contents) = estargz::contents(blob, &fetcher, &context.limits)? {
            (contents, fetch::Compression::Gzip)
        } else {
            return Err(Halt::Stream);
        };
    let Contents { mut entries, files } = contents;
    let fetcher = fetcher.of(compression);
    let (whole, others): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|file| context.patterns.capture(&entries[file.entry].path) != Capture::Elf);
    let budget = Budget::default();
    for (at, entry) in entries.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &entries[at]);
        let taken = budget.entry(before, entry, &context.limits);
        taken.map_err(|passed| fetcher.passed(&entry.path, passed))?;
    }
    keep(context, &fetcher, &whole, &mut entries, &budget)?;
    let candidates: Vec<&File> = others
        .into_iter()
        .filter(|file| context.patterns.may_be_elf(&entries[file.entry]))
        .collect();
    elf_files::read(context, &fetcher, &candidates, &mut entries, &budget)?;
    context
        .progress
        .advance(blob.size.saturating_sub(fetcher.fetched()));
    Ok(LayerFacts { entries })
}

/// Captures whole files.
fn keep(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &mut [Entry],
    budget: &Budget,
) -> Result<(), Halt> {
    for file in files {
        let entry = &entries[file.entry];
        let taken = budget.text(entry.size, &context.limits);
        taken.map_err(|passed| fetcher.passed(&entry.path, passed))?;
    }
    let opened: Vec<_> = files
        .iter()
        .map(|file| ChunkedFile::new(fetcher, file))
        .collect();
    let all = opened.iter().map(|file| (file, 0..file.length()));
    fetcher.hold(all)?;
    for (file, opened) in files.iter().zip(&opened) {
        let entry = &mut entries[file.entry];
        let bytes = opened.whole()?;
        entry.kind = EntryKind::File(captured(context.patterns.capture(&entry.path), bytes));
    }
    // Empty files need no byte, but are wanted all the same.
    for entry in entries.iter_mut().filter(|entry| entry.size == 0) {
        let capture = context.patterns.capture(&entry.path);
        if matches!(entry.kind, EntryKind::File(_)) && capture != Capture::Elf {
            entry.kind = EntryKind::File(captured(capture, Vec::new()));
        }
    }
    Ok(())
}
