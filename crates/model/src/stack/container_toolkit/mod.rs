//! What the image requests from NVIDIA's container toolkit, which gives a container the host's GPUs and driver files as the
//! environment variables of the image ask for.
//!
//! Source of the behavior: libnvidia-container (`nvidia-container-cli`), the toolkit's `internal/config/image`, and
//! <https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html>.

mod facts;
mod files;
mod knowledge;
mod requirement;
mod satisfiable;
mod variables;

use std::collections::BTreeMap;

pub use facts::{
    AlternativeFacts, Capabilities, ContainerToolkit, Devices, OldestDriver, RequirementFacts,
};
pub use files::{DriverFile, DriverNeed, FileState};
pub use knowledge::ToolkitKnowledge;
pub(crate) use knowledge::{Branch, DriversFile};
pub use requirement::{Constraint, Host, Invalid, Operator, Property, Requirement, Verdict};

use super::inventory::Inventory;
use super::python::Environment;

/// Every image of Apptainer and Singularity has it.
const APPTAINER: &str = ".singularity.d/env";

impl ContainerToolkit {
    /// What the environment of an image requests.
    pub fn of_environment(
        environment: &BTreeMap<String, String>,
        knowledge: &ToolkitKnowledge,
    ) -> Self {
        variables::read(environment, knowledge)
    }

    /// The layer of a file that these facts name.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let files = self.driver_files.iter().map(|it| (&it.path, it.layer));
        let needs = self.needs.iter().map(|it| (&it.path, it.layer));
        files.chain(needs).find(|(known, _)| *known == path)?.1
    }

    /// What the environment requests, and the driver files in the image.
    pub(super) fn of_image(
        inventory: &Inventory,
        environments: &[Environment],
        variables: &BTreeMap<String, String>,
        knowledge: &ToolkitKnowledge,
    ) -> Self {
        let toolkit = match inventory.root.entry(APPTAINER) {
            Some(_) => variables::without_toolkit(knowledge),
            None => ContainerToolkit::of_environment(variables, knowledge),
        };
        ContainerToolkit {
            driver_files: files::of_driver(inventory, knowledge),
            needs: files::needs(inventory, environments, knowledge),
            ..toolkit
        }
    }
}
