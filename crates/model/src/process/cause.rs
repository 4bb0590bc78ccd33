//! The words of the facts about processes: when something is loaded, how it was found, and what a program does without it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a process loads something.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// It is not loaded.
    #[default]
    #[serde(rename = "")]
    Never,
    /// At the start of the program.
    Start,
    /// When the package is imported.
    Import,
    /// When a function is first used.
    Use,
}

/// What a program continues without if it ignores a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Without {
    /// Unknown.
    #[default]
    #[serde(rename = "")]
    Unknown,
    /// The GPU: the CPU does all work.
    Gpu,
    /// The package: it does not work at all.
    Package,
    /// One native module, which only some programs import.
    Module,
    /// A feature that most programs never notice.
    Feature,
}

impl Without {
    /// Whether the GPU, or a package as a whole, does not work.
    pub fn is_serious(self) -> bool {
        matches!(self, Without::Gpu | Without::Package)
    }
}

/// Why a file answered a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// It was not requested.
    #[default]
    #[serde(rename = "")]
    Nothing,
    /// It is the program.
    Executable,
    /// It is the loader of the program.
    Interpreter,
    /// LD_PRELOAD or `/etc/ld.so.preload`.
    Preload,
    /// The request was its path.
    Path,
    /// DT_RPATH.
    Rpath,
    /// DT_RUNPATH.
    Runpath,
    /// LD_LIBRARY_PATH.
    LdLibraryPath,
    /// `/etc/ld.so.cache`.
    Cache,
    /// A directory that is built into the loader.
    Default,
}

/// How `/etc/ld.so.cache` compares with the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// It was not compared completely.
    #[default]
    Unknown,
    /// `ldconfig` would write the same.
    Current,
    /// `ldconfig` would write something else.
    Stale,
    /// There is none.
    Missing,
    /// It cannot be read.
    Corrupt,
}
