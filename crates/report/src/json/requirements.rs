//! The frozen type of `imgcheck/requirements/v1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::v1;
use crate::requirements::Requirements;

pub(super) const SCHEMA: &str = "imgcheck/requirements/v1";

/// The report of `imgcheck requirements --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck requirements")]
pub(super) struct Report<'r> {
    /// The version of this format. Keys are only added, never renamed or removed.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The program that wrote the report.
    pub tool: v1::Tool,
    /// The images that could be read.
    pub images: Vec<Requirements<'r>>,
    /// The images that could not be read. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<v1::UnreadImage<'r>>,
}
