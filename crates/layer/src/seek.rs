//! Uncompressed layers at rest: seeks from header to header, and reads only the parts of files that matter.

use super::budget::Budget;
use super::content::{SparseRange, elf};
use super::context::ReadContext;
use super::modules::{self, Modules, Offsets};
use super::walk::{entries, is_elf};
use std::sync::Arc;

use imgcheck_archive::archive::{FileRange, Member, RangeInput, Walk};
use imgcheck_base::digest::Hasher;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use imgcheck_base::parallel;
use imgcheck_elf::{ElfError, ReadAt};
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_source::source::LayerBlob;

/// An ELF file that the walk has found.
struct ElfFile {
    entry: usize,
    bytes: Box<dyn ReadAt + Send>,
}

/// The facts of an uncompressed layer. ELF files are read on all cores while the walk continues.
///
/// Since most of its bytes are not read, the digest of the layer is verified only if that is requested, or if the archive has no end
/// marker, because it could be truncated then.
pub(crate) fn scan(
    context: &ReadContext,
    blob: &LayerBlob,
    range: &FileRange,
) -> Result<(LayerFacts, Modules)> {
    let name = &blob.name();
    let length = context
        .bounds
        .limits
        .check(Limit::LayerBytes, range.length());
    length.map_err(|exceeded| Error::limit(format!("layer {name}"), exceeded))?;
    let budget = &Budget::default();
    let (entries, mut contents) = parallel::fed(
        parallel::cores(),
        |read| walk(context, blob, range, budget, read),
        |file: ElfFile| (file.entry, content(context, &*file.bytes, budget)),
    );
    let (mut entries, sources) = entries?;
    // Of several errors, always the same one is reported.
    contents.sort_unstable_by_key(|(entry, _)| *entry);
    for (entry, content) in contents {
        let entry = &mut entries[entry];
        let content = content.map_err(|error| match error {
            ElfError::Limit(exceeded) => Error::layer_limit(name, &entry.path, exceeded),
            ElfError::Cancelled(error) => error,
            ElfError::Io(error) => {
                Error::layer_io(name, error).in_context(format_args!("{}: ", entry.path))
            }
            error => Error::layer(name, format!("{}: {error}", entry.path)),
        })?;
        entry.kind = EntryKind::File(content);
    }
    let modules = Modules::Archive(range.clone(), Arc::new(sources));
    Ok((LayerFacts { entries }, modules))
}

fn content(
    context: &ReadContext,
    bytes: &dyn ReadAt,
    budget: &Budget,
) -> Result<Content, ElfError> {
    let content = elf(context, bytes, context.depth)?;
    budget.content(&content, &context.bounds.limits)?;
    Ok(content)
}

/// Walks the archive and calls `read` with every ELF file. Returns also where the Python sources are.
fn walk(
    context: &ReadContext,
    blob: &LayerBlob,
    range: &FileRange,
    budget: &Budget,
    read: &mut dyn FnMut(ElfFile),
) -> Result<(Vec<Entry>, Offsets)> {
    let name = &blob.name();
    let progress = context.progress;
    let mut position = 0;
    let mut sources = Vec::new();
    let mut walk = Walk::new(RangeInput::new(range.clone()), context.bounds.limits);
    let entries = entries(context, name, &mut walk, budget, |walk, member, entry| {
        progress.advance(walk.position() - position);
        position = walk.position();
        modules::note(&mut sources, entry, &member);
        if is_elf(walk, &member, budget, &context.bounds.limits)? {
            read(ElfFile {
                entry,
                bytes: bytes(range, member),
            });
        }
        Ok(Content::Unread)
    })?;
    if context.trust.strict || !walk.has_end_marker() {
        verify(context, blob, range, walk.has_end_marker())?;
    }
    progress.advance(range.length().saturating_sub(position));
    Ok((entries, sources))
}

/// Reads the whole layer and compares its digest with the diff id and, since it is not compressed, with the digest of the blob.
fn verify(
    context: &ReadContext,
    blob: &LayerBlob,
    range: &FileRange,
    has_end_marker: bool,
) -> Result<()> {
    let name = &blob.name();
    let unreadable = |error: std::io::Error| Error::layer_io(name, error);
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 20];
    let mut position = 0;
    loop {
        context.bounds.cancellation.check()?;
        let length = range.read_at(position, &mut buffer).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        hasher.update(&buffer[..length]);
        position += length as u64;
    }
    let digest = hasher.finish();
    if digest == blob.diff_id && blob.digest.as_ref().is_none_or(|it| *it == digest) {
        return Ok(());
    }
    let expected = &blob.diff_id;
    if !has_end_marker {
        let problem = format!(
            "truncated: the archive has no end marker, and its digest is {digest}, expected {expected}"
        );
        return Err(Error::layer(name, problem));
    }
    Err(Error::damaged_layer(name, "digest", &digest, expected))
}

fn bytes(range: &FileRange, member: Member) -> Box<dyn ReadAt + Send> {
    let stored = range.slice(member.offset, member.stored);
    match member.sparse {
        Some(segments) => Box::new(SparseRange {
            range: stored,
            segments,
            size: member.size,
        }),
        None => Box::new(stored),
    }
}
