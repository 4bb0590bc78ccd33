//! The entries of a layer's archive, whether it is at rest or streamed.

use super::budget::Budget;
use super::content::{ELF_MAGIC, captured};
use super::context::ReadContext;
use super::entry::entry;
use super::patterns::Capture;
use imgcheck_archive::archive::{ArchiveError, Input, Member, Walk};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limits;
use imgcheck_image::{Content, Entry, EntryKind};

/// Walks an archive to its end. Captures texts and bytes; `sniff` is called for every other regular file with the index of its entry, and
/// returns its content.
pub(crate) fn entries<I: Input>(
    context: &ReadContext,
    name: &str,
    walk: &mut Walk<I>,
    budget: &Budget,
    mut sniff: impl FnMut(&mut Walk<I>, Member, usize) -> Result<Content, ArchiveError>,
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let limits = &context.bounds.limits;
    while let Some(member) = walk
        .advance()
        .map_err(|error| failed(name, error, entries.last()))?
    {
        if entries.len().is_multiple_of(64) {
            context.bounds.cancellation.check()?;
        }
        let converted = entry(&member)
            .map_err(|problem| Error::layer(name, format!("{problem}{}", after(entries.last()))))?;
        let Some(mut entry) = converted else {
            continue;
        };
        let exceeded = |exceeded| Error::layer_limit(name, &entry.path, exceeded);
        budget
            .entry(entries.last(), &entry, limits)
            .map_err(exceeded)?;
        if matches!(entry.kind, EntryKind::File(_)) {
            let content = match context.patterns.capture(&entry) {
                Capture::Elf => match script(context, walk, &entry) {
                    Ok(Some(content)) => {
                        if matches!(content, Content::Text(_)) {
                            budget.text(entry.size, limits).map_err(exceeded)?;
                        }
                        Ok(content)
                    }
                    Ok(None) => sniff(walk, member, entries.len()),
                    Err(error) => Err(error),
                },
                Capture::Nothing => Ok(Content::Unread),
                capture => {
                    budget.text(entry.size, limits).map_err(exceeded)?;
                    whole(walk).map(|bytes| captured(capture, bytes))
                }
            };
            let content = content.map_err(|error| match error {
                ArchiveError::Limit { exceeded, .. } => {
                    Error::layer_limit(name, &entry.path, exceeded)
                }
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
        ArchiveError::Limit { offset, exceeded } => {
            Error::layer_limit(name, &format!("byte {offset}{after}"), exceeded)
        }
        ArchiveError::Io(error) => match last {
            Some(entry) => {
                Error::layer_io(name, error).in_context(format_args!("after {}: ", entry.path))
            }
            None => Error::layer_io(name, error),
        },
        error => Error::layer(name, format!("{error}{after}")),
    }
}

fn after(last: Option<&Entry>) -> String {
    last.map_or_else(String::new, |entry| format!(" (after {})", entry.path))
}

/// Whether the current member is an ELF file, whose magic number is then consumed. ELF files with too many holes are an error, because
/// a stream has to expand them.
pub(crate) fn is_elf<I: Input>(
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
        taken.map_err(|exceeded| ArchiveError::Limit { offset, exceeded })?;
    }
    Ok(true)
}

/// The content of the current member if it starts with `#`: no ELF file does. Otherwise nothing of it is consumed.
fn script<I: Input>(
    context: &ReadContext,
    walk: &mut Walk<I>,
    entry: &Entry,
) -> Result<Option<Content>, ArchiveError> {
    if !context.patterns.may_be_script(entry) {
        return Ok(None);
    }
    let content = walk.content()?;
    let (length, first) = (content.len(), content.first().copied());
    walk.give_back(length);
    if first != Some(b'#') {
        return Ok(None);
    }
    let bytes = whole(walk)?;
    Ok(Some(match context.patterns.is_script(&bytes) {
        true => captured(Capture::Text, bytes),
        false => Content::Unread,
    }))
}

/// The content of the current member.
pub(crate) fn whole<I: Input>(walk: &mut Walk<I>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    loop {
        let content = walk.content()?;
        if content.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(content);
    }
}
