//! The facts of a Dockerfile or similar file: `lint` in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::faults::{
    IndexFault, NeverBuilt, OtherCuda, PinConflict, Replacement, SettingFault, SourceBuild,
    SystemLibrary, Unpinned,
};
use super::ignores::InlineIgnore;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{Location, Severity};

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

/// Packages that are installed together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// Position, from 0.
    pub index: usize,
    /// Its name, such as `builder`; empty if unnamed.
    pub name: String,
    /// Whether it becomes an image: the last stage, its parents, and stages that no other stage copies from.
    pub shipped: bool,
    /// The base image, also through other stages. Absent for `scratch` and outside of Dockerfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// The releases of Python that a project supports, as in `requires-python`; empty if it does not say.
    pub requires_python: String,
    /// The packages in order of installation, including those of parent stages.
    pub pins: Vec<Pin>,
    /// Variables set by `ENV` in this stage.
    pub env: Vec<Variable>,
    /// Build arguments of this stage with a default, which its commands see as variables.
    pub arguments: Vec<Variable>,
    /// Directories that this stage adds to the configuration of the dynamic loader.
    pub search_directories: Vec<SearchDirectory>,
    /// NVIDIA's package repositories that this stage uses, by the distribution in their address: `ubuntu2204`.
    pub repositories: Vec<SearchDirectory>,
    /// Components that the stage or its parents remove from the default environment; `*` if it is unknown which.
    pub removed: Vec<String>,
    /// Parts of a setup.py whose requirements are computed, so that they are not read.
    pub unread: Vec<SearchDirectory>,
}

/// The base image of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Base {
    /// Position of the stage whose `FROM` names it.
    pub stage: usize,
    /// As written, with variables.
    pub written: String,
    /// The reference; absent if it contains an unknown variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The repository without registry and tag, such as `pytorch/pytorch`; empty without a reference.
    pub repository: String,
    /// The claims of the reference.
    pub claims: Vec<Claim>,
    /// The findings on the reference alone.
    pub findings: Vec<BaseFinding>,
    /// Its location.
    pub location: Location,
}

impl Base {
    /// Whether it is an official image of Python.
    pub fn is_python(&self) -> bool {
        matches!(self.repository.as_str(), "python" | "library/python")
    }
}

/// A finding on a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseFinding {
    /// Rule id.
    pub rule: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(default)]
    pub help: String,
    /// The part of the reference.
    #[serde(default)]
    pub location: Location,
}

/// A required package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// Its name; Python names are normalized as in PEP 503: `nvidia-cudnn-cu12`.
    pub name: String,
    /// The component that it belongs to, such as `torch`; empty if unknown.
    pub component: String,
    /// The package manager: `pip`, `conda`, `apt` or `apk`.
    pub manager: String,
    /// The version specifier as written, such as `>=2.1,<3`; empty without a constraint.
    pub specifier: String,
    /// The pinned version with the components that are fixed, such as `2.8` for `==2.8.*`, without a local label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The local version label, such as `cu118`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<String>,
    /// The CUDA version of the local label, index or conda build, such as `11.8`; also `cpu` or `rocm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// The Python that the file name of a wheel is for, such as `3.10`; absent if others have it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// The index used besides or instead of PyPI; for conda the channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Whether only indexes of PyTorch builds are used, neither PyPI nor a possible mirror.
    pub only_index: bool,
    /// The extras, such as `serve` in `ray[serve]`.
    pub extras: Vec<String>,
    /// Number of the command; packages of one command are installed together.
    pub command: usize,
    /// The Python environment, if it is not the default one: its directory, or the name of a conda environment.
    pub environment: String,
    /// Whether it may not be installed: in an `if`, after `||`, or with a marker that is not true for every Python that can apply.
    pub conditional: bool,
    /// The marker (PEP 508) that decides whether it is installed; absent if it always is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Whether a later command of the stage replaces or removes it.
    pub replaced: bool,
    /// Whether it is only a constraint (`-c constraints.txt`).
    pub constraint: bool,
    /// Whether it is installed without its dependencies (`--no-deps`).
    pub alone: bool,
    /// Whether an earlier command installs a version that meets it, which the package manager keeps.
    pub present: bool,
    /// Whether its build sees the installed packages (`--no-build-isolation`).
    pub no_build_isolation: bool,
    /// What follows without quotes, so that the shell redirects the output or input: `>=2.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected: Option<String>,
    /// As written: `torch==2.8.0+cu118`.
    pub text: String,
    /// Its location.
    pub location: Location,
}

/// An environment variable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; variables without a known value stay as written.
    pub value: String,
    /// Whether a later line of the stage overrides it without keeping its value.
    pub replaced: bool,
    /// The value split at colons, as a search path.
    pub parts: Vec<SearchDirectory>,
    /// Its location.
    pub location: Location,
}

/// A directory in a search path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchDirectory {
    /// The directory.
    pub text: String,
    /// Its location.
    pub location: Location,
}
