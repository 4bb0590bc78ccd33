//! The stages of a Dockerfile or similar file, and what they install.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{Location, Severity};

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
    /// The Pythons that the file names, as `3.11`, by environment; empty for the Python of the default one.
    pub pythons: BTreeMap<String, String>,
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
    /// The first command that installs into the Python of the base image's distribution with pip or uv, if nothing before it may bring another Python or configure pip.
    pub system_pips: Vec<SearchDirectory>,
    /// Whether pip of its commands installs into the Python of the base image's distribution, as far as is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub system_python: bool,
    /// The first `uv pip` that finds no virtual environment, unless something in the stage or its base image may bring one.
    pub uv_without_environment: Vec<SearchDirectory>,
    /// The first command that runs pip, as `pip` or `python3 -m pip`, if nothing in the stage before it may bring pip but packages of apt.
    pub first_pips: Vec<SearchDirectory>,
    /// Files of requirements that a command installs before the stage has any file but those of a known base image, so that they do not exist.
    pub uncopied: Vec<SearchDirectory>,
    /// The program of `ENTRYPOINT`, or else of `CMD`, in the form of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<SearchDirectory>,
    /// Whether nothing but packages of apt and Python may bring programs and libraries.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain_system: bool,
    /// Arguments before the first `FROM` that commands use as versions, and that the stage does not repeat: there they are empty.
    pub unscoped_arguments: Vec<SearchDirectory>,
    /// Components that the stage or its parents remove from the default environment; `*` if it is unknown which.
    pub removed: Vec<String>,
    /// Parts of a setup.py whose requirements are computed, and files of requirements, Dockerfiles and Compose files that are not where they should be, so that they are not read.
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
    /// Whether it copies files of the build context when an image starts from it (`ONBUILD`), as its tag says.
    pub fn is_extended_later(&self) -> bool {
        self.written.contains("onbuild") || self.reference.iter().any(|it| it.contains("onbuild"))
    }

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
    /// Whether a later command of the stage removes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether it is only a constraint (`-c constraints.txt`).
    pub constraint: bool,
    /// Whether its dependencies are not installed as it requires them (`--no-deps`, overrides of uv).
    pub alone: bool,
    /// Whether its command replaces an installed version by a newer one (`--upgrade`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub upgrade: bool,
    /// Whether an earlier command installs a version that meets it, which the package manager keeps.
    pub present: bool,
    /// Whether its build sees the installed packages (`--no-build-isolation`).
    pub no_build_isolation: bool,
    /// Whether uv installs it, which builds every package in an environment of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uv: bool,
    /// Whether uv builds it after the packages that its build needs, or gives them to the build.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prepared: bool,
    /// Variables that its command or an earlier one of the same script sets: `FORCE_CUDA=1 pip install …`.
    pub variables: BTreeMap<String, String>,
    /// Options that its command passes to the build: `--cuda_ext` of `python setup.py install --cuda_ext`.
    pub build_options: Vec<String>,
    /// What follows without quotes, so that the shell redirects the output or input: `>=2.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected: Option<String>,
    /// As written: `torch==2.8.0+cu118`.
    pub text: String,
    /// Its location.
    pub location: Location,
}

impl Pin {
    /// Notes which packages uv takes as an override says, whatever requires them.
    pub fn override_by(&mut self, names: &[String]) {
        self.alone |= !names.is_empty();
        self.conditional |= names.contains(&self.name);
    }
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
