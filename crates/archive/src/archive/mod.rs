//! Reads tar archives from header to header, and only the contents that are needed.
//!
//! The same code reads files, where content is skipped by seeking, and streams. Formats: V7, ustar, GNU and pax, with their sparse
//! files. Where they are ambiguous, archives are read like Go's `archive/tar` does, because container engines unpack images with it.

pub mod capabilities;
pub mod compression;
mod header;
pub mod input;
mod member;
pub mod overlay;
pub mod path;
mod pax;
pub mod pipe;
pub mod sparse;
pub mod walk;

pub use input::{FileRange, Input, RangeInput, StreamInput};
pub use member::{Member, MemberKind, Owner};
pub use sparse::Segment;
pub use walk::Walk;

use std::io;

use thiserror::Error;

use imgcheck_base::limits::LimitExceeded;

/// The block size of tar: headers are one block, contents are padded to whole ones.
pub const BLOCK: u64 = 512;

/// Whether a file that starts with these bytes can be an archive: with a header, the zeros of an empty archive, or nothing.
pub fn begins_archive(start: &[u8]) -> bool {
    match start.first_chunk::<{ BLOCK as usize }>() {
        None => start.is_empty(),
        Some(block) => {
            let mut header = tar::Header::new_old();
            header.as_mut_bytes().copy_from_slice(block);
            header::checksum_is_right(&header) || block.iter().all(|byte| *byte == 0)
        }
    }
}

/// Why an archive cannot be read to its end.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The archive ends inside a header or a member.
    #[error("the archive is truncated: it ends at byte {end}, inside {inside}")]
    Truncated {
        /// Length of the archive.
        end: u64,
        /// What was being read.
        inside: String,
    },
    /// A header is invalid.
    #[error("not a valid tar header at byte {offset}: {problem}")]
    Header {
        /// Offset of the header.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A limit is exceeded.
    #[error("byte {offset}: {exceeded}")]
    Limit {
        /// Offset in the archive.
        offset: u64,
        /// The limit and the value found.
        exceeded: LimitExceeded,
    },
    /// The input cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}
