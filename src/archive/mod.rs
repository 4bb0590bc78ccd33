//! Tar archives, read by a walk of our own: from header to header, without reading the bodies that nobody asks for.
//!
//! The same walk serves a file that can be read at random, where a body is skipped by moving a number, and a stream that
//! comes out of a decompressor. Formats: V7, ustar, GNU and pax, with their sparse files. Where they leave a choice, the
//! walk does what Go's `archive/tar` does, because that is what unpacks images in container engines.

mod header;
pub mod input;
pub mod overlay;
pub mod path;
mod pax;
pub mod sparse;
pub mod walk;

pub use input::{FileRange, Input, RangeInput, StreamInput};
pub use sparse::Segment;
pub use walk::{Kind, Member, Walk};

use std::io;

use thiserror::Error;

use crate::limits::LimitExceeded;

/// The block size of tar: headers are one block, contents are padded to whole ones.
pub const BLOCK: u64 = 512;

/// Whether the first bytes of a file can be those of an archive: a header, the zeros of an empty archive, or nothing.
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

/// Why an archive could not be walked to its end.
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
    /// A header is wrong.
    #[error("not a valid tar header at byte {offset}: {problem}")]
    Header {
        /// Position of the header.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A limit was passed.
    #[error("byte {offset}: {exceeded}")]
    Limit {
        /// Position in the archive.
        offset: u64,
        /// The limit, and what was met.
        exceeded: LimitExceeded,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}
