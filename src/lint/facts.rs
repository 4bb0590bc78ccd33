//! What a file asks for. The keys are those that rules see as `lint`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claims::Claim;
use crate::finding::{Location, Severity};

/// All that one file asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sources {
    /// The file as the user named it.
    pub file: String,
    /// `dockerfile`, `requirements`, `environment` or `pyproject`.
    pub kind: String,
    /// The stages of a Dockerfile; of a pyproject.toml its dependencies and each group with them; of others the only one.
    pub stages: Vec<Stage>,
}

/// What is installed together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// Its position, from 0.
    pub index: usize,
    /// What it is called: `builder`; empty if it has no name.
    pub name: String,
    /// Whether it becomes an image: the last stage, one that it is built on, and one of which no other takes files.
    pub shipped: bool,
    /// The image it starts from, be it through other stages. Absent for `scratch` and outside Dockerfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// The packages, in the order of installation, with those of the stages that it starts from.
    pub pins: Vec<Pin>,
    /// The variables that `ENV` of this stage sets.
    pub env: Vec<Variable>,
    /// Directories that this stage adds to the configuration of the dynamic loader.
    pub search_directories: Vec<SearchDirectory>,
}

/// The image that a stage starts from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Base {
    /// Position of the stage whose `FROM` names it.
    pub stage: usize,
    /// As it is written, with variables.
    pub written: String,
    /// The reference. Absent if a variable in it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// `pytorch/pytorch`, without registry and tag; empty without a reference.
    pub repository: String,
    /// What the reference promises.
    pub claims: Vec<Claim>,
    /// What rules say of the reference alone.
    pub findings: Vec<BaseFinding>,
    /// Where it is written.
    pub location: Location,
}

/// What a rule says of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseFinding {
    /// Id of the rule.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(default)]
    pub help: String,
    /// The piece of the reference it is about.
    #[serde(default)]
    pub location: Location,
}

/// A package that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// Its name; Python names as PEP 503 normalises them: `nvidia-cudnn-cu12`.
    pub name: String,
    /// The part of the stack it belongs to: `torch`, `cudnn`; empty if to none.
    pub component: String,
    /// `pip`, `conda`, `apt` or `apk`: whose packages they are.
    pub manager: String,
    /// What is asked of its version, as written: `>=2.1,<3`; empty if nothing is.
    pub specifier: String,
    /// The version, if one is fixed, with the components that are fixed: `2.8` of `==2.8.*`. No local label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The local label of the version: `cu118`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<String>,
    /// The CUDA that the local label, the index or the conda build stands for: `11.8`; `cpu` and `rocm` are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// The index that is asked besides or in place of PyPI, for conda the channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Whether only indexes of PyTorch's builds are asked: neither PyPI nor what may be a mirror of it.
    pub only_index: bool,
    /// The extras: `serve` of `ray[serve]`.
    pub extras: Vec<String>,
    /// Packages of one command are installed together; a number of its own for each command.
    pub command: usize,
    /// The Python environment, if it is not the usual one: the directory, or the name of conda's.
    pub environment: String,
    /// Whether it is installed only sometimes: in an `if`, after `||`, with a marker that not every Linux meets.
    pub conditional: bool,
    /// Whether a later command of the stage installs another version in its place, or removes it.
    pub replaced: bool,
    /// Whether it only limits what others bring (`-c constraints.txt`).
    pub constraint: bool,
    /// Whether it is installed without what it depends on (`--no-deps`).
    pub alone: bool,
    /// As written: `torch==2.8.0+cu118`.
    pub text: String,
    /// Where it is written.
    pub location: Location,
}

/// A variable that is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; variables without a known value stay as written.
    pub value: String,
    /// Whether a later line of the stage sets it without keeping this value.
    pub replaced: bool,
    /// What is written, taken apart at colons, as a search path is.
    pub parts: Vec<SearchDirectory>,
    /// Where it is written.
    pub location: Location,
}

/// A directory of a search path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchDirectory {
    /// The directory.
    pub text: String,
    /// Where it is written.
    pub location: Location,
}
