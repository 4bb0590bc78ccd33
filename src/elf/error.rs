//! Why an ELF file could not be read.

use std::io;

use thiserror::Error;

use super::read_at::MissingBytes;
use crate::limits::Passed;

/// Why an ELF file could not be read.
#[derive(Debug, Error)]
pub enum ElfError {
    /// The bytes are no ELF file that a loader could use; the text says what is wrong.
    #[error("{0}")]
    Broken(String),
    /// The source does not hold a range that is needed: hand over one that does, and read again.
    #[error("bytes {offset}+{length} are needed and were not kept")]
    Missing {
        /// First byte of the range.
        offset: u64,
        /// Its length.
        length: u64,
    },
    /// The file asks for more than a limit allows: nothing can be said of it.
    #[error(transparent)]
    Limit(#[from] Passed),
    /// Reading failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ElfError {
    fn from(error: io::Error) -> Self {
        let missing = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<MissingBytes>())
            .copied();
        match missing {
            Some(MissingBytes { offset, length }) => ElfError::Missing { offset, length },
            None => ElfError::Io(error),
        }
    }
}

/// A [`ElfError::Broken`].
pub(super) fn broken(problem: impl Into<String>) -> ElfError {
    ElfError::Broken(problem.into())
}
