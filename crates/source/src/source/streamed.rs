//! Archives of images that can be read only once, from standard input or a container engine.
//!
//! Only the end of such an archive tells which of its members are layers. So each member that starts like a layer is read as one,
//! and the content of small JSON files is kept.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::image::{Image, LayerData};
use super::members::Members;
use super::request::{LayerConsumer, StreamedMember};
use super::store::{Store, Streamed};
use super::tar_index;
use imgcheck_archive::archive::path::normalise;
use imgcheck_archive::archive::{ArchiveError, Input, Member, MemberKind, StreamInput, Walk};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};

/// Bytes that a sender may write after an archive, such as zeros up to the size of a record.
const PADDING: u64 = 1 << 20;

/// An archive of images that can be read only once.
pub(super) struct StreamedArchive {
    /// The origin, for messages.
    pub subject: String,
    /// The archive. Where the sender shows that it is truncated, reading ends with an error.
    pub bytes: Box<dyn BufRead + Send>,
    /// The expected length in bytes, for progress; 0 if it is unknown.
    pub size: u64,
    pub limits: Limits,
    /// Whether the end of the archive is followed by a checksum that must be right.
    pub ends_with_checksum: bool,
}

/// A file of a streamed archive: its name and its content.
pub(super) type Document = (String, Arc<[u8]>);

/// The small files of an archive.
#[derive(Default)]
struct Files {
    members: Members<Streamed>,
    documents: Vec<Document>,
    /// Bytes of the documents.
    kept: u64,
}

impl StreamedArchive {
    /// Reads the archive to its end and hands its members to `layers`.
    ///
    /// # Errors
    /// It is not an archive, truncated or damaged, or exceeds a limit; the request was cancelled.
    pub fn read(self, layers: &mut dyn LayerConsumer) -> Result<(Store, Vec<Document>)> {
        let Self {
            subject,
            bytes,
            size,
            limits,
            ends_with_checksum,
        } = self;
        layers.progress().image(&subject, 0, size);
        let mut files = Files::default();
        let mut walk = Walk::new(StreamInput::new(bytes), limits);
        let mut last = String::new();
        let broken = |error, last: &str| match ends_with_checksum {
            true => broken_compressed(&subject, error, last),
            false => broken(&subject, error, last),
        };
        while let Some(member) = walk.advance().map_err(|error| broken(error, &last))? {
            match member.kind {
                MemberKind::File => files.add(&member, Content(&mut walk), &limits, layers)?,
                _ => files.members.add(&member, None, |_, _| false),
            }
            last = normalise(&member.path);
        }
        if !walk.has_end_marker() {
            return Err(truncated(&subject, "it has no end marker", &last));
        }
        // A program that writes into a pipe must not find it closed.
        let rest = io::copy(&mut walk.into_input().take(PADDING), &mut io::sink());
        if ends_with_checksum {
            rest.map_err(|error| broken(error.into(), &last))?;
        }
        layers.progress().finish();
        let store = Store::streamed(&subject, files.members, limits);
        Ok((store, files.documents))
    }
}

/// Verifies that the layers of the images are those members that were read.
///
/// # Errors
/// A layer is missing, damaged, or a different one.
pub(super) fn claim_layers(images: &[Image], layers: &mut dyn LayerConsumer) -> Result<()> {
    for layer in images.iter().flat_map(|image| &image.layers) {
        if let LayerData::Streamed(name) = &layer.data {
            layers.claim_member(name, layer)?;
        }
    }
    Ok(())
}

impl Files {
    fn add<I: Input + Send>(
        &mut self,
        member: &Member,
        mut content: Content<'_, I>,
        limits: &Limits,
        layers: &mut dyn LayerConsumer,
    ) -> Result<()> {
        let name = normalise(&member.path);
        let read = layers.read_member(name.as_ref(), member.size, &mut content)?;
        let kept = match read {
            StreamedMember::Other(start) if is_json(&start) && self.has_room(member, limits) => {
                let mut bytes = start;
                // An error of reading is met again by the walk.
                let _ = content.read_to_end(&mut bytes);
                let bytes: Arc<[u8]> = bytes.into();
                self.documents.push((name, Arc::clone(&bytes)));
                Streamed::Content(bytes)
            }
            _ => Streamed::Length(member.size),
        };
        let file = member.sparse.is_none().then_some(kept);
        self.members.add(member, file, Streamed::is_same_document);
        Ok(())
    }

    /// Whether a file is small enough to be kept, together with all others. A file that is not is an error only if it is needed
    /// as a document: attestations are large, too.
    fn has_room(&mut self, member: &Member, limits: &Limits) -> bool {
        let kept = self.kept.saturating_add(member.size);
        let fits = limits.check(Limit::DocumentBytes, member.size).is_ok()
            && limits.check(Limit::DocumentsBytes, kept).is_ok();
        if fits {
            self.kept = kept;
        }
        fits
    }
}

fn broken(subject: &str, error: ArchiveError, last: &str) -> Error {
    match error {
        ArchiveError::Io(error) => match reading(subject, error) {
            Error::Source(failure) if !last.is_empty() => {
                let problem = format!("the stream ended early: {} ({last})", failure.problem);
                Error::new(failure.code, subject, problem).with_help(INCOMPLETE)
            }
            error => error,
        },
        error => tar_index::broken(subject, error, last),
    }
}

/// The error of an archive that is compressed as a whole.
fn broken_compressed(subject: &str, error: ArchiveError, last: &str) -> Error {
    match error {
        ArchiveError::Io(error) => match reading(subject, error) {
            Error::Source(failure) => {
                let problem = match last {
                    "" => failure.problem,
                    last => format!("{} ({last} is the last whole member)", failure.problem),
                };
                Error::new(failure.code, subject, problem).with_help(tar_index::SAVE_AGAIN)
            }
            error => error,
        },
        error => tar_index::broken(subject, error, last),
    }
}

/// The error of reading; an [`Error::Limit`] for a [`LimitExceeded`] within it.
fn reading(subject: &str, error: io::Error) -> Error {
    match error.downcast::<LimitExceeded>() {
        Ok(exceeded) => Error::limit(subject, exceeded),
        Err(error) => Error::io(subject, error),
    }
}

const INCOMPLETE: &str = "try again; an incomplete image cannot be checked";

fn truncated(subject: &str, problem: &str, last: &str) -> Error {
    let problem = match last {
        "" => "connection closed before any data arrived".to_owned(),
        last => format!("the stream ended early: {problem} ({last} is the last member)"),
    };
    Error::damaged(subject, problem).with_help(INCOMPLETE)
}

/// Whether a file that starts like this may be a JSON document.
fn is_json(start: &[u8]) -> bool {
    matches!(start.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The content of the current member of an archive.
struct Content<'a, I>(&'a mut Walk<I>);

impl<I: Input> Read for Content<'_, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.0.content().map_err(|error| match error {
            ArchiveError::Io(error) => error,
            error => io::Error::other(error),
        })?;
        let count = content.len().min(buffer.len());
        buffer[..count].copy_from_slice(&content[..count]);
        let unused = content.len() - count;
        self.0.give_back(unused);
        Ok(count)
    }
}
