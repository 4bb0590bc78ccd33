//! What is wrong with a setting.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A variable with a value that harms a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fault {
    /// The variable: `PYTORCH_CUDA_ALLOC_CONF`.
    pub variable: String,
    /// Its value, shortened.
    pub value: String,
    /// The package that reads it: `PyTorch`.
    pub package: String,
    /// The installed version of the package; empty if it is not known.
    pub version: String,
    /// What happens.
    pub effect: Effect,
    /// What fails, or why it is slow: `the first use of CUDA`.
    pub when: String,
    /// What is printed; empty if that differs.
    pub says: String,
    /// What is wrong with the value.
    pub problem: Problem,
    /// The part of the value that is wrong: an option, or the whole value.
    pub part: String,
    /// For an option with a wrong value, the option.
    pub option: String,
    /// What could be written instead of the part: words, `a number`, or a range such as `21 or more`.
    pub fitting: Vec<String>,
    /// Whether that was tried with this version, or with one before and one after it.
    pub certain: bool,
}

/// What a value does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// An import or an operation fails.
    #[default]
    Fails,
    /// The work runs on the CPU, and no error says so.
    Cpu,
    /// The work takes longer.
    Slow,
}

/// Why a value is not valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// The value as a whole.
    #[default]
    Value,
    /// A list has an element twice.
    Twice,
    /// The package does not know an option.
    UnknownOption,
    /// An option has a wrong value.
    OptionValue,
    /// A part is not `OPTION:VALUE`.
    Malformed,
    /// The directory cannot be made: a file is in its place.
    File,
}
