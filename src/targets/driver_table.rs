//! The tables of driver branches and PTX versions.

use serde::Deserialize;

/// Driver branches and PTX ISA versions, each with its CUDA release: parts of `rules/knowledge/drivers.yaml` and `cuda.yaml`.
#[derive(Debug)]
pub struct DriverTable {
    branches: Vec<Branch>,
    ptx_isa: Vec<PtxIsa>,
}

impl DriverTable {
    /// What the files say.
    pub fn new(drivers: DriversFile, cuda: CudaFile) -> Self {
        DriverTable {
            branches: drivers.branches,
            ptx_isa: cuda.ptx_isa,
        }
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

/// What is read of `drivers.yaml`.
#[derive(Debug, Deserialize)]
pub struct DriversFile {
    branches: Vec<Branch>,
}

#[derive(Debug, Deserialize)]
struct Branch {
    branch: String,
    max_cuda: String,
}

/// What is read of `cuda.yaml`.
#[derive(Debug, Deserialize)]
pub struct CudaFile {
    ptx_isa: Vec<PtxIsa>,
}

#[derive(Debug, Deserialize)]
struct PtxIsa {
    isa: String,
    cuda: String,
}
