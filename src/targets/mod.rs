//! The machines that an image must run on: their GPUs and drivers, and what each means for an image.

mod code;
mod driver;
mod facts;
mod gpu;
mod judge;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::spelling::InvalidInput;

pub use code::support_of;
pub use driver::DriverVersion;
pub use facts::{CodeKind, DriverFacts, GpuFacts, LibraryCode, PackageCode, Support, TargetFacts};
pub use gpu::{Capability, Gpu, Segment};
pub use judge::{TargetInput, judge};

/// A machine, or a group of equal ones, as the user names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What the user calls it; empty for one that the command line gives.
    pub name: String,
    /// GPU names or architectures as written: `A100`, `sm_90`.
    pub gpus: Vec<String>,
    /// The driver's version as written: `535.183.06`.
    pub driver: Option<String>,
}

impl Target {
    /// Whether every GPU is known and the driver's version is one.
    ///
    /// # Errors
    /// The first text that is not; with what was probably meant.
    pub fn check(&self) -> Result<(), InvalidInput> {
        self.gpus
            .iter()
            .try_for_each(|gpu| Gpu::parse(gpu).map(drop))?;
        let driver = self.driver.as_deref().map(DriverVersion::parse);
        driver.transpose().map(drop)
    }
}
