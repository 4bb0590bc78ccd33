//! What a target means for an image: `targets` in the report and in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gpu::Segment;

/// A target, judged for one image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetFacts {
    /// Its name; empty for a target from the command line.
    pub name: String,
    /// Its GPUs.
    pub gpus: Vec<GpuFacts>,
    /// Its driver; absent if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFacts>,
    /// The architecture of its machines, such as `amd64`; absent if not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
}

/// A GPU of a target, and the image's code for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuFacts {
    /// Name of the target.
    pub target: String,
    /// The model, or `sm_90` if only the architecture is given.
    pub name: String,
    /// The architecture: `sm_90`.
    pub sm: String,
    /// The compute capability: `9.0`.
    pub capability: String,
    /// The market segment.
    pub segment: Segment,
    /// Only machines with ARM processors have it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub arm64_only: bool,
    /// No table has the compute capability: it is newer than the tables, or no GPU has it. NVIDIA's general rules of compatibility judged
    /// the code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// Code that all PyTorch kernels of the loaded copy have. Absent without PyTorch, or for a build without CUDA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<Support>,
    /// Other packages with GPU code in the main process, each with the best that any of its libraries has. CUDA's own libraries
    /// are excluded.
    pub packages: Vec<PackageCode>,
    /// Every library with GPU code that the main process maps.
    pub libraries: Vec<LibraryCode>,
}

/// The code for a GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Support {
    /// The kind of code.
    pub how: CodeKind,
    /// Its architecture: `sm_80`, `compute_90`; empty without code.
    pub by: String,
    /// Whether every fat-binary container has code for that architecture. Some libraries have containers for certain GPUs only.
    pub whole: bool,
    /// For PTX, the version of its instruction set: `8.7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa: Option<String>,
    /// For PTX, the CUDA release whose driver is the first to compile it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_cuda: Option<String>,
    /// For PTX, whether the driver of the target compiles it; absent if unknown.
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
    /// Unknown: the evidence is incomplete, or nobody has verified what the GPU runs.
    #[default]
    Unknown,
    /// PTX, which the driver compiles at first start.
    Ptx,
    /// Machine code.
    Sass,
}

/// The GPU code of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PackageCode {
    /// The package: its directory, or its name if it is a single file; for a program the executable.
    pub name: String,
    /// Its first library with GPU code.
    pub path: String,
    /// The oldest compute capability that its code supports, such as `8.0`; it is not meant for older GPUs.
    pub from: String,
    /// All machine code is for single chips (`sm_90a`), so it is meant for these only.
    pub specific: bool,
    /// No table says that the process imports it; it is only installed where Python searches.
    pub only_installed: bool,
    /// Its code for the GPU.
    #[serde(flatten)]
    pub support: Support,
}

/// The GPU code of one library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LibraryCode {
    /// The file.
    pub path: String,
    /// The library, by its exports: `cudnn`, `torch-cuda`; empty if unknown.
    pub library: String,
    /// The package that it belongs to, as [`PackageCode::name`].
    pub package: String,
    /// Its code for the GPU.
    #[serde(flatten)]
    pub support: Support,
}

/// The driver of a target, and whether the image runs with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriverFacts {
    /// Name of the target.
    pub target: String,
    /// Its version.
    pub version: String,
    /// The newest CUDA that it supports; absent for an unknown branch, and for Jetson.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// `native`, `minor-version`, `compat-package`, `none` or `unknown`.
    pub how: String,
    /// Why it is `unknown` or `none`, or the package of `compat-package`; otherwise empty.
    pub reason: String,
    /// The CUDA release that the image needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_cuda: Option<String>,
    /// The first driver with native support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// The oldest driver with minor-version compatibility.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatible: Option<String>,
    /// Whether it compiles PTX of that CUDA release; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiles_ptx: Option<bool>,
    /// Driver version of the image's cuda-compat package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<String>,
    /// The requirements of the image that it does not meet, each with its first alternative: `NVIDIA_REQUIRE_CUDA=cuda>=12.8`. Without CDI, the
    /// container toolkit then refuses to start the container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}
