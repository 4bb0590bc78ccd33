//! What is told of a check: the report, and one file a format.

pub mod json;
mod summary;
pub mod text;
pub mod tree;

use std::fmt;

use serde::Serialize;

use crate::claims::Claim;
use crate::elf::Depth;
use crate::finding::{Finding, Severity};
use crate::process::LoaderFacts;
use crate::source::{SourceKind, Way};
use crate::stack::Component;

/// All that was learnt of one image before any rule looked at it. The keys are those of the JSON report.
#[derive(Debug, Clone, Serialize)]
pub struct ImageFacts {
    /// The reference that the image is compared with; `None` for an image without a name.
    pub reference: Option<String>,
    /// How the image is stored.
    pub source: SourceKind,
    /// How it was got at, where an engine holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Way>,
    /// `os/architecture[/variant]`; empty for a root directory.
    pub platform: String,
    /// How much of each file was read; GPU code outside the usual sections is found only in the deep one.
    pub depth: Depth,
    /// Digest of the manifest.
    pub digest: Option<String>,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// The layers, lowest first.
    pub layers: Vec<Layer>,
    /// What the reference, the labels and the environment promise.
    pub claims: Vec<Claim>,
    /// Every copy of every part of the stack.
    pub stack: Vec<Component>,
    /// GPU code of the libraries.
    pub gpu: crate::stack::Gpu,
    /// The driver that the CUDA runtime needs; `None` without one, or where the tables do not know it.
    pub driver: Option<crate::stack::DriverFloor>,
    /// What the dynamic loader would do in the processes of the image.
    pub loader: Option<LoaderFacts>,
    /// Number of files in the merged root filesystem; in the text report only.
    #[serde(skip)]
    pub files: usize,
}

/// An image that could not be read whole.
#[derive(Debug, Clone, Serialize)]
pub struct UnreadImage {
    /// The image as it was named.
    pub image: String,
    /// What was being read, what is wrong, and what to do.
    pub error: String,
}

/// One layer in the report.
#[derive(Debug, Clone, Serialize)]
pub struct Layer {
    /// Position, lowest 0.
    pub index: usize,
    /// Digest of the uncompressed tar.
    pub diff_id: String,
    /// Digest of the blob as stored.
    pub digest: Option<String>,
    /// Bytes of the blob as stored.
    pub size: u64,
    /// The build step that made the layer.
    pub created_by: String,
    /// Whether its facts came from the cache.
    pub cached: bool,
    /// Whether only the parts that matter were fetched, found by its table of contents; only written if so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_parts: bool,
}

/// The report of one image.
#[derive(Debug, Clone, Serialize)]
pub struct ImageReport {
    /// What was learnt.
    #[serde(flatten)]
    pub facts: ImageFacts,
    /// Whether a finding reaches the severity that fails.
    pub verdict: Verdict,
    /// What the rules found, worst first.
    pub findings: Vec<Finding>,
    /// Findings that the configuration ignores.
    pub ignored: Vec<Finding>,
    /// Wall time of this image in milliseconds.
    pub elapsed_ms: u64,
}

/// Pass or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No finding reaches the severity that fails.
    Pass,
    /// At least one does.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
        })
    }
}

impl Verdict {
    /// The verdict on findings, where `fail_on` is the least severity that fails; `None` never fails.
    pub fn of(findings: &[Finding], fail_on: Option<Severity>) -> Self {
        match fail_on {
            Some(threshold) if findings.iter().any(|finding| finding.severity >= threshold) => {
                Verdict::Fail
            }
            _ => Verdict::Pass,
        }
    }
}

/// What one reference promises, and whether such an image was ever published.
#[derive(Debug, Clone, Serialize)]
pub struct ReferenceReport {
    /// The reference as it was written.
    pub reference: String,
    /// What it promises.
    pub claims: Vec<Claim>,
    /// What the rules say of the promises alone.
    pub findings: Vec<Finding>,
    /// Why the text is no reference, if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Control characters of an image's own texts as `\u{…}`, so that nothing an image holds can steer a terminal.
/// Bidirectional marks are escaped too, since they make a name read as another.
pub(crate) fn printable(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| {
            if hidden(c) {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_bidirectional_marks_are_escaped() {
        assert_eq!(
            printable("v2.9\u{1b}[2J\u{202e}x"),
            "v2.9\\u{1b}[2J\\u{202e}x"
        );
        assert_eq!(printable("line\nline"), "line\nline");
    }
}
