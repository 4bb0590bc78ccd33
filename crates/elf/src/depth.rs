//! How much of an ELF file is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// As the default, but only some of the containers of GPU code in a file, because their headers are all over it.
    Sampled,
    /// What addresses lead to: headers, tables, bodies of named exports, named sections with fat binaries.
    #[default]
    Default,
    /// Also searches of whole sections.
    Deep,
}
