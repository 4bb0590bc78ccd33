//! The machines that an image must run on.

use serde::{Deserialize, Serialize};

use super::driver_version::DriverVersion;
use super::gpu::Gpu;
use super::gpu_table::GpuTable;
use super::tables::Tables;
use imgcheck_base::spelling::InvalidInput;

/// A machine, or a group of equal ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What the user calls it; empty for one that the command line gives.
    pub name: String,
    /// GPU names or architectures as written: `A100`, `sm_90`.
    pub gpus: Vec<String>,
    /// The driver version as written: `535.183.06`.
    pub driver: Option<String>,
    /// The architecture of its machines, such as `amd64`; empty if that is not known.
    pub architecture: String,
}

impl Target {
    /// Every GPU of a table, whatever the driver.
    pub fn all(known: &GpuTable) -> Self {
        Target {
            gpus: known.capabilities().map(|it| it.sm()).collect(),
            ..Target::default()
        }
    }

    /// Checks that all GPUs are known, the driver version is valid, and one machine can have them together.
    ///
    /// # Errors
    /// The first invalid text, with a suggestion; or what contradicts what.
    pub fn check(&self, tables: &Tables) -> Result<(), InvalidInput> {
        let gpus = self.gpus.iter().map(|gpu| tables.gpus.parse(gpu));
        let gpus = gpus.collect::<Result<Vec<Gpu>, _>>()?;
        let Some(driver) = &self.driver else {
            return Ok(());
        };
        let checked = tables.check_pairs(&gpus, &DriverVersion::parse(driver)?);
        checked.map_err(|mistake| InvalidInput {
            problem: match self.name.as_str() {
                "" => mistake.problem,
                name => format!("target `{name}`: {}", mistake.problem),
            },
            ..mistake
        })
    }
}
