//! What the image requests from the container toolkit, as facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{DriverFile, DriverNeed};
use super::requirement::{Constraint, Invalid, Requirement};

/// What the image requests from the container toolkit, and its own driver files. The keys are those of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContainerToolkit {
    /// CUDA_VERSION is set and NVIDIA_REQUIRE_CUDA is not, as in images of 2017: the container then gets all GPUs, all capabilities,
    /// and the requirement `cuda>=` that version.
    pub legacy: bool,
    /// NVIDIA_DISABLE_REQUIRE is true: no requirement counts.
    pub requirements_disabled: bool,
    /// All of them must be met.
    pub requirements: Vec<RequirementFacts>,
    /// The oldest driver branch of the knowledge table that meets them on a GPU whose brand they do not name. Absent if no branch
    /// does, or if no requirement is about CUDA or the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<OldestDriver>,
    /// The requirements contradict themselves or each other: no host can meet them, whatever its driver.
    pub contradictory: bool,
    /// Only a driver newer than the knowledge table could meet them.
    pub newer_than_known: bool,
    /// The mounted parts of the driver.
    pub capabilities: Capabilities,
    /// Which GPUs the container gets if only the image requests them.
    pub devices: Devices,
    /// Driver files in the image.
    pub driver_files: Vec<DriverFile>,
    /// Files of the image that need a library of the driver by DT_NEEDED.
    pub needs: Vec<DriverNeed>,
}

/// One variable NVIDIA_REQUIRE_*.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequirementFacts {
    /// Its name; CUDA_VERSION in a legacy image.
    pub variable: String,
    /// Its value.
    pub text: String,
    /// One of them must hold.
    pub alternatives: Vec<AlternativeFacts>,
    /// Invalid parts.
    pub invalid: Vec<Invalid>,
}

impl RequirementFacts {
    /// The requirement that it is about. One with an invalid part is met by no host, and is no requirement.
    pub(super) fn requirement(&self) -> Requirement {
        let constraints = |it: &AlternativeFacts| it.constraints.clone();
        match self.invalid.is_empty() {
            true => Requirement::of(self.alternatives.iter().map(constraints)),
            false => Requirement::default(),
        }
    }
}

/// One alternative of a requirement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlternativeFacts {
    /// All of them must hold.
    pub constraints: Vec<Constraint>,
}

/// A driver branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OldestDriver {
    /// Its number: `570`.
    pub branch: String,
    /// The newest CUDA that it has: `12.8`.
    pub cuda: String,
    /// Its first release: `570.26`.
    pub driver: String,
}

/// NVIDIA_DRIVER_CAPABILITIES.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// The variable, absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the container gets: the words of the variable, the default ones, or all.
    pub enabled: Vec<String>,
    /// Unknown capabilities. The container does not start.
    pub unknown: Vec<String>,
}

/// NVIDIA_VISIBLE_DEVICES.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Devices {
    /// The variable, absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the `nvidia` runtime gives the container GPUs without `--gpus`.
    pub visible: bool,
}
