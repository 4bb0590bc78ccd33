//! The processes of an image, the files that they map, and where in them something fails.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::cause::{FoundBy, When, Without};

/// One process of the image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessFacts {
    /// `python`, `python (/opt/venv)` for a further environment, or the path of a program.
    pub name: String,
    /// The image starts this process.
    pub main: bool,
    /// Path of the program.
    pub executable: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    /// Release of glibc: `2.36`; empty for musl or if unknown.
    pub glibc: String,
    /// The GPU packages that are imported, in order.
    pub imports: Vec<Import>,
    /// The mapped files in load order; those of first uses come last.
    pub objects: Vec<ObjectFacts>,
    /// The libraries of the host's driver that it uses, in load order.
    pub driver_libraries: Vec<DriverLibrary>,
    /// Who sets LD_LIBRARY_PATH: `image`, `overlay` (the environment of a workload) or, less certain, the path of the entrypoint
    /// script; empty if it is not set.
    pub library_path_from: String,
}

/// The import of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Import {
    /// Name of the distribution.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Whether the import succeeds, judged by libraries alone.
    pub succeeds: bool,
}

/// One mapped file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObjectFacts {
    /// The file.
    pub path: String,
    /// Layer index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// DT_SONAME; empty if absent.
    pub soname: String,
    /// The name by which it was requested.
    pub request: String,
    /// Path of the object that requested it; empty for the program itself and for what Python opens.
    pub requested_by: String,
    /// Why this file answered, for people: `DT_RPATH of libtorch_cuda.so`, `LD_LIBRARY_PATH`, `ld.so.cache` …
    pub reason: String,
    /// The same as one word: `executable`, `interpreter`, `preload`, `path`, `rpath`, `runpath`, `ld-library-path`, `cache`, `default`.
    pub found_by: FoundBy,
    /// The package whose import or first use loaded it; empty at program start.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: When,
    /// RTLD_GLOBAL, or loaded at program start.
    pub global: bool,
    /// Which library it is, by its exports: `cudnn`, `cuda-runtime`, `torch-cuda` …; empty if no recipe knows it.
    pub library: String,
    /// Which part of a library with several files: `graph`; `stub`.
    pub part: String,
    /// The Python package directory that it is in: `torch`, `torchvision`, `nvidia/cudnn`; empty outside of site-packages.
    pub directory: String,
    /// What was read from its bytes: `version`, `built-with-cuda`, `compiled-cudnn` …, the strongest reading of each.
    pub readings: BTreeMap<String, String>,
    /// Major release of CUDA that it belongs to, by its SONAME or readings; empty if unknown.
    pub cuda: String,
}

/// A library of the host's driver that a process uses, whether or not the image has a file of that name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriverLibrary {
    /// The requested name: `libnvcuvid.so.1`.
    pub library: String,
    /// The file that needs or opens it.
    pub needed_by: String,
    /// Layer index of `needed_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The package whose import or first use loads it; empty at program start.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: When,
    /// Opened at run time (dlopen) rather than listed as DT_NEEDED.
    pub opened: bool,
    /// The program continues without it.
    pub optional: bool,
    /// As [`FaultContext::without`].
    pub without: Without,
    /// The file of the image that the loader finds instead of the host's once NVIDIA's container toolkit has run `ldconfig`: its
    /// directory is configured before the one into which the host's is mounted. Absent if the host's is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ldconfig: Option<ObjectFacts>,
}

/// Where in which process a fault occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FaultContext {
    /// Name of the process, as [`ProcessFacts::name`].
    pub process: String,
    /// The processes with the same fault, itself included, if it is the first of them; otherwise the first. Empty if no other process has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<String>,
    /// The image starts this process.
    pub main: bool,
    /// The Python package whose import or first use fails; empty at program start.
    pub package: String,
    /// `start` of the program, `import` of the package, or first `use` of a function.
    pub when: When,
    /// The program ignores the failure, or only warns, and continues.
    pub optional: bool,
    /// The loader reports this fault; the others of the same attempt would come next.
    pub first: bool,
    /// The loader's message, verbatim.
    pub message: String,
    /// What the program prints instead of the loader's message; empty if it prints that message.
    pub shown: String,
    /// The other variants, where the package has the same files for several releases of a library and none can be loaded; absent if it
    /// has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// What the program continues without if the failure is `optional`: `gpu` (the CPU does all work), `package` (the package does not
    /// work at all), `module` (one native module that only some programs import) or `feature` (most programs never notice); empty if
    /// unknown.
    pub without: Without,
    /// The documented functions of the package that fail at first use; empty if only the program decides whether it calls one.
    pub breaks: String,
    /// The hosts on which it does not occur: `x86-64-v2` or `x86-64-v4` for those with such a processor, `ldconfig` for those whose
    /// container toolkit runs `ldconfig`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_on: Vec<String>,
}

/// A file that the program tried to load in place of another, and why that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tried {
    /// Its name.
    pub file: String,
    /// The loader's message, verbatim.
    pub message: String,
}
