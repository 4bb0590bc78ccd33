//! The JSON formats: `imgcheck/report/v1`, `imgcheck/facts/v1`, `imgcheck/tree/v1`, `imgcheck/claims/v1` and
//! `imgcheck/lint/v1`.

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::difference::Difference;
use super::{FileReport, ImageReport, Inspection, ReferenceReport, Report, UnreadImage, escape};
use crate::finding::Finding;
use crate::json_schema;
use crate::process::tree::Tree;

const REPORT: &str = "imgcheck/report/v1";

/// A program and its version.
#[derive(Serialize, JsonSchema)]
struct Tool {
    /// Its name.
    name: &'static str,
    /// Its version.
    version: &'static str,
}

const TOOL: Tool = Tool {
    name: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
};

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    tool: Tool,
    images: &'a [T],
    #[serde(skip_serializing_if = "<[UnreadImage]>::is_empty")]
    errors: &'a [UnreadImage],
}

/// The report of `imgcheck check --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "imgcheck report")]
struct ReportDocument<'a> {
    /// The version of this format; within it keys are added, never renamed or removed.
    #[schemars(extend("const" = REPORT))]
    schema: &'static str,
    /// The program that wrote it.
    tool: Tool,
    /// The images that could be read.
    images: &'a [ImageReport],
    /// What the rules say of the configuration: ignores that are over, or that nothing meets. Only written if they say something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'a Finding>,
    /// The images that could not be read. Only written if there are some.
    #[serde(skip_serializing_if = "<[UnreadImage]>::is_empty")]
    errors: &'a [UnreadImage],
}

#[derive(Serialize)]
struct ClaimsDocument<'a> {
    schema: &'static str,
    references: &'a [ReferenceReport],
}

/// The report of a check, and which images could not be read.
pub fn report(report: &Report) -> serde_json::Result<String> {
    let files = report.files.iter();
    escape::json(&ReportDocument {
        schema: REPORT,
        tool: TOOL,
        images: report.images,
        findings: files.flat_map(|file| &file.findings).collect(),
        errors: report.errors,
    })
}

/// The JSON Schema of a report.
pub fn schema() -> Schema {
    json_schema::of_output::<ReportDocument>("report.json")
}

/// What is in the images, without any rule.
pub fn facts(images: &[Inspection], errors: &[UnreadImage]) -> serde_json::Result<String> {
    escape::json(&Document {
        schema: "imgcheck/facts/v1",
        tool: TOOL,
        images,
        errors,
    })
}

/// The loader model of images, each with the name it goes by.
pub fn trees<'t>(
    trees: impl Iterator<Item = (Option<&'t str>, &'t Tree)>,
    errors: &[UnreadImage],
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Named<'t> {
        reference: Option<&'t str>,
        #[serde(flatten)]
        tree: &'t Tree,
    }
    let images: Vec<Named> = trees
        .map(|(reference, tree)| Named { reference, tree })
        .collect();
    escape::json(&Document {
        schema: "imgcheck/tree/v1",
        tool: TOOL,
        images: &images,
        errors,
    })
}

/// What changed from one image to another.
pub fn difference(difference: &Difference) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct DifferenceDocument<'d> {
        schema: &'static str,
        tool: Tool,
        #[serde(flatten)]
        difference: &'d Difference,
    }
    escape::json(&DifferenceDocument {
        schema: "imgcheck/diff/v1",
        tool: TOOL,
        difference,
    })
}

/// What references promise.
pub fn claims(references: &[ReferenceReport]) -> serde_json::Result<String> {
    escape::json(&ClaimsDocument {
        schema: "imgcheck/claims/v1",
        references,
    })
}

/// The report on files that an image is built from, and which of them could not be read or parsed.
pub fn lint(report: &Report) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct LintDocument<'a> {
        schema: &'static str,
        tool: Tool,
        files: &'a [FileReport],
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<UnreadFile<'a>>,
    }
    #[derive(Serialize)]
    struct UnreadFile<'a> {
        file: &'a str,
        error: &'a str,
    }
    let errors = report.errors.iter().map(|unread| UnreadFile {
        file: &unread.image,
        error: &unread.error,
    });
    escape::json(&LintDocument {
        schema: "imgcheck/lint/v1",
        tool: TOOL,
        files: report.files,
        errors: errors.collect(),
    })
}
