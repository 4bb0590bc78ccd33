//! What is refused.

use imgcheck_base::document::Node;

use crate::workload::facts::RefusedField;
use crate::workload::text::Manifest;

/// The most refused fields of an object that are kept.
pub(in crate::workload::kubernetes) const MOST: usize = 20;

/// The longest value that is shown.
const LONGEST: usize = 60;

/// A refused field with its place, and its value as written, if that is short.
pub(in crate::workload::kubernetes) fn refused_at(
    field: String,
    node: &Node,
    manifest: &Manifest,
) -> RefusedField {
    let is_short = |it: &&str| it.len() <= LONGEST && !it.contains('\n');
    let value = node.text().filter(is_short).unwrap_or_default();
    RefusedField {
        field,
        value: value.to_owned(),
        location: manifest.location(node),
        ..RefusedField::default()
    }
}

/// A value that is refused: its path below the field, and what the API server says.
pub(super) type Refusal<'n> = (String, &'n Node, String);
