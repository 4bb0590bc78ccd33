//! The tables `rules/knowledge/capabilities.yaml` and `drivers.yaml`.

use serde::Deserialize;

use crate::embedded;
use crate::error::Result;

/// What each capability brings, and which CUDA each driver branch has.
#[derive(Debug, Clone, Default)]
pub struct ToolkitKnowledge {
    pub(super) default: Vec<String>,
    pub(super) capabilities: Vec<Capability>,
    pub(super) branches: Vec<Branch>,
}

/// A word of NVIDIA_DRIVER_CAPABILITIES.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capability {
    pub(super) name: String,
    /// Without their versions: `libcuda.so`.
    pub(super) libraries: Vec<String>,
    pub(super) programs: Vec<String>,
    #[serde(rename = "shared")]
    _shared: Vec<String>,
}

/// A driver branch.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Branch {
    pub(super) branch: String,
    pub(super) max_cuda: String,
    pub(super) first_driver: String,
}

impl ToolkitKnowledge {
    /// The built-in tables.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Words {
            default: Vec<String>,
            capabilities: Vec<Capability>,
        }
        #[derive(Deserialize)]
        struct Drivers {
            branches: Vec<Branch>,
        }
        let words: Words = embedded::knowledge("capabilities")?;
        let drivers: Drivers = embedded::knowledge("drivers")?;
        Ok(ToolkitKnowledge {
            default: words.default,
            capabilities: words.capabilities,
            branches: drivers.branches,
        })
    }

    /// The capability that brings a library, by the library's name without its version: `libcuda.so`.
    pub(super) fn of_library(&self, stem: &str) -> Option<&str> {
        self.brought_by(|capability| &capability.libraries, stem)
    }

    /// The capability that brings a program.
    pub(super) fn of_program(&self, name: &str) -> Option<&str> {
        self.brought_by(|capability| &capability.programs, name)
    }

    fn brought_by(&self, list: fn(&Capability) -> &Vec<String>, name: &str) -> Option<&str> {
        let mut capabilities = self.capabilities.iter();
        let found = capabilities.find(|capability| list(capability).iter().any(|it| it == name));
        found.map(|capability| capability.name.as_str())
    }
}
