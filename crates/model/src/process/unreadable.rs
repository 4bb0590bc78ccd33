//! Files that a process needs and may not read, as facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that Python needs and may not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unreadable {
    /// Name of the process, as in `loader.processes`.
    pub process: String,
    /// The image starts this process.
    pub main: bool,
    /// The package whose import fails; empty for the script, and for Python itself.
    pub package: String,
    /// The file or directory.
    pub path: String,
    /// Layer index of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// `package` (the package cannot be imported), `script`, `interpreter` (Python does not start) or `file`: the package has it, and only
    /// some of its functions may need it.
    pub kind: String,
    /// Number of such files; more than 1 only if `kind` is `file`.
    pub count: usize,
    /// The user, as the image writes it, or the name in `/etc/passwd`.
    pub user: String,
    /// The permission bits, in octal.
    pub mode: String,
}
