//! What bounds the work that an image or a file causes.

use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// The limits of a request, and what ends it early.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The limits.
    pub limits: Limits,
    /// Ends the work early.
    pub cancellation: Cancellation,
}

impl Bounds {
    /// Checks a value against a limit; `subject` is what the error names.
    ///
    /// # Errors
    /// The value is greater than the limit.
    pub fn check(&self, limit: Limit, value: u64, subject: &str) -> Result<()> {
        let checked = self.limits.check(limit, value);
        checked.map_err(|exceeded| Error::limit(subject, exceeded))
    }
}

impl From<Limits> for Bounds {
    /// Limits of work that nothing ends early.
    fn from(limits: Limits) -> Self {
        Bounds {
            limits,
            ..Bounds::default()
        }
    }
}
