//! The facts of a Dockerfile or similar file: `lint` in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ignores::InlineIgnore;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{Location, Severity};
use imgcheck_model::settings::Fault;

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

/// Two packages that contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinConflict {
    /// What contradicts: `partner` (built for a different PyTorch than the same command requests), `successor` (than another command installs), `newest`
    /// (its newest release, which pip installs, is),
    /// `guest` (than the base image has), `mixed` (for a different CUDA than PyTorch), `library` or `required` (PyTorch requires a different
    /// version), `exchanged` (a later command replaces what PyTorch requires), `files` (overwrites files that PyTorch requires), `label`, `abi` or
    /// `major` (a wheel for a different PyTorch, C++ ABI or CUDA major), `wheels` (they require different versions of one NVIDIA package), `twice` (two versions of one package).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if an installation or an import fails.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// What it contradicts: PyTorch, a package that requires it, or the other version. The PyTorch of a base image has the manager `base`.
    pub other: Pin,
    /// What one of them is built for, and the other is not: releases of PyTorch, a CUDA or a C++ ABI; empty if that is not the reason.
    pub built_for: String,
    /// What would fit in place of the package: versions, a CUDA major, or a C++ ABI (`TRUE`, `FALSE`).
    pub fitting: Vec<String>,
    /// The source of the table that says so; empty if the pins say it themselves.
    #[serde(default)]
    pub source: String,
    /// The location of the package.
    pub location: Location,
}

impl PinConflict {
    /// A conflict of this kind, of which nothing more is known.
    pub fn new(kind: &str, severity: Severity, pin: &Pin, other: &Pin) -> Self {
        PinConflict {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            other: other.clone(),
            built_for: String::new(),
            fitting: Vec::new(),
            source: String::new(),
            location: pin.location.clone(),
        }
    }
}

/// A package whose installation replaces an installed PyTorch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Replacement {
    /// Why: `base` (a different release or CUDA than the base image has), `own` (the base image has a build of its publisher), `foreign` (the
    /// package requires one of PyPI there), `replaced` (an earlier command installs a different one), `newest` (the newest release of the package
    /// requires a newer one).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// What it replaces; the package itself if that is the PyTorch of the base image.
    pub other: Pin,
    /// The PyTorch of the base image that is replaced, such as `2.8.0 for CUDA 12.8`; empty if its version does not matter.
    pub installed: String,
    /// What would replace nothing: a PyTorch for the base image, or releases of the package for the installed PyTorch.
    pub fitting: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

impl Replacement {
    /// A replacement of this kind, of which nothing more is known.
    pub fn new(kind: &str, pin: &Pin, other: &Pin) -> Self {
        Replacement {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            pin: pin.clone(),
            other: other.clone(),
            location: pin.location.clone(),
            ..Replacement::default()
        }
    }
}

/// A package that is requested for something that no build exists for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeverBuilt {
    /// What no build is for: `variant` (the CUDA) or `python`; or `wheel`, a file for another Python.
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if nothing else can be installed in its place.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// The CUDA or Python.
    pub requested: String,
    /// What builds are for: CUDA versions, or ranges of Python.
    pub built_for: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

impl NeverBuilt {
    /// What a package is requested for, and what is built.
    pub fn new(
        kind: &str,
        severity: Severity,
        pin: &Pin,
        requested: &str,
        built_for: Vec<String>,
    ) -> Self {
        NeverBuilt {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            requested: requested.to_owned(),
            built_for,
            location: pin.location.clone(),
        }
    }
}

/// A PyTorch that is installed for a different CUDA than intended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OtherCuda {
    /// Why: `pypi` (the build on PyPI is for a different CUDA major than the base image), `extra` (pip takes the newest release of all indexes, and
    /// the additional one has only older ones), `cpu` (a build for CPUs on a base image with CUDA), `path` (an address below PyTorch's that is no
    /// index).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The CUDA that is intended: that of the base image or of the index; empty for `path`.
    pub intended: String,
    /// The CUDA versions that the build on PyPI is for.
    pub built_for: Vec<String>,
    /// For `extra`, the release that is installed.
    pub release: String,
    /// The releases with a build for the intended CUDA, newest first.
    pub builds: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// A library of another major than a package needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SystemLibrary {
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The library: `cuda` or `cudnn`.
    pub library: String,
    /// The major that the package needs.
    pub needed: String,
    /// The majors that there are, or may be.
    pub found: Vec<String>,
    /// What has them: the base image or another package, as written.
    pub origin: String,
    /// What the user sees.
    pub shown: String,
    /// The releases of the package that fit, newest first: the last of each range of the table.
    pub fitting: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// A build that an index does not have, or that it chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexFault {
    /// Why: `label` (PyPI has no versions with a label), `other` (the index has builds for another CUDA), `nightly` (the index no longer has this
    /// build), `builder` (uv chooses the build by the driver of the machine that builds the image).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if the installation fails.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// The location of the package.
    pub location: Location,
}

impl IndexFault {
    /// A fault of a package.
    pub fn new(kind: &str, severity: Severity, pin: &Pin) -> Self {
        IndexFault {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            location: pin.location.clone(),
        }
    }
}

/// A PyTorch without a version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unpinned {
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The CUDA of a base image that has CUDA alone; empty for other images, or if its tag names none.
    pub cuda: String,
    /// The releases that could be pinned, newest first: with a build for that CUDA, if there is one.
    pub builds: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// An environment variable with which a package fails.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingFault {
    /// What fails, and why.
    pub fault: Fault,
    /// Where the variable is set.
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
