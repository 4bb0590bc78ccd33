//! What was seen in an image and could not be judged.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that may change what an image runs or loads, and that imgcheck did not judge. The keys are those of the JSON report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Which kind of gap this is.
    pub code: GapCode,
    /// What could not be judged, and why, in one sentence.
    pub message: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// Index of the layer that put the file there.
    pub layer: Option<usize>,
}

/// The kinds of gaps. The names are stable: configurations acknowledge gaps by them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GapCode {
    /// No modeled process loads this GPU framework.
    FrameworkNotReached,
    /// A command or script does something before the program starts that imgcheck does not understand.
    LaunchNotUnderstood,
    /// Python runs code at its start that changes where modules are imported from.
    PythonStartup,
    /// The program's dynamic loader is one that imgcheck does not model.
    LoaderNotModeled,
    /// More programs use the GPU than are modeled.
    ProgramsLeftOut,
    /// A layer was read by its table of contents, which cannot be compared with the tar archive that a container engine unpacks.
    LazyLayer,
    /// A volume, Secret or ConfigMap of a workload replaces something that decides what is loaded, and is not in the manifest.
    OverlayUnknown,
    /// Something in a manifest or script looks like a container image or a GPU request, and belongs to no container that imgcheck understands.
    WorkloadNotUnderstood,
    /// An SBOM beside the image could not be read, so it was not compared with what the image contains.
    SbomUnread,
}

impl GapCode {
    /// All codes.
    pub const ALL: [GapCode; 9] = [
        GapCode::FrameworkNotReached,
        GapCode::LaunchNotUnderstood,
        GapCode::PythonStartup,
        GapCode::LoaderNotModeled,
        GapCode::ProgramsLeftOut,
        GapCode::LazyLayer,
        GapCode::OverlayUnknown,
        GapCode::WorkloadNotUnderstood,
        GapCode::SbomUnread,
    ];

    /// The code in kebab case, as in the JSON report.
    pub fn as_str(self) -> &'static str {
        match self {
            GapCode::FrameworkNotReached => "framework-not-reached",
            GapCode::LaunchNotUnderstood => "launch-not-understood",
            GapCode::PythonStartup => "python-startup",
            GapCode::LoaderNotModeled => "loader-not-modeled",
            GapCode::ProgramsLeftOut => "programs-left-out",
            GapCode::LazyLayer => "lazy-layer",
            GapCode::OverlayUnknown => "overlay-unknown",
            GapCode::WorkloadNotUnderstood => "workload-not-understood",
            GapCode::SbomUnread => "sbom-unread",
        }
    }

    /// Whether an image with such a gap has not passed, even if the check is not strict: nothing is known about what matters most.
    pub fn prevents_pass(self) -> bool {
        self == GapCode::FrameworkNotReached
    }
}

impl fmt::Display for GapCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_serialized_in_kebab_case() {
        for code in GapCode::ALL {
            let text = serde_json::to_value(code).ok();
            assert_eq!(text, Some(code.as_str().into()));
        }
    }
}
