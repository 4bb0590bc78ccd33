//! The tables of driver branches and PTX versions.

use serde::Deserialize;

use crate::stack::container_toolkit::{Branch, DriversFile};
use imgcheck_base::version::is_since;

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

    /// Whether every driver whose newest CUDA release is this one is at least this version; false if there is none.
    pub fn all_are_since(&self, cuda: &str, driver: &str) -> bool {
        let rows = self.branches.iter().filter(|row| row.max_cuda == cuda);
        let mut are_since = rows
            .map(|row| is_since(&row.first_driver, driver))
            .peekable();
        are_since.peek().is_some() && are_since.all(|it| it)
    }

    /// The oldest GPU generation that a driver branch supports; `None` if nobody has established it. A branch that is not in the table
    /// supports what the next older one does: a generation that was dropped does not come back.
    pub(super) fn oldest_architecture(&self, branch: u32) -> Option<&str> {
        let rows = self.known_architectures();
        let older = rows.filter(|(row, _)| *row <= branch);
        older.max_by_key(|(row, _)| *row).map(|(_, oldest)| oldest)
    }

    /// The newest branch whose oldest GPU generation meets a condition.
    pub(super) fn last_branch(&self, meets: impl Fn(&str) -> bool) -> Option<u32> {
        let rows = self.known_architectures();
        rows.filter(|(_, oldest)| meets(oldest))
            .map(|(row, _)| row)
            .max()
    }

    /// The branches whose oldest GPU generation is known.
    fn known_architectures(&self) -> impl Iterator<Item = (u32, &str)> {
        self.branches.iter().filter_map(|row| {
            let oldest = row.oldest_architecture.as_str();
            (oldest != "unknown").then_some((row.branch.parse().ok()?, oldest))
        })
    }

    /// The CUDA release whose driver is the first to compile a PTX ISA version.
    pub(super) fn cuda_of_isa(&self, isa: &str) -> Option<&str> {
        let row = self.ptx_isa.iter().find(|row| row.isa == isa);
        row.map(|row| row.cuda.as_str())
    }
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
