//! What the loader does not find or cannot use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::processes::{FaultContext, ObjectFacts};

/// A library that is not found, or that is found and cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Missing {
    /// Where it happens.
    #[serde(flatten)]
    pub context: FaultContext,
    /// The requested name, such as `libcudart.so.12`.
    pub library: String,
    /// Path of the file that needs or opens it; empty if Python code opens it.
    pub needed_by: String,
    /// Layer index of `needed_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Opened at run time (dlopen) rather than listed as DT_NEEDED.
    pub opened: bool,
    /// Other names that the program tries as well, in order.
    pub alternatives: Vec<String>,
    /// It comes from the driver of the host and is not expected in an image.
    pub host_provided: bool,
    /// Path of a file that was found but cannot be used; empty if no file was found.
    pub broken: String,
    /// Files of this name for a different machine, which the loader skips.
    pub wrong_machine: Vec<String>,
    /// Files of this name or SONAME in directories that this process does not search.
    pub elsewhere: Vec<String>,
    /// Files of this name or SONAME that the user of the image may not read, which the loader skips.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Beside a file that is requested by path and absent: those whose names differ from its name only in digits, such as the builds for
    /// other releases of CUDA or PyTorch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The file that would be found after `ldconfig`; empty if that finds none either.
    pub after_ldconfig: String,
    /// The directories that were searched, in order.
    pub searched: Vec<String>,
    /// A file of this name that a layer of the image removed; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removed>,
}

/// A file that a layer of the image removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Removed {
    /// Its path.
    pub path: String,
    /// Index of the layer that removed it.
    pub layer: usize,
}

/// A fault that occurs only on some hosts. All others in these facts are those of a host with a processor of level x86-64-v3 and
/// the cache as it is in the image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFault {
    /// Where in which process it happens.
    #[serde(flatten)]
    pub context: FaultContext,
    /// The processor of these hosts: `x86-64-v2` or `x86-64-v4`; empty for x86-64-v3.
    pub processor: String,
    /// NVIDIA's container toolkit runs `ldconfig` on these hosts.
    pub after_ldconfig: bool,
    /// The requested library, or the path of the file that cannot be loaded.
    pub library: String,
    /// Opened at run time (dlopen) rather than listed as DT_NEEDED.
    pub opened: bool,
    /// Path of the file that is unusable, or that needs what is missing; empty if Python code opens it.
    pub path: String,
    /// Layer index of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
}

/// A required version that the file which is found does not define.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UnmetVersion {
    /// Where it happens.
    #[serde(flatten)]
    pub context: FaultContext,
    /// The file that requires it.
    pub object: ObjectFacts,
    /// The file that should define it.
    pub provider: ObjectFacts,
    /// The version: `GLIBCXX_3.4.30`.
    pub version: String,
    /// The newest version of the same kind that the file defines: `GLIBCXX_3.4.28`; empty if it defines no version of that kind.
    pub newest: String,
}

/// The undefined symbols of one object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UndefinedSymbols {
    /// Where it happens; `when` is `use` for functions that are bound when they are called.
    #[serde(flatten)]
    pub context: FaultContext,
    /// The file that refers to them.
    pub object: ObjectFacts,
    /// The file loads nevertheless: these functions are bound when they are called.
    pub called: bool,
    /// The number of symbols.
    pub count: usize,
    /// The first 20 symbols.
    pub symbols: Vec<Symbol>,
    /// The file that should define the first symbol, if known: the one that its version belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ObjectFacts>,
}

/// An undefined symbol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Symbol {
    /// The name in the file.
    pub name: String,
    /// The C++ name; equal to `name` if the symbol is not mangled.
    pub demangled: String,
    /// The required version; empty for an unversioned symbol.
    pub version: String,
}

/// A library whose loaded copy is not the one that the package which needs it provides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shadowed {
    /// As in [`FaultContext`].
    pub process: String,
    /// As in [`FaultContext`].
    pub main: bool,
    /// The requested name.
    pub library: String,
    /// The copy that is loaded.
    pub loaded: ObjectFacts,
    /// The copy that the package provides.
    pub shadowed: ObjectFacts,
    /// Path of the object that needs it.
    pub needed_by: String,
    /// Why the loaded copy was loaded: `LD_LIBRARY_PATH`, `DT_RPATH of …`, `an earlier load by …`.
    pub reason: String,
}

/// An object that requires an executable stack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutableStack {
    /// Where it happens.
    #[serde(flatten)]
    pub context: FaultContext,
    /// The file.
    pub object: ObjectFacts,
    /// Release of the glibc that refuses the stack.
    pub glibc: String,
}
