//! The entries of a layer's archive, wherever its bytes come from.

use super::budget::Budget;
use super::content::{ELF_MAGIC, captured};
use super::context::ReadContext;
use super::entry::entry;
use super::facts::{Content, Entry, EntryKind};
use super::patterns::Capture;
use crate::archive::{ArchiveError, Input, Member, Walk};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Walks an archive to its end. Wanted texts and bytes are read on the way; `sniffed` is called for every other regular file,
/// with the number that its entry will have, and gives its content.
pub(super) fn entries<I: Input>(
    context: &ReadContext,
    name: &str,
    walk: &mut Walk<I>,
    budget: &Budget,
    mut sniffed: impl FnMut(&mut Walk<I>, Member, usize) -> Result<Content, ArchiveError>,
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let limits = &context.limits;
    while let Some(member) = walk
        .advance()
        .map_err(|error| failed(name, error, entries.last()))?
    {
        if entries.len().is_multiple_of(64) {
            context.cancellation.check()?;
        }
        let found = entry(&member)
            .map_err(|problem| Error::layer(name, format!("{problem}{}", after(entries.last()))))?;
        let Some(mut entry) = found else {
            continue;
        };
        let passed = |passed| Error::layer_limit(name, &entry.path, passed);
        budget
            .entry(entries.last(), &entry, limits)
            .map_err(passed)?;
        if matches!(entry.kind, EntryKind::File(_)) {
            let content = match context.patterns.capture(&entry.path) {
                Capture::Elf => sniffed(walk, member, entries.len()),
                capture => {
                    budget.text(entry.size, limits).map_err(passed)?;
                    whole(walk).map(|bytes| captured(capture, bytes))
                }
            };
            let content = content.map_err(|error| match error {
                ArchiveError::Limit { passed, .. } => Error::layer_limit(name, &entry.path, passed),
                error => failed(name, error, entries.last()),
            })?;
            entry.kind = EntryKind::File(content);
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn failed(name: &str, error: ArchiveError, last: Option<&Entry>) -> Error {
    let after = after(last);
    match error {
        ArchiveError::Limit { offset, passed } => {
            Error::layer_limit(name, &format!("byte {offset}{after}"), passed)
        }
        error => Error::layer(name, format!("{error}{after}")),
    }
}

fn after(last: Option<&Entry>) -> String {
    last.map_or_else(String::new, |entry| format!(" (after {})", entry.path))
}

/// Reads the magic number of an ELF file, or less where the present member is none. ELF files whose holes make them too large
/// are an error, for a stream has to go through them.
pub(super) fn is_elf<I: Input>(
    walk: &mut Walk<I>,
    member: &Member,
    budget: &Budget,
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
    if member.sparse.is_some() {
        let offset = member.offset;
        let taken = budget.sparse(member.size, limits);
        taken.map_err(|passed| ArchiveError::Limit { offset, passed })?;
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
