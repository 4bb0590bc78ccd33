//! GPUs and their compute capability.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A compute capability, such as `9.0`; also the number of the architecture `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// The chip within its generation.
    pub minor: u32,
}

impl Capability {
    /// Reads `9.0`, `90` or `120`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = match text.split_once('.') {
            Some(parts) => parts,
            None if (2..=3).contains(&text.len()) => text.split_at_checked(text.len() - 1)?,
            None => return None,
        };
        let number = |digits: &str| {
            let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            (all_digits && digits.len() <= 2).then(|| digits.parse().ok())?
        };
        Some(Capability {
            major: number(major)?,
            minor: number(minor)?,
        })
    }

    /// The architecture as nvcc names it: `sm_90`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// The market segment of a GPU, which decides whether cuda-compat works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// Servers: cuda-compat works.
    DataCenter,
    /// Workstations: some are certified for servers, so cuda-compat may work.
    Workstation,
    /// Gaming.
    Consumer,
    /// Jetson.
    Embedded,
    /// Unknown, for example if only the architecture is given.
    #[default]
    Unknown,
}

/// A GPU that an image must run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The model as in the table, or `sm_90` if only the architecture was given.
    pub name: String,
    /// Compute capability.
    pub capability: Capability,
    /// The market segment.
    pub segment: Segment,
    /// Whether it is a Jetson or another Tegra, whose drivers have their own version numbers.
    pub is_tegra: bool,
    /// Whether a table has its capability. Otherwise only the general rules of compatibility judge it.
    pub is_listed: bool,
    /// The first driver branch that supports a GPU of its capability; `None` if nobody has established it.
    pub first_branch: Option<u32>,
    /// Whether only machines with ARM processors have it.
    pub arm64_only: bool,
}
