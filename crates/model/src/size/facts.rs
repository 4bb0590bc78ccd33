//! What is known of the size of an image.

use std::collections::BTreeMap;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest files of a cause that are listed.
const LISTED: usize = 1000;

/// Where the bytes of an image are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageSize {
    /// Bytes of the files in all layers, not compressed.
    pub bytes: u64,
    /// Number of files in all layers.
    pub files: u64,
    /// The layers, lowest first.
    pub layers: Vec<LayerSize>,
    /// What a container probably does not need, by cause. No byte has two causes.
    pub causes: Vec<CauseSize>,
    /// The packages and directories of the files that a container sees, largest first. Together with `rest` and the files that a
    /// later layer replaces, they are all bytes.
    pub packages: Vec<PackageSize>,
    /// Bytes of the smaller packages and directories, which are not listed.
    pub rest: u64,
}

/// The size of one layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerSize {
    /// Bytes of its files.
    pub bytes: u64,
    /// Number of its files.
    pub files: u64,
    /// Bytes of its files that a later layer replaces or removes.
    pub replaced: u64,
}

/// The bytes of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseSize {
    /// Why the bytes are there.
    pub cause: Cause,
    /// How many there are.
    pub bytes: u64,
    /// The files and directories with them, largest first, up to 1,000.
    pub largest: Vec<SizedPath>,
}

/// A file, or a directory with all that it contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizedPath {
    /// The path.
    pub path: String,
    /// Bytes of this cause at the path.
    pub bytes: u64,
    /// What is known beside: who fills a cache, which copy of a library is used, which layer replaces a file.
    pub detail: String,
}

/// A Python package, or another directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageSize {
    /// The distribution and its version, `torch 2.8.0+cu128`; the path if no distribution is known.
    pub name: String,
    /// The directory.
    pub path: String,
    /// Bytes of the files in it.
    pub bytes: u64,
}

/// Why a container probably does not need bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A later layer replaces or removes the file.
    Replaced,
    /// A cache of pip, uv, conda, apt or another program that installs.
    Cache,
    /// Another copy of a GPU library, which the processes of the image do not load.
    Duplicate,
    /// A static library.
    StaticLibrary,
    /// GPU code that none of the given GPUs can select.
    GpuCode,
}

impl ImageSize {
    /// Bytes of a cause.
    pub fn of_cause(&self, cause: Cause) -> u64 {
        let found = self.causes.iter().find(|it| it.cause == cause);
        found.map_or(0, |it| it.bytes)
    }
}

/// The largest first, and of equal ones in the order of their paths.
pub(crate) fn largest(mut paths: Vec<SizedPath>) -> Vec<SizedPath> {
    paths.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    paths.truncate(LISTED);
    paths
}

/// Bytes by path.
pub(super) type Directories = BTreeMap<Rc<str>, u64>;
