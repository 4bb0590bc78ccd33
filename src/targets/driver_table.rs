//! The tables of driver branches and PTX versions.

use serde::Deserialize;

use crate::embedded;
use crate::error::Result;

/// Driver branches and PTX ISA versions, each with its CUDA release: parts of `rules/knowledge/drivers.yaml` and `cuda.yaml`.
#[derive(Debug)]
pub struct DriverTable {
    branches: Vec<Branch>,
    ptx_isa: Vec<PtxIsa>,
}

impl DriverTable {
    /// The built-in table.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        let drivers: Drivers = embedded::knowledge("drivers")?;
        let cuda: Cuda = embedded::knowledge("cuda")?;
        Ok(DriverTable {
            branches: drivers.branches,
            ptx_isa: cuda.ptx_isa,
        })
    }

    /// The newest CUDA release that a driver branch supports; `None` if the branch is unknown.
    pub(super) fn newest_cuda(&self, branch: u32) -> Option<&str> {
        let branch = branch.to_string();
        let row = self.branches.iter().find(|row| row.branch == branch);
        row.map(|row| row.max_cuda.as_str())
    }

    /// The CUDA release whose driver is the first to compile a PTX ISA version.
    pub(super) fn cuda_of_isa(&self, isa: &str) -> Option<&str> {
        let row = self.ptx_isa.iter().find(|row| row.isa == isa);
        row.map(|row| row.cuda.as_str())
    }
}

#[derive(Deserialize)]
struct Drivers {
    branches: Vec<Branch>,
}

#[derive(Debug, Deserialize)]
struct Branch {
    branch: String,
    max_cuda: String,
}

#[derive(Deserialize)]
struct Cuda {
    ptx_isa: Vec<PtxIsa>,
}

#[derive(Debug, Deserialize)]
struct PtxIsa {
    isa: String,
    cuda: String,
}
