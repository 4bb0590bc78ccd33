//! The machines that an image must run on: their GPUs and drivers.

use serde::{Deserialize, Serialize};

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
