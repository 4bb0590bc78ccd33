//! The tables `rules/knowledge/capabilities.yaml` and `drivers.yaml`.

use serde::Deserialize;

/// What each capability mounts, and which CUDA release each driver branch supports.
#[derive(Debug, Clone, Default)]
pub struct ToolkitKnowledge {
    pub(super) default: Vec<String>,
    pub(super) capabilities: Vec<Capability>,
    pub(super) branches: Vec<Branch>,
}

/// The file `capabilities.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilitiesFile {
    default: Vec<String>,
    capabilities: Vec<Capability>,
}

/// What is read of the file `drivers.yaml`.
#[derive(Debug, Deserialize)]
pub struct DriversFile {
    pub(crate) branches: Vec<Branch>,
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
pub(crate) struct Branch {
    pub(crate) branch: String,
    pub(crate) max_cuda: String,
    pub(crate) first_driver: String,
    pub(crate) oldest_architecture: String,
}

impl ToolkitKnowledge {
    /// The knowledge in the tables.
    pub fn new(words: CapabilitiesFile, drivers: DriversFile) -> Self {
        ToolkitKnowledge {
            default: words.default,
            capabilities: words.capabilities,
            branches: drivers.branches,
        }
    }

    /// The capability that mounts a library, by the library's name without its version: `libcuda.so`.
    pub(super) fn of_library(&self, stem: &str) -> Option<&str> {
        self.mounted_by(|capability| &capability.libraries, stem)
    }

    /// The capability that mounts a program.
    pub(super) fn of_program(&self, name: &str) -> Option<&str> {
        self.mounted_by(|capability| &capability.programs, name)
    }

    fn mounted_by(&self, list: fn(&Capability) -> &Vec<String>, name: &str) -> Option<&str> {
        let mut capabilities = self.capabilities.iter();
        let found = capabilities.find(|capability| list(capability).iter().any(|it| it == name));
        found.map(|capability| capability.name.as_str())
    }
}
