//! What is wrong with how a Python starts, or with where it imports packages from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::component::Distribution;
use imgcheck_base::lexical::directory_of;

/// An installed package, and the module that `import` executes instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShadowedPackage {
    /// The name that is imported: `torch`.
    pub module: String,
    /// The file that Python executes: `/opt/other/torch/__init__.py`.
    pub executed: String,
    /// Layer index of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The file of the installed package: `/usr/lib/python3/dist-packages/torch/__init__.py`.
    pub installed: String,
    /// The distribution that is installed: `torch`. Empty if there is no metadata.
    pub distribution: String,
    /// Its version; empty if there is no metadata.
    pub version: String,
    /// Its metadata file; empty if there is none.
    pub metadata: String,
    /// Why the module comes first.
    pub found_in: ShadowingPlace,
    /// Whether the module has shared objects, as a build of the package has.
    pub has_libraries: bool,
    /// Whether tables know the package. Then what imgcheck says of the image depends on it.
    pub known: bool,
    /// The environment, by its prefix.
    pub environment: String,
    /// Whether the image starts this Python for certain, and its whole search path is known.
    pub certain: bool,
}

impl ShadowedPackage {
    /// Whether this is the distribution that is not imported.
    pub(super) fn hides(&self, distribution: &Distribution) -> bool {
        self.distribution == distribution.name
    }

    /// Whether a file is of the package that is not imported, or its metadata.
    pub(super) fn has(&self, path: &str) -> bool {
        let package = directory_of(&self.installed);
        let is_package = self.installed.starts_with(&format!("{package}/__init__."));
        let rest = path.strip_prefix(package);
        let is_inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_package && is_inside || path == self.metadata
    }
}

/// The element of Python's search path that has a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShadowingPlace {
    /// The directory of the script, or the working directory.
    Command,
    /// A directory of PYTHONPATH.
    PythonPath,
    /// The standard library.
    StandardLibrary,
    /// A directory of packages.
    #[default]
    Site,
}

/// An option or a variable with which an interpreter refuses to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartRefusal {
    /// The environment, by its prefix.
    pub environment: String,
    /// The interpreter.
    pub interpreter: String,
    /// Layer index of the interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The option or variable as written: `PYTHONHASHSEED=abc`, `-Q`.
    pub setting: String,
    /// What the interpreter prints.
    pub says: String,
    /// Whether the image starts the interpreter with it for certain.
    pub certain: bool,
}
