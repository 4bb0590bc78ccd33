//! One line of a sweep: an image and the reference by which people call it.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::Verdict;
use imgcheck_base::error::Error;
use imgcheck_base::gap::GapCode;
use imgcheck_base::json_schema;
use imgcheck_model::finding::Severity;

/// What a sweep says about one image under one reference. It is a line of `jsonl`; the other formats are made from it.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, FleetRecord, FleetStatus, ImageRequest, Verdict};
///
/// let image = ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar");
/// let report = Checker::builder().build()?.check(&[image]);
/// let record = FleetRecord::of(&report.images[0]);
/// assert_eq!(record.status, FleetStatus::Judged);
/// assert_eq!(record.verdict, Some(Verdict::Fail));
/// assert_eq!(record.findings[0].rule, "claim-torch-version");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "imgcheck fleet record")]
pub struct FleetRecord {
    /// The version of this format. Keys are only added, never renamed or removed.
    pub schema: FleetSchema,
    /// What people call the image: the reference whose claims are checked.
    pub reference: String,
    /// Where the image was read.
    pub source: String,
    /// Digest of the manifest. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `os/architecture[/variant]`; empty if it is unknown.
    #[serde(default)]
    pub platform: String,
    /// What became of the image.
    pub status: FleetStatus,
    /// The result. Absent unless the image was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why the image was not judged, as a stable code: `not-found`. Absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why the image was not judged, in a sentence. Absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The findings, worst first.
    #[serde(default)]
    pub findings: Vec<FleetFinding>,
    /// The codes of what could not be judged.
    #[serde(default)]
    pub gaps: Vec<GapCode>,
    /// Versions by component: `torch`, `cuda`, `cudnn`, `nccl`, `python` …, of the copy that the image's process loads if there are several.
    #[serde(default)]
    pub stack: BTreeMap<String, String>,
    /// The oldest driver that runs the image. Absent if the image needs none, or if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_driver: Option<String>,
    /// GPU architectures that all kernels of PyTorch have code for: `sm_90`, `compute_90`. Without PyTorch those of all libraries that
    /// are not CUDA's own.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// Whether the image runs on each target.
    #[serde(default)]
    pub targets: Vec<FleetTarget>,
    /// The layers, bottom first.
    #[serde(default)]
    pub layers: Vec<FleetLayer>,
    /// How many running Pods use the image. Absent if nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<u64>,
    /// How often its repository was pulled. Absent if the registry does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulls: Option<u64>,
    /// The result under other rules or targets. Absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<FleetComparison>,
}

/// The name of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FleetSchema {
    /// The first version.
    #[default]
    #[serde(rename = "imgcheck/fleet/v1")]
    V1,
}

/// What became of an image in a sweep.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FleetStatus {
    /// It has a verdict.
    Judged,
    /// It could not be read or judged.
    #[default]
    Failed,
    /// It was left out on purpose.
    Skipped,
}

/// A finding, without what depends on the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetFinding {
    /// Rule id.
    pub rule: String,
    /// How severe it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The component that it is about: `torch`. Absent if it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
}

/// Whether an image runs on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetTarget {
    /// Name of the target, or its GPUs and driver if it has none.
    pub name: String,
    /// Whether the image runs there.
    pub runs: FleetRuns,
}

/// Whether an image runs on a target.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FleetRuns {
    /// It has code for the GPUs, and the driver is new enough.
    Yes,
    /// It has no code for one of the GPUs, or the driver is too old.
    No,
    /// That could not be judged.
    Unknown,
    /// No program that imgcheck found in the image uses a GPU, so nothing was judged.
    NoGpuCode,
}

/// A layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLayer {
    /// Digest of the uncompressed tar.
    pub diff_id: String,
    /// Digest of the blob as stored. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Bytes of the blob as stored.
    pub size: u64,
}

/// The result under other rules or targets, compared with that of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetComparison {
    /// The result there.
    pub verdict: Verdict,
    /// Findings that exist only there.
    #[serde(default)]
    pub new: Vec<FleetFinding>,
    /// Findings that do not exist there.
    #[serde(default)]
    pub gone: Vec<FleetFinding>,
}

impl FleetRecord {
    /// The record of an image that could not be read or judged.
    pub fn failed(reference: impl Into<String>, source: impl Into<String>, error: &Error) -> Self {
        FleetRecord {
            reference: reference.into(),
            source: source.into(),
            status: FleetStatus::Failed,
            code: Some(error.code().as_str().to_owned()),
            message: Some(error.message()),
            ..FleetRecord::default()
        }
    }

    /// The record of an image that was left out on purpose; `code` is stable across versions, in kebab case.
    pub fn skipped(
        reference: impl Into<String>,
        source: impl Into<String>,
        code: &str,
        message: impl Into<String>,
    ) -> Self {
        FleetRecord {
            reference: reference.into(),
            source: source.into(),
            status: FleetStatus::Skipped,
            code: Some(code.to_owned()),
            message: Some(message.into()),
            ..FleetRecord::default()
        }
    }
}

/// The JSON Schema of a record.
pub fn schema() -> Schema {
    json_schema::of_output::<FleetRecord>("fleet.json")
}
