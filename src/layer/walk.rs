//! The entries of a layer's archive, wherever its bytes come from.

use super::content::{Budget, ELF_MAGIC, kept};
use super::entry::entry;
use super::wanted::{Form, Limits, Wanted};
use super::{Content, Entry, EntryKind};
use crate::archive::{ArchiveError, Input, Member, Walk};
use crate::error::{Error, Result};

/// Walks an archive to its end. Wanted texts and bytes are read on the way; `sniffed` is called for every other regular file,
/// with the number that its entry will have, and gives its content.
pub(super) fn entries<I: Input>(
    name: &str,
    walk: &mut Walk<I>,
    wanted: &Wanted,
    mut sniffed: impl FnMut(&mut Walk<I>, Member, usize) -> Result<Content, ArchiveError>,
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let budget = Budget::default();
    let wrong = |last: Option<&Entry>, problem: String| {
        let after = last.map_or_else(String::new, |entry| format!(" (after {})", entry.path));
        Error::layer(name, format!("{problem}{after}"))
    };
    while let Some(member) = walk
        .advance()
        .map_err(|error| wrong(entries.last(), error.to_string()))?
    {
        let Some(mut entry) = entry(&member).map_err(|problem| wrong(entries.last(), problem))?
        else {
            continue;
        };
        if matches!(entry.kind, EntryKind::File(_)) {
            let content = match wanted.form(&entry.path) {
                Form::Sniffed => sniffed(walk, member, entries.len()),
                form => {
                    budget
                        .take(&entry, &wanted.limits)
                        .map_err(|problem| Error::layer(name, problem))?;
                    whole(walk).map(|bytes| kept(form, bytes))
                }
            };
            entry.kind =
                EntryKind::File(content.map_err(|error| wrong(entries.last(), error.to_string()))?);
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Reads the magic number of an ELF file, or less where the present member is none. An ELF file whose holes make it too large
/// is an error, for a stream has to go through them.
pub(super) fn is_elf<I: Input>(
    walk: &mut Walk<I>,
    member: &Member,
    limits: &Limits,
) -> Result<bool, ArchiveError> {
    let mut magic = &ELF_MAGIC[..];
    while !magic.is_empty() {
        let content = walk.content()?;
        let length = content.len().min(magic.len());
        if length == 0 || content[..length] != magic[..length] {
            return Ok(false);
        }
        magic = &magic[length..];
        let beyond = content.len() - length;
        walk.give_back(beyond);
    }
    if member.sparse.is_some() && member.size > limits.sparse_bytes {
        return Err(ArchiveError::Limit {
            what: "bytes of a sparse ELF file (limit sparse_bytes)",
            offset: member.offset,
            limit: limits.sparse_bytes,
        });
    }
    Ok(true)
}

fn whole<I: Input>(walk: &mut Walk<I>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    loop {
        let content = walk.content()?;
        if content.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(content);
    }
}
