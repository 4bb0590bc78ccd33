//! The frozen type of `imgcheck/size/v1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::v1;
use crate::size::SizeReport;

pub(super) const SCHEMA: &str = "imgcheck/size/v1";

/// The report of `imgcheck size --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck sizes")]
pub(super) struct Report<'r> {
    /// The version of this format. Keys are only added, never renamed or removed.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The program that wrote the report.
    pub tool: v1::Tool,
    /// The images that could be read.
    pub images: Vec<SizeReport<'r>>,
    /// The images that could not be read. Omitted when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<v1::UnreadImage<'r>>,
}
