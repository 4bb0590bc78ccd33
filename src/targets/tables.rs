//! The tables that judging targets needs.

use super::driver_table::DriverTable;
use super::gpu_table::GpuTable;
use crate::error::Result;

/// The tables of GPUs and drivers.
#[derive(Debug)]
pub struct Tables {
    /// GPUs.
    pub gpus: GpuTable,
    /// Driver branches and PTX versions.
    pub drivers: DriverTable,
}

impl Tables {
    /// The built-in tables.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        Ok(Tables {
            gpus: GpuTable::builtin()?,
            drivers: DriverTable::builtin()?,
        })
    }
}
