//! What a rule found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claims::Claim;
use crate::stack::Evidence;

/// How bad a finding is.
///
/// ```
/// use imgcheck::Severity;
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

/// How sure a rule is.
///
/// ```
/// assert!(imgcheck::Confidence::High > imgcheck::Confidence::Low);
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

/// A place in a text file of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Location {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column of the first character, from 1, in characters.
    pub column: usize,
    /// Column behind the last character.
    pub end_column: usize,
    /// The whole line.
    pub text: String,
}

/// One fault of one image. The keys are those of the JSON report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The claim that is not met, for a rule that looks at claims one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What to do.
    pub help: Option<String>,
    /// The file it is about.
    pub path: Option<String>,
    /// Index of the layer that put the file there.
    pub layer: Option<usize>,
    /// Where it stands, for a finding about a file that an image is built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What the message rests on.
    pub evidence: Vec<Evidence>,
    /// Stays the same when the image is rebuilt and the fault remains.
    pub fingerprint: String,
    /// The rule's page; for a rule of the user its first reference, empty if it has none.
    pub docs: String,
}

impl Finding {
    /// The file that it is about: one of the image, or one that an image is built from.
    pub fn file(&self) -> Option<&str> {
        let located = self.location.as_ref().map(|location| &location.file);
        self.path.as_ref().or(located).map(String::as_str)
    }
}

/// A finding that does not count, and why. The keys are those of the JSON report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IgnoredFinding {
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
    /// Why it does not count.
    pub ignore: IgnoreReason,
}

/// Why a finding does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoreReason {
    /// What the team wrote down, or `in the baseline`.
    pub reason: String,
    /// The last day that it holds, as `2027-03-01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}
