//! What an ELF file says of itself, read by random access: headers, dynamic section, symbol versions, symbols,
//! fat binaries and version constants. Which library answers to which export is data (a [`Recipes`] table), not code:
//! nothing here knows what PyTorch is.

pub mod facts;

pub use facts::ElfFacts;

use serde::{Deserialize, Serialize};

/// How much of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Depth {
    /// What an address leads to: headers, tables, bodies of named exports, named fat-binary sections.
    #[default]
    Default,
    /// Also whole-section searches.
    Deep,
}
