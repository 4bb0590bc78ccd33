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

    /// The requirements that a host certainly does not meet, each with its first alternative: `NVIDIA_REQUIRE_CUDA=cuda>=12.8`. Without CDI, the
    /// toolkit then refuses to start the container.
    pub fn unmet(&self, host: &Host) -> Vec<String> {
        let is_off =
            self.requirements_disabled || matches!(self.devices.text.as_deref(), Some("" | "void"));
        let requirements = self.requirements.iter().filter(|_| !is_off);
        let unmet = requirements.filter(|it| it.requirement().judge(host) == Verdict::Unmet);
        unmet
            .map(|it| {
                let first = it.text.split_whitespace().next().unwrap_or_default();
                let more = if first == it.text { "" } else { " …" };
                format!("{}={first}{more}", it.variable)
            })
            .collect()
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
