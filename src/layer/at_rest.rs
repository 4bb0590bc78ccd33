//! Uncompressed layers, read at random: from header to header, and of the files only the parts that matter.

use super::content::{Budget, ELF_MAGIC, SparseRange, elf, kept};
use super::entry::entry;
use super::wanted::{Form, Wanted};
use super::{EntryKind, LayerFacts, parallel};
use crate::archive::{ArchiveError, FileRange, Member, RangeInput, Walk};
use crate::elf::ReadAt;
use crate::error::{Error, Result};

/// An ELF file that the walk has passed.
struct ElfFile {
    entry: usize,
    bytes: Box<dyn ReadAt + Send>,
}

/// The facts of an uncompressed layer: first one walk, then all ELF files on all cores.
pub(super) fn scan(
    name: &str,
    range: &FileRange,
    wanted: &Wanted,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<LayerFacts> {
    let mut facts = LayerFacts::default();
    let mut files = Vec::new();
    let mut walk = Walk::new(RangeInput::new(range.clone()), wanted.limits.archive);
    let budget = Budget::default();
    let mut position = 0;
    let wrong = |facts: &LayerFacts, problem: String| {
        let after = facts
            .entries
            .last()
            .map_or_else(String::new, |entry| format!(" (after {})", entry.path));
        Error::layer(name, format!("{problem}{after}"))
    };
    while let Some(member) = walk
        .advance()
        .map_err(|error| wrong(&facts, error.to_string()))?
    {
        progress(walk.position() - position);
        position = walk.position();
        let Some(mut entry) = entry(&member).map_err(|problem| wrong(&facts, problem))? else {
            continue;
        };
        if matches!(entry.kind, EntryKind::File(_)) {
            match wanted.form(&entry.path) {
                Form::Sniffed => {
                    if is_elf(&mut walk).map_err(|error| wrong(&facts, error.to_string()))? {
                        files.push(ElfFile {
                            entry: facts.entries.len(),
                            bytes: bytes(range, member),
                        });
                    }
                }
                form => {
                    budget
                        .take(&entry, &wanted.limits)
                        .map_err(|problem| Error::layer(name, problem))?;
                    let bytes =
                        whole(&mut walk).map_err(|error| wrong(&facts, error.to_string()))?;
                    entry.kind = EntryKind::File(kept(form, bytes));
                }
            }
        }
        facts.entries.push(entry);
    }
    progress(range.length().saturating_sub(position));
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

fn is_elf(walk: &mut Walk<RangeInput>) -> Result<bool, ArchiveError> {
    let mut magic = &ELF_MAGIC[..];
    while !magic.is_empty() {
        let content = walk.content()?;
        let length = content.len().min(magic.len());
        if length == 0 || content[..length] != magic[..length] {
            return Ok(false);
        }
        magic = &magic[length..];
    }
    Ok(true)
}

fn whole(walk: &mut Walk<RangeInput>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    loop {
        let content = walk.content()?;
        if content.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(content);
    }
}
