//! Uncompressed layers, read at random: from header to header, and of the files only the parts that matter.

use super::budget::Budget;
use super::content::{SparseRange, elf};
use super::walk::{entries, is_elf};
use super::wanted::Wanted;
use super::{Content, Entry, EntryKind, LayerFacts};
use crate::archive::{FileRange, Member, RangeInput, Walk};
use crate::digest::Hasher;
use crate::elf::{ElfError, ReadAt};
use crate::error::{Error, Result};
use crate::limits::Limit;
use crate::parallel;
use crate::source::LayerBlob;

/// An ELF file that the walk has passed.
struct ElfFile {
    entry: usize,
    bytes: Box<dyn ReadAt + Send>,
}

/// The facts of an uncompressed layer. ELF files are read on all cores while one walks on.
///
/// Since most of its bytes are never read, the digest of the layer is verified only where the archive has no end marker, and
/// so could be cut off.
pub(super) fn scan(
    blob: &LayerBlob,
    name: &str,
    range: &FileRange,
    wanted: &Wanted,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<LayerFacts> {
    let length = wanted.limits.check(Limit::LayerBytes, range.length());
    length.map_err(|passed| Error::limit(format!("layer {name}"), passed))?;
    let budget = &Budget::default();
    let (entries, mut contents) = parallel::fed(
        parallel::cores(),
        |read| walk(blob, name, range, wanted, budget, progress, read),
        |file: ElfFile| (file.entry, content(&*file.bytes, wanted, budget)),
    );
    let mut entries = entries?;
    // Of several errors always the same is told.
    contents.sort_unstable_by_key(|(entry, _)| *entry);
    for (entry, content) in contents {
        let entry = &mut entries[entry];
        let content = content.map_err(|error| match error {
            ElfError::Limit(passed) => Error::layer_limit(name, &entry.path, passed),
            error => Error::layer(name, format!("{}: {error}", entry.path)),
        })?;
        entry.kind = EntryKind::File(content);
    }
    Ok(LayerFacts { entries })
}

fn content(bytes: &dyn ReadAt, wanted: &Wanted, budget: &Budget) -> Result<Content, ElfError> {
    let content = elf(bytes, wanted, wanted.depth)?;
    budget.content(&content, &wanted.limits)?;
    Ok(content)
}

/// Walks the archive; `read` is given every ELF file.
fn walk(
    blob: &LayerBlob,
    name: &str,
    range: &FileRange,
    wanted: &Wanted,
    budget: &Budget,
    progress: &(dyn Fn(u64) + Sync),
    read: &mut dyn FnMut(ElfFile),
) -> Result<Vec<Entry>> {
    let mut position = 0;
    let mut walk = Walk::new(RangeInput::new(range.clone()), wanted.limits);
    let entries = entries(name, &mut walk, wanted, budget, |walk, member, entry| {
        progress(walk.position() - position);
        position = walk.position();
        if is_elf(walk, &member, budget, &wanted.limits)? {
            read(ElfFile {
                entry,
                bytes: bytes(range, member),
            });
        }
        Ok(Content::Unread)
    })?;
    if !walk.has_end_marker() {
        verify(blob, name, range)?;
    }
    progress(range.length().saturating_sub(position));
    Ok(entries)
}

/// Reads the whole layer and compares its digest with the diff id.
fn verify(blob: &LayerBlob, name: &str, range: &FileRange) -> Result<()> {
    let unreadable = |error: std::io::Error| Error::layer_io(name, error);
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 20];
    let mut position = 0;
    loop {
        let length = range.read_at(position, &mut buffer).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        hasher.update(&buffer[..length]);
        position += length as u64;
    }
    let digest = hasher.finish();
    if digest == blob.diff_id {
        return Ok(());
    }
    Err(Error::layer(
        name,
        format!(
            "is cut off: the archive has no end, and its digest is {digest}, not {}",
            blob.diff_id
        ),
    ))
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
