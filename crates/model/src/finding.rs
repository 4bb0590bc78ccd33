//! What a rule found. The keys of these types are those of the JSON report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claims::Claim;
use crate::stack::Evidence;
use imgcheck_base::gap::Gap;

/// How severe a finding is.
///
/// ```
/// use imgcheck_model::finding::Severity;
///
/// assert!(Severity::Error > Severity::Warning);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Works today by luck, or only on some hosts.
    Warning,
    /// It will not run, will run on the CPU, or is not what it says.
    Error,
}

impl Severity {
    /// Its name in reports: `error`, `warning` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// How certain a rule is.
///
/// ```
/// assert!(imgcheck_model::finding::Confidence::High > imgcheck_model::finding::Confidence::Low);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A hint.
    Low,
    /// Probably.
    Medium,
    /// Proven by the bytes of the image.
    High,
}

/// A location in a user's text file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Location {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column of the first character, from 1, in characters.
    pub column: usize,
    /// Column after the last character, from 1.
    pub end_column: usize,
    /// The whole line.
    pub text: String,
}

/// A fault of an image or file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// How severe it is.
    pub severity: Severity,
    /// How certain it is.
    pub confidence: Confidence,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The claim that is not met. Absent for rules that do not check claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What to do.
    pub help: Option<String>,
    /// The file in the image.
    pub path: Option<String>,
    /// Index of the layer that contains the file.
    pub layer: Option<usize>,
    /// The location in a Dockerfile or similar file. Absent for images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What the message is based on.
    pub evidence: Vec<Evidence>,
    /// Stays the same when the image is rebuilt and the fault remains.
    pub fingerprint: String,
    /// Address of the rule's documentation; for a user's rule its first reference, or empty.
    pub docs: String,
}

impl Finding {
    /// The file that it is about: one of the image, or one that an image is built from.
    pub fn file(&self) -> Option<&str> {
        let located = self.location.as_ref().map(|location| &location.file);
        self.path.as_ref().or(located).map(String::as_str)
    }
}

/// A suppressed finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IgnoredFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Why it is suppressed.
    pub ignore: IgnoreReason,
}

/// A gap that does not count, and why. The keys are those of the JSON report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AcknowledgedGap {
    /// What could not be judged.
    #[serde(flatten)]
    pub gap: Gap,
    /// Why it does not count.
    pub ignore: IgnoreReason,
}

/// Why a finding or gap does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoreReason {
    /// The reason in the configuration, or `in the baseline`.
    pub reason: String,
    /// The last day the ignore is valid, such as `2027-03-01`. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}
