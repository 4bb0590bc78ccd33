//! Components of a stack, and the evidence for their versions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_base::lexical::directory_of;

/// An installed Python distribution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Name, normalized as in PEP 503: `nvidia-cudnn-cu12`.
    pub name: String,
    /// Version as written.
    pub version: String,
    /// `Requires-Dist`, as written (PEP 508).
    pub requires: Vec<String>,
    /// The installation directory: `…/site-packages`.
    pub site: String,
    /// Its metadata file.
    pub path: String,
    /// Index of the layer that contains it.
    pub layer: Option<usize>,
}

impl Distribution {
    /// Path of its RECORD, beside the metadata.
    pub(crate) fn record(&self) -> String {
        format!("{}/RECORD", directory_of(&self.path))
    }
}

/// GPU architectures that code was compiled for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Machine code: `sm_90a`.
    pub sass: Vec<String>,
    /// PTX: `compute_90`.
    pub ptx: Vec<String>,
}

/// One copy of one component. The keys are those of the JSON report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Component {
    /// A name of the fixed list: `torch`, `cuda-runtime`, `cudnn`, `python`, `os` …
    pub name: String,
    /// The version that the strongest evidence gives; empty if nothing tells it.
    pub version: String,
    /// The file or directory that stands for it.
    pub path: String,
    /// Index of the layer that put it there.
    pub layer: Option<usize>,
    /// Whether the process of this image gets this copy: it maps it, or would find it first if it asked. What it does not map counts if
    /// another process of the image maps it.
    pub loaded: bool,
    /// Further facts of this copy by name, such as `cuda`, `compiled-cudnn` and `build` of torch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// All that says something of its version, strongest first.
    pub evidence: Vec<Evidence>,
}

/// One piece of evidence for a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// How it was read.
    pub kind: EvidenceKind,
    /// The version or fact it gives.
    pub value: String,
    /// The file it was read from.
    pub path: String,
    /// Where in the file, or how.
    pub detail: String,
}

/// How evidence was read, strongest first: where evidence disagrees, the smaller one wins.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// A constant in machine code or data.
    Code,
    /// A string in a binary.
    String,
    /// The build id of a known file.
    BuildId,
    /// `METADATA` of a dist-info directory, or a Python file of the package.
    PythonMetadata,
    /// Debian's package database.
    Dpkg,
    /// Alpine's package database.
    Apk,
    /// The RPM database.
    Rpm,
    /// `conda-meta`.
    Conda,
    /// A C header or a version file of the toolkit.
    HeaderFile,
    /// DT_SONAME.
    Soname,
    /// The name of the file.
    FileName,
    /// An environment variable of the image.
    Env,
    /// A label of the image.
    Label,
}
