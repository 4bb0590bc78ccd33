//! The facts of a Dockerfile or similar file: `lint` in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Stage;
use super::faults::{
    IndexFault, NeverBuilt, OtherCuda, PinConflict, Replacement, SettingFault, SourceBuild,
    SystemLibrary, Unpinned,
};
use super::ignores::InlineIgnore;

/// The facts of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sources {
    /// The file as the user named it.
    pub file: String,
    /// `dockerfile`, `requirements`, `environment`, `pyproject`, `lock`, `compose`, `bake`, `pixi` or `setup`.
    pub kind: String,
    /// The stages of a Dockerfile; of the builds of a Compose or bake file; for a pyproject.toml or pixi.toml its
    /// dependencies, and each group or feature together with them; the environments of a pixi.lock; otherwise one.
    pub stages: Vec<Stage>,
    /// Packages of one environment that cannot be installed together, or do not work together, by the tables of PyTorch's releases and of what
    /// its partners require.
    pub pin_conflicts: Vec<PinConflict>,
    /// Packages whose installation replaces the PyTorch that the base image or an earlier command has.
    pub replacements: Vec<Replacement>,
    /// PyTorch for a CUDA or a Python that no build exists for.
    pub never_built: Vec<NeverBuilt>,
    /// PyTorch that is installed for a different CUDA than intended.
    pub other_cudas: Vec<OtherCuda>,
    /// Packages that need another major of CUDA or cuDNN than the image has.
    pub system_libraries: Vec<SystemLibrary>,
    /// Builds that the index of a command does not have, or chooses by what the builder has.
    pub index_faults: Vec<IndexFault>,
    /// Packages that pip compiles, and whose build lacks PyTorch or nvcc.
    pub source_builds: Vec<SourceBuild>,
    /// PyTorch without a version, where neither an index nor another package decides which one is installed.
    pub unpinned: Vec<Unpinned>,
    /// Variables of the image with which a package fails, in every release that it may be.
    pub settings: Vec<SettingFault>,
    /// The files that were read, itself first. Not a fact for rules.
    #[serde(skip)]
    pub read: Vec<String>,
    /// The comments in these files that ignore findings, or look like it. Known once all other rules are evaluated.
    pub ignores: Vec<InlineIgnore>,
}
