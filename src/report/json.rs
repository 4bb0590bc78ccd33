//! The JSON formats: `imgcheck/report/v1`, `imgcheck/facts/v1`, `imgcheck/tree/v1`, `imgcheck/claims/v1` and
//! `imgcheck/lint/v1`.

use serde::Serialize;

use super::{FileReport, ImageFacts, ReferenceReport, Report, UnreadImage};
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
    pretty(&Document {
        schema: "imgcheck/report/v1",
        tool: TOOL,
        images: report.images,
        errors: report.errors,
    })
}

/// What is in the images, without any rule.
pub fn facts(images: &[ImageFacts], errors: &[UnreadImage]) -> serde_json::Result<String> {
    pretty(&Document {
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
    pretty(&Document {
        schema: "imgcheck/tree/v1",
        tool: TOOL,
        images: &images,
        errors,
    })
}

/// What references promise.
pub fn claims(references: &[ReferenceReport]) -> serde_json::Result<String> {
    pretty(&ClaimsDocument {
        schema: "imgcheck/claims/v1",
        references,
    })
}

/// The report on files that an image is built from, and which of them could not be read or parsed.
pub fn lint(files: &[FileReport], errors: &[UnreadImage]) -> serde_json::Result<String> {
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
    let errors = errors.iter().map(|unread| UnreadFile {
        file: &unread.image,
        error: &unread.error,
    });
    pretty(&LintDocument {
        schema: "imgcheck/lint/v1",
        tool: TOOL,
        files,
        errors: errors.collect(),
    })
}

fn pretty<T: Serialize>(document: &T) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
