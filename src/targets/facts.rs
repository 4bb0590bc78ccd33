//! What a target means for an image: `targets` of the report and of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gpu::Segment;

/// One target, judged for one image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetFacts {
    /// What the user calls it; empty for one that the command line gives.
    pub name: String,
    /// Its GPUs.
    pub gpus: Vec<GpuFacts>,
    /// Its driver; absent if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFacts>,
}

/// One GPU of a target, and the code that the image has for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuFacts {
    /// The name of its target.
    pub target: String,
    /// The model, or `sm_90` where only the architecture is given.
    pub name: String,
    /// The architecture: `sm_90`.
    pub sm: String,
    /// The compute capability: `9.0`.
    pub capability: String,
    /// What it is sold for.
    pub segment: Segment,
    /// PyTorch's own kernels, of the copy that the process gets: what all of them have. Absent without PyTorch, and for a build
    /// without CUDA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<Support>,
    /// The other packages of the image's process that have GPU code: the best that any of their libraries has. Libraries of
    /// CUDA itself are not among them.
    pub packages: Vec<PackageCode>,
    /// Every library with GPU code that the image's process maps.
    pub libraries: Vec<LibraryCode>,
}

/// What code there is for a GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Support {
    /// The kind of code.
    pub how: CodeKind,
    /// The architecture that it is for: `sm_80`, `compute_90`; empty if there is none.
    pub by: String,
    /// Whether every part of it (each fat-binary container) has code of that architecture. Libraries have parts for certain GPUs alone.
    pub whole: bool,
    /// Of PTX, the version of its instruction set: `8.7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa: Option<String>,
    /// Of PTX, the CUDA whose driver is the first that can compile it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_cuda: Option<String>,
    /// Of PTX, whether the driver of the target can compile it; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiles: Option<bool>,
}

/// The kind of code that a GPU gets.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CodeKind {
    /// No code: `no kernel image is available for execution on the device`.
    None,
    /// Not known: the evidence is not whole, or nobody established what the GPU runs.
    #[default]
    Unknown,
    /// PTX, which the driver compiles at the first start.
    Ptx,
    /// Machine code.
    Sass,
}

/// The GPU code of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PackageCode {
    /// The package: its directory, or its name where it is a single file; of a program the executable.
    pub name: String,
    /// The first of its libraries with GPU code.
    pub path: String,
    /// The oldest compute capability that any of its code is for: `8.0`. It was never meant for older GPUs.
    pub from: String,
    /// All its machine code is for single chips (`sm_90a`): it is meant for these alone.
    pub specific: bool,
    /// What it has.
    #[serde(flatten)]
    pub support: Support,
}

/// The GPU code of one library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LibraryCode {
    /// The file.
    pub path: String,
    /// Which library it is, by its exports: `cudnn`, `torch-cuda`; empty if no recipe knows it.
    pub library: String,
    /// The package that it belongs to: as [`PackageCode::name`].
    pub package: String,
    /// What it has.
    #[serde(flatten)]
    pub support: Support,
}

/// The driver of a target, and whether the image runs with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriverFacts {
    /// The name of its target.
    pub target: String,
    /// Its version.
    pub version: String,
    /// The newest CUDA that it has itself; absent for a branch that is not in the table, and where a GPU is a Jetson.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// `native`, `minor-version`, `compat-package`, `none` or `unknown`.
    pub how: String,
    /// Why it is `unknown` or `none`, or what `compat-package` rests on, in words; else empty.
    pub reason: String,
    /// The CUDA that the image needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_cuda: Option<String>,
    /// The driver from which on everything works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// The oldest driver of minor-version compatibility.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatible: Option<String>,
    /// Whether it compiles the PTX of that CUDA; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiles_ptx: Option<bool>,
    /// Version of the driver library of the image's cuda-compat package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<String>,
}
