//! Uncompressed layers, read at random: from header to header, and of the files only the parts that matter.

use super::content::{SparseRange, elf};
use super::walk::{entries, is_elf};
use super::wanted::Wanted;
use super::{Content, EntryKind, LayerFacts, parallel};
use crate::archive::{FileRange, Member, RangeInput, Walk};
use crate::elf::ReadAt;
use crate::error::{Error, Result};

/// An ELF file that the walk has passed.
struct ElfFile {
    entry: usize,
    bytes: Box<dyn ReadAt + Send>,
}

/// The facts of an uncompressed layer: first one walk, then all ELF files on all cores.
///
/// Since most of its bytes are never read, the digest of the layer is not verified.
pub(super) fn scan(
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
    progress(range.length().saturating_sub(position));
    let mut facts = LayerFacts { entries };
    read_elf_files(name, &mut facts, files, wanted)?;
    Ok(facts)
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
    let contents = parallel::map(files.len(), |at| {
        let file = &files[at];
        elf(&*file.bytes, wanted).map_err(|problem| {
            Error::layer(name, format!("{}: {problem}", entries[file.entry].path))
        })
    })?;
    for (at, content) in contents {
        facts.entries[files[at].entry].kind = EntryKind::File(content);
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
