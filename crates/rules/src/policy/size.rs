//! How large an image may be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes that an image may have of something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SizeLimit {
    /// `files`: all files of all layers; `duplicates`: further copies of GPU libraries.
    pub of: String,
    /// The limit in bytes.
    pub bytes: u64,
    /// The limit as it was written: `8GB`.
    pub text: String,
}
