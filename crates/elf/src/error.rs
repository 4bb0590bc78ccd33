//! Why an ELF file could not be read.

use std::io;

use thiserror::Error;

use imgcheck_base::error::Error as RequestError;
use imgcheck_base::limits::LimitExceeded;
use imgcheck_base::read_at::MissingBytes;

/// Why an ELF file could not be read.
#[derive(Debug, Error)]
pub enum ElfError {
    /// No loader could use the bytes as an ELF file; the text says what is wrong.
    #[error("{0}")]
    Broken(String),
    /// The source does not have a range that is needed: read again from one that has it.
    #[error("bytes {offset}+{length} are needed and not available")]
    Missing {
        /// First byte of the range.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
    /// The file exceeds a limit, so nothing is known about it.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The request was cancelled, or its deadline passed.
    #[error(transparent)]
    Cancelled(#[from] RequestError),
    /// The source could not be read.
    #[error(transparent)]
    Io(io::Error),
}

impl ElfError {
    /// Extends an [`ElfError::Missing`] to the end of a range, so that one more pass fetches all of it.
    pub(crate) fn missing_until(self, end: u64) -> Self {
        match self {
            ElfError::Missing { offset, .. } => ElfError::Missing {
                offset,
                length: end.saturating_sub(offset),
            },
            other => other,
        }
    }
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

/// An [`ElfError::Broken`].
pub(crate) fn broken(problem: impl Into<String>) -> ElfError {
    ElfError::Broken(problem.into())
}
