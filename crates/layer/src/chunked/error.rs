//! Why a layer was not read lazily.

use thiserror::Error;

use imgcheck_base::error::Error;

/// Why a layer was not read lazily.
#[derive(Debug, Error)]
pub(super) enum LazyError {
    /// It has to be streamed: there is no table of contents, the table is of an unknown kind or too coarse, or the server does not
    /// serve ranges.
    #[error("the table of contents cannot be used")]
    UseStream,
    /// It cannot be read at all.
    #[error(transparent)]
    Failed(#[from] Error),
}
