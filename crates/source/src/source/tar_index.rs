//! The members of a tar file, found by reading only its headers.

use std::path::Path;

use super::members::Members;
use imgcheck_archive::archive::path::normalise;
use imgcheck_archive::archive::{ArchiveError, FileRange, MemberKind, RangeInput, Walk};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};

/// The position of a member in the tar file, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub offset: u64,
    pub length: u64,
}

/// Memory for a member in addition to its names, in bytes.
const MEMBER: u64 = 128;

/// The members of a tar file.
pub(super) fn index(path: &Path, range: FileRange, bounds: &Bounds) -> Result<Members<Range>> {
    let subject = path.display().to_string();
    let mut walk = Walk::new(RangeInput::new(range.clone()), bounds.limits);
    let mut members = Members::default();
    let mut last = String::new();
    let mut memory = 0;
    loop {
        bounds.cancellation.check()?;
        let member = match walk.advance() {
            Ok(Some(member)) => member,
            Ok(None) if walk.has_end_marker() => return Ok(members),
            Ok(None) if last.is_empty() => return Err(not_an_archive(&subject)),
            Ok(None) => return Err(truncated(&subject, &last)),
            Err(error) => return Err(broken(&subject, error, &last)),
        };
        last = normalise(&member.path);
        memory += MEMBER + (member.path.len() + member.link.len()) as u64;
        bounds.check(Limit::FactsBytes, memory, &subject)?;
        let is_file = member.kind == MemberKind::File && member.sparse.is_none();
        let file = is_file.then_some(Range {
            offset: member.offset,
            length: member.stored,
        });
        members.add(&member, file, |first, second| {
            is_same_document(&range, *first, *second, &bounds.limits)
        });
    }
}

/// Whether both have the same bytes. Layers are not compared: no tool writes one twice.
fn is_same_document(file: &FileRange, first: Range, second: Range, limits: &Limits) -> bool {
    let is_document = limits.check(Limit::DocumentBytes, first.length).is_ok();
    let read = |range: Range| {
        let mut bytes = vec![0; range.length as usize];
        let length = file.read_at(range.offset, &mut bytes).ok()?;
        (length == bytes.len()).then_some(bytes)
    };
    is_document && first.length == second.length && {
        let first = read(first);
        first.is_some() && first == read(second)
    }
}

/// The error of an archive that is invalid after the member `last`.
pub(super) fn broken(subject: &str, error: ArchiveError, last: &str) -> Error {
    match error {
        ArchiveError::Io(error) => Error::io(subject, error).in_context("cannot be read: "),
        ArchiveError::Limit { offset, exceeded } => {
            Error::limit(format!("{subject}: byte {offset}"), exceeded)
        }
        _ if last.is_empty() => not_an_archive(subject),
        error => Error::damaged(subject, format!("{error} ({last})")).with_help(SAVE_AGAIN),
    }
}

pub(super) const SAVE_AGAIN: &str =
    "save or download the image again; an incomplete image cannot be checked";

/// What is missing could be needed for the image, or be another platform of it.
fn truncated(subject: &str, last: &str) -> Error {
    let problem = format!("truncated: the archive has no end marker ({last} is the last member)");
    Error::damaged(subject, problem).with_help(SAVE_AGAIN)
}

pub(super) fn not_an_archive(subject: &str) -> Error {
    Error::unsupported(subject, "not an image: not a tar archive")
        .with_help("give a `docker save` archive, an OCI layout or a root directory")
}
