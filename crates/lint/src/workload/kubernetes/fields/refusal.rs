//! What is refused.

use imgcheck_base::document::Node;

/// The most refused fields of an object that are kept.
pub(in crate::workload::kubernetes) const MOST: usize = 20;

/// A value that is refused: its path below the field, and what the API server says.
pub(super) type Refusal<'n> = (String, &'n Node, String);
