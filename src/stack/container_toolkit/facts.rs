//! What the image asks of the container toolkit, as facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{DriverFile, DriverNeed};
use super::requirement::{Constraint, Invalid};

/// What the image asks of the container toolkit, and what it has of the driver itself. The keys are those of rules.
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
    /// The oldest driver branch of the knowledge table that meets them on a GPU whose brand none of them names. Absent if none does,
    /// or if none of them is about CUDA or the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<OldestDriver>,
    /// They contradict themselves or each other: no host can meet them, whatever its driver.
    pub contradictory: bool,
    /// Only a driver newer than all of the knowledge table could meet them.
    pub newer_than_known: bool,
    /// What is mounted of the driver.
    pub capabilities: Capabilities,
    /// Which GPUs the container gets where nothing but the image says so.
    pub devices: Devices,
    /// Files of a driver that the image has itself, and what is left of them.
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
    /// Parts that cannot be understood.
    pub invalid: Vec<Invalid>,
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
    /// Whether the `nvidia` runtime gives the container GPUs where the engine does not say which (`--gpus`).
    pub visible: bool,
}
