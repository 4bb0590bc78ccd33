//! What the team asked for: the configuration file, with what the command line and the environment say above it.

use crate::finding::Severity;
use crate::targets::Target;

/// All that a check is judged by, beside the rules.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The least severity that fails; `None` never fails.
    pub fail_on: Option<Severity>,
    /// The machines that the images must run on.
    pub targets: Vec<Target>,
}
