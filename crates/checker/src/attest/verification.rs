//! What was verified, and how it is written.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use crate::report::Report;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::json_schema;
use imgcheck_model::finding::{Finding, IgnoredFinding};
use imgcheck_report::{self as report, Verdict};
use imgcheck_source::attest::predicate::{ImageVerdict, VerdictPredicate};

const SCHEMA: &str = "imgcheck/verify/v1";

/// What was verified.
#[derive(Debug)]
pub struct Verification {
    /// The attestation of the index that lists the images; `None` if the reference names an image, or the index has no attestation.
    pub index: Option<VerifiedIndex>,
    /// The images that are attested.
    pub images: Vec<VerifiedImage>,
    /// What today's rules say about them; and the images that are not attested, or whose facts could not be read.
    pub report: Report,
    /// Digest of the rules and settings that judged today.
    pub rules: String,
}

/// An image, and what is attested of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedImage {
    /// The reference.
    pub reference: String,
    /// Digest of the manifest.
    pub digest: String,
    /// `os/architecture[/variant]`.
    pub platform: String,
    /// The version of imgcheck that read the image; null if no facts are attested.
    pub facts_by: Option<String>,
    /// The verdict that was attested last: `pass`, `incomplete` or `fail`.
    pub attested: Option<String>,
    /// The reference whose promises were judged then; null if the statement does not say.
    pub judged_reference: Option<String>,
    /// When (RFC 3339).
    pub judged_at: Option<String>,
    /// Digest of the rules and settings that judged then; null if the statement does not say.
    pub rules: Option<String>,
    /// The lowest severity that failed then: `error`, `warning` or `note`; null if the statement does not say.
    pub fail_on: Option<String>,
    /// The findings that were suppressed then.
    pub suppressed: Vec<SuppressedFinding>,
    /// What does not hold.
    pub problems: Vec<String>,
}

/// A finding that the attested verdict does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuppressedFinding {
    /// Rule id.
    pub rule: String,
    /// How severe it is: `error`, `warning` or `note`.
    pub severity: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Why it is suppressed.
    pub reason: String,
}

/// An index of images, and what is attested of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerifiedIndex {
    /// Digest of the index.
    pub digest: String,
    /// The verdict that was attested last, on all images: `pass`, `incomplete` or `fail`.
    pub attested: Option<String>,
    /// The reference whose promises were judged then; null if the statement does not say.
    pub judged_reference: Option<String>,
    /// When (RFC 3339).
    pub judged_at: Option<String>,
    /// Digest of the rules and settings that judged then; null if the statement does not say.
    pub rules: Option<String>,
    /// The images that were judged.
    pub images: Vec<ImageVerdict>,
    /// What does not hold.
    pub problems: Vec<String>,
}

impl SuppressedFinding {
    /// Those of a signed verdict, which lists them as a report does.
    pub(super) fn of(verdict: &VerdictPredicate) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let suppressed = verdict.ignored.as_array().into_iter().flatten();
        let suppressed = suppressed.map(|finding| SuppressedFinding {
            rule: text(&finding["rule"]),
            severity: text(&finding["severity"]),
            message: text(&finding["message"]),
            reason: text(&finding["ignore"]["reason"]),
        });
        suppressed.collect()
    }
}

impl Verification {
    /// 0 if all signatures and today's judgement hold, 1 if one does not, 3 if there was nothing to verify, it could not be read, or not
    /// everything could be judged.
    pub fn exit_code(&self) -> u8 {
        let of_images = self.images.iter().map(|it| &it.problems);
        let mut problems = of_images.chain(self.index.iter().map(|it| &it.problems));
        match self.report.verdict() {
            _ if !self.report.errors.is_empty() => 3,
            Verdict::Fail => 1,
            _ if problems.any(|it| !it.is_empty()) => 1,
            Verdict::Incomplete => 3,
            Verdict::Pass => 0,
        }
    }

    /// What was verified, without today's gaps and stack, as JSON.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub fn to_json(&self) -> Result<String> {
        let images = self.images.iter().map(|image| {
            let mut report = self.report.images.iter();
            let report = report.find(|it| it.facts.digest.as_ref() == Some(&image.digest));
            Today {
                image,
                verdict: report.map(|it| it.verdict.as_str()),
                findings: report.iter().flat_map(|it| &it.findings).collect(),
                ignored: report.iter().flat_map(|it| &it.ignored).collect(),
            }
        });
        let errors = self.report.errors.iter().map(|it| Unverified {
            reference: &it.name,
            code: it.error.code(),
            message: it.error.message(),
            help: it.error.help(),
        });
        let document = Document {
            schema: SCHEMA,
            rules: &self.rules,
            index: self.index.as_ref(),
            images: images.collect(),
            errors: errors.collect(),
        };
        report::to_json(&document).map_err(|error| Error::output("the report", error))
    }
}

/// The JSON Schema of [`Verification::to_json`].
pub fn schema() -> Schema {
    json_schema::of_output::<Document<'static>>("verify.json")
}

#[derive(Serialize, JsonSchema)]
#[schemars(
    title = "imgcheck verification",
    description = "The output of `imgcheck verify --format json`. Keys are only added, never renamed or removed."
)]
struct Document<'d> {
    /// The format: `imgcheck/verify/v1`.
    schema: &'d str,
    /// Digest of the rules and settings that judged today.
    rules: &'d str,
    /// The attestation of the index that lists the images; null if the reference names an image, or nobody attested the index.
    index: Option<&'d VerifiedIndex>,
    /// The images that are attested.
    images: Vec<Today<'d>>,
    /// The images that are not attested, or whose facts could not be read.
    errors: Vec<Unverified<'d>>,
}

#[derive(Serialize, JsonSchema)]
struct Today<'d> {
    #[serde(flatten)]
    image: &'d VerifiedImage,
    /// The verdict of today's rules: `pass`, `incomplete` or `fail`; null if the image was not judged.
    verdict: Option<&'static str>,
    /// The findings of today's rules.
    findings: Vec<&'d Finding>,
    /// The findings that today's configuration suppresses.
    ignored: Vec<&'d IgnoredFinding>,
}

#[derive(Serialize, JsonSchema)]
struct Unverified<'d> {
    /// The image.
    reference: &'d str,
    /// The kind of error; stable across versions.
    code: ErrorCode,
    /// What is wrong.
    message: String,
    /// What to do.
    help: Option<String>,
}
