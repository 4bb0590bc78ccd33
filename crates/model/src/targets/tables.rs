//! The tables that judging targets needs.

use super::driver_table::DriverTable;
use super::gpu_table::GpuTable;

/// The tables of GPUs and drivers.
#[derive(Debug)]
pub struct Tables {
    /// GPUs.
    pub gpus: GpuTable,
    /// Driver branches and PTX versions.
    pub drivers: DriverTable,
}
