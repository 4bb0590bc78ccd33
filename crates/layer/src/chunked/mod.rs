//! Lazily read layers: zstd:chunked and eStargz blobs have a table of contents. The table is fetched, then the chunks of files that
//! are needed, and nothing else.
//!
//! The entries of the table become the entries of the layer. A layer whose table cannot be used is streamed, and then verified
//! completely. A table that does not have the digest that the manifest promises is an error.

mod contents;
mod elf_files;
mod error;
mod estargz;
mod fetch;
mod file;
mod zstd_chunked;

use super::budget::Budget;
use super::content::captured;
use super::context::ReadContext;
use super::patterns::Capture;
use contents::{Contents, File};
use error::LazyError;
use fetch::Fetcher;
use file::{ChunkedFile, fetch_ranges};
use imgcheck_base::error::Result;
use imgcheck_elf::Depth;
use imgcheck_image::{Entry, EntryKind, LayerFacts};
use imgcheck_source::source::LayerBlob;
use imgcheck_source::source::remote::RemoteBlob;

/// How many files that may be scripts are in memory at once; each has at most 32 KiB.
const SCRIPTS_AT_ONCE: usize = 2048;

/// The facts of a layer; `None` if it has to be streamed.
///
/// # Errors
/// The table, or a chunk that was fetched whole, does not have its digest; or the blob cannot be fetched.
pub(super) fn scan(
    context: &ReadContext,
    blob: &LayerBlob,
    remote: &dyn RemoteBlob,
) -> Result<Option<LayerFacts>> {
    match read(context, blob, remote) {
        Ok(facts) => Ok(Some(facts)),
        Err(LazyError::UseStream) => Ok(None),
        Err(LazyError::Failed(error)) => Err(error),
    }
}

fn read(
    context: &ReadContext,
    blob: &LayerBlob,
    remote: &dyn RemoteBlob,
) -> Result<LayerFacts, LazyError> {
    // A deep search reads whole sections and fat binaries, for which a stream is faster.
    if context.depth == Depth::Deep || context.trust.is_stream_required() {
        return Err(LazyError::UseStream);
    }
    let name = blob.name();
    let fetcher = Fetcher::new(context, &name, remote, blob.size);
    let (contents, compression) =
        if let Some(contents) = zstd_chunked::contents(blob, &fetcher, &context.bounds.limits)? {
            (contents, fetch::Compression::Zstd)
        } else if let Some(contents) = estargz::contents(blob, &fetcher, &context.bounds.limits)? {
            (contents, fetch::Compression::Gzip)
        } else {
            return Err(LazyError::UseStream);
        };
    let Contents { mut entries, files } = contents;
    let fetcher = fetcher.with_compression(compression);
    let (whole, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| {
        let capture = context.patterns.capture(&entries[file.entry]);
        capture.is_whole()
    });
    let budget = Budget::default();
    for (at, entry) in entries.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &entries[at]);
        let taken = budget.entry(before, entry, &context.bounds.limits);
        taken.map_err(|exceeded| fetcher.exceeded(&entry.path, exceeded))?;
    }
    capture_whole(context, &fetcher, &whole, &mut entries, &budget)?;
    let others = capture_scripts(context, &fetcher, others, &mut entries, &budget)?;
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

/// Captures the scripts among files, and returns the other files.
fn capture_scripts<'f>(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: Vec<&'f File>,
    entries: &mut [Entry],
    budget: &Budget,
) -> Result<Vec<&'f File>, LazyError> {
    let is_candidate = |file: &&File| context.patterns.may_be_script(&entries[file.entry]);
    let (candidates, mut others): (Vec<&File>, Vec<&File>) =
        files.into_iter().partition(is_candidate);
    for candidates in candidates.chunks(SCRIPTS_AT_ONCE) {
        for (file, opened) in candidates.iter().zip(fetch_whole(fetcher, candidates)?) {
            let bytes = opened.whole()?;
            if !context.patterns.is_script(&bytes) {
                others.push(file);
                continue;
            }
            let entry = &mut entries[file.entry];
            let taken = budget.text(entry.size, &context.bounds.limits);
            taken.map_err(|exceeded| fetcher.exceeded(&entry.path, exceeded))?;
            entry.kind = EntryKind::File(captured(Capture::Text, bytes));
        }
    }
    Ok(others)
}

/// Fetches all chunks of files.
fn fetch_whole<'f>(
    fetcher: &'f Fetcher<'f>,
    files: &[&'f File],
) -> Result<Vec<ChunkedFile<'f>>, LazyError> {
    let files = files.iter().map(|file| ChunkedFile::new(fetcher, file));
    let files: Vec<_> = files.collect();
    let ranges = files.iter().map(|file| (file, 0..file.length()));
    fetch_ranges(fetcher, ranges)?;
    Ok(files)
}

/// Captures whole files.
fn capture_whole(
    context: &ReadContext,
    fetcher: &Fetcher,
    files: &[&File],
    entries: &mut [Entry],
    budget: &Budget,
) -> Result<(), LazyError> {
    for file in files {
        let entry = &entries[file.entry];
        let taken = budget.text(entry.size, &context.bounds.limits);
        taken.map_err(|exceeded| fetcher.exceeded(&entry.path, exceeded))?;
    }
    for (file, opened) in files.iter().zip(fetch_whole(fetcher, files)?) {
        let entry = &mut entries[file.entry];
        let bytes = opened.whole()?;
        let capture = context.patterns.capture(entry);
        entry.kind = EntryKind::File(captured(capture, bytes));
    }
    // Empty files have no chunks, but are captured too.
    for entry in entries.iter_mut().filter(|entry| entry.size == 0) {
        let capture = context.patterns.capture(entry);
        if matches!(entry.kind, EntryKind::File(_)) && capture.is_whole() {
            entry.kind = EntryKind::File(captured(capture, Vec::new()));
        }
    }
    Ok(())
}
