//! Uncompressed layers, read at random: from header to header, and of the files only the parts that matter.

use super::content::{SparseRange, elf};
use super::walk::{entries, is_elf};
use super::wanted::Wanted;
use super::{Content, EntryKind, LayerFacts};
use crate::archive::{FileRange, Member, RangeInput, Walk};
use crate::elf::ReadAt;
use crate::error::{Error, Result};
use crate::parallel;
use crate::source::LayerBlob;
use crate::source::digest::Hasher;

/// An ELF file that the walk has passed.
struct ElfFile {
    entry: usize,
    bytes: Box<dyn ReadAt + Send>,
}

/// The facts of an uncompressed layer: first one walk, then all ELF files on all cores.
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
    let mut files = Vec::new();
    let mut position = 0;
    let mut walk = Walk::new(RangeInput::new(range.clone()), wanted.limits.archive);
    let entries = entries(name, &mut walk, wanted, |walk, member, entry| {
        progress(walk.position() - position);
        position = walk.position();
        if is_elf(walk, &member, &wanted.limits)? {
            files.push(ElfFile {
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
    let mut facts = LayerFacts { entries };
    read_elf_files(name, &mut facts, files, wanted)?;
    Ok(facts)
}

/// Reads the whole layer and compares its digest with the diff id.
fn verify(blob: &LayerBlob, name: &str, range: &FileRange) -> Result<()> {
    let unreadable = |error: std::io::Error| Error::layer(name, format!("cannot be read: {error}"));
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

fn read_elf_files(
    name: &str,
    facts: &mut LayerFacts,
    mut files: Vec<ElfFile>,
    wanted: &Wanted,
) -> Result<()> {
    // The largest first, so that no core is left with one of them at the end.
    files.sort_by_key(|file| std::cmp::Reverse(file.bytes.size()));
    let entries = &facts.entries;
    let contents = parallel::map(parallel::cores(), files.len(), |at| {
        let file = &files[at];
        elf(&*file.bytes, wanted).map_err(|problem| {
            Error::layer(name, format!("{}: {problem}", entries[file.entry].path))
        })
    })?;
    for (file, content) in files.iter().zip(contents) {
        facts.entries[file.entry].kind = EntryKind::File(content);
    }
    Ok(())
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
