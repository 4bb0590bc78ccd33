//! The JSON formats: `imgcheck/report/v1`, `imgcheck/facts/v1`, `imgcheck/tree/v1` and `imgcheck/claims/v1`.

use serde::Serialize;

use super::difference::Difference;
use super::{ImageFacts, ReferenceReport, Report, UnreadImage, escape};
use crate::process::tree::Tree;

#[derive(Serialize)]
struct Tool {
    name: &'static str,
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

#[derive(Serialize)]
struct ClaimsDocument<'a> {
    schema: &'static str,
    references: &'a [ReferenceReport],
}

/// The report of a check, and which images could not be read.
pub fn report(report: &Report) -> serde_json::Result<String> {
    escape::json(&Document {
        schema: "imgcheck/report/v1",
        tool: TOOL,
        images: report.images,
        errors: report.errors,
    })
}

/// What is in the images, without any rule.
pub fn facts(images: &[ImageFacts], errors: &[UnreadImage]) -> serde_json::Result<String> {
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
