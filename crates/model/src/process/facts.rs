//! What the loader does in the processes of an image: `loader` in the report and in rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::{CacheState, FoundBy, When, Without};
pub use super::unreadable::Unreadable;

/// The loader model of one image. All paths are paths in the image, with links resolved except in the last component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoaderFacts {
    /// The number of files that the main process maps (the first one in `processes`), without those of first uses.
    pub objects: usize,
    /// Libraries that are not found, and files that are found and cannot be used.
    pub missing: Vec<Missing>,
    /// What first uses of a GPU do not find in an image that neither has a CUDA library nor requests GPUs. One for CPUs does not miss it;
    /// with a target, or in a workload that requests GPUs, it is in `missing` for rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_on_gpus: Vec<Missing>,
    /// Required versions that the file which is found does not define.
    pub unmet_versions: Vec<UnmetVersion>,
    /// Undefined symbols, object by object.
    pub undefined_symbols: Vec<UndefinedSymbols>,
    /// Libraries whose loaded copy is not the one that the package which needs them provides.
    pub shadowed: Vec<Shadowed>,
    /// Objects that require an executable stack, which the glibc of the process refuses.
    pub executable_stacks: Vec<ExecutableStack>,
    /// What fails only on hosts with another processor, or only after NVIDIA's container toolkit has run `ldconfig`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_faults: Vec<HostFault>,
    /// The processes, the one that the image starts first.
    pub processes: Vec<ProcessFacts>,
    /// The number of programs linked to GPU libraries that are not modeled (limit `programs`); absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub programs_left_out: usize,
    /// The GPU frameworks of the image, each with the first process that can load it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frameworks: Vec<FrameworkFacts>,
    /// Files with GPU code that the main process's Python can import and no process maps: those of packages that no table describes, and
    /// extension modules that only some programs import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_gpu_code: Vec<ObjectFacts>,
    /// Files of Python and its packages that the user of the image may not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
    /// `/etc/ld.so.cache`, and how far it is from the files; absent without a glibc process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFacts>,
}

/// Whether a number is omitted from JSON.
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl LoaderFacts {
    /// The facts on a GPU.
    #[must_use]
    pub fn on_gpus(mut self: Arc<Self>) -> Arc<Self> {
        if !self.missing_on_gpus.is_empty() {
            let facts = Arc::make_mut(&mut self);
            facts.missing.append(&mut facts.missing_on_gpus);
        }
        self
    }

    /// The layer of a file that a process maps, or that needs a missing library.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let mapped = self.processes.iter().flat_map(|process| &process.objects);
        let needy = self.unmet_versions.iter().map(|fault| &fault.object);
        let undefined = self.undefined_symbols.iter().map(|fault| &fault.object);
        let stacks = self.executable_stacks.iter().map(|fault| &fault.object);
        let on_hosts = self.host_faults.iter().find(|fault| fault.path == path);
        let object = mapped
            .chain(needy)
            .chain(undefined)
            .chain(stacks)
            .find(|object| object.path == path);
        let missing = self
            .missing
            .iter()
            .find(|missing| missing.needed_by == path);
        let removed = self.missing.iter().filter_map(|it| it.removed.as_ref());
        object
            .and_then(|object| object.layer)
            .or_else(|| missing?.layer)
            .or_else(|| Some(removed.into_iter().find(|it| it.path == path)?.layer))
            .or_else(|| on_hosts?.layer)
            .or_else(|| self.unreadable.iter().find(|it| it.path == path)?.layer)
    }
}

impl LoaderFacts {
    /// The version of the CUDA runtime that is linked statically into a file of the main process; of several, the first.
    pub fn linked_runtime(&self) -> Option<&str> {
        let main = self.processes.iter().filter(|process| process.main);
        let mut objects = main.flat_map(|process| &process.objects);
        let version = objects.find_map(|object| object.readings.get("static-cudart"));
        version.map(String::as_str)
    }

    /// Paths of the files that the main process maps, or that the others map, in load order, and then of those that are found and
    /// cannot be loaded.
    pub fn mapped_files(&self, main: bool) -> impl Iterator<Item = &str> {
        let processes = self.processes.iter().filter(move |it| it.main == main);
        let mapped = processes.flat_map(|process| &process.objects);
        let symbols = self.undefined_symbols.iter();
        let symbols = symbols.filter(move |it| it.context.main == main);
        let symbols = symbols.flat_map(|it| [Some(&it.object), it.provider.as_ref()]);
        let versions = self.unmet_versions.iter();
        let versions = versions.filter(move |it| it.context.main == main);
        let versions = versions.flat_map(|it| [&it.object, &it.provider]);
        let objects = mapped.chain(symbols.flatten()).chain(versions);
        objects.map(|object| object.path.as_str())
    }
}

/// One copy of a GPU framework.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FrameworkFacts {
    /// Name of the package: `torch`.
    pub name: String,
    /// Its directory.
    pub path: String,
    /// Index of the layer that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Name of the first process that maps a file of it, or whose search path leads to it; absent if none does: nothing was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_by: Option<String>,
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

/// A file that the program tried to load in place of another, and why that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tried {
    /// Its name.
    pub file: String,
    /// The loader's message, verbatim.
    pub message: String,
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

impl CacheFacts {
    /// Whether `ldconfig` may change what the loader finds by the cache.
    pub fn is_changed_by_ldconfig(&self) -> bool {
        let is_compared = !matches!(self.state, CacheState::Unknown | CacheState::Corrupt);
        !is_compared || self.incomplete || !self.unlisted.is_empty() || !self.dropped.is_empty()
    }
}

/// `/etc/ld.so.cache`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CacheFacts {
    /// `current`, `stale`, `missing`, `corrupt`, or `unknown` if it was not compared completely.
    pub state: CacheState,
    /// Layer index of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Paths of libraries that `ldconfig` would add.
    pub unlisted: Vec<String>,
    /// Entries that lead to no file.
    pub dangling: Vec<String>,
    /// Entries that `ldconfig` would drop because their directory is not configured: somebody ran `ldconfig DIRECTORY`.
    pub dropped: Vec<String>,
    /// The directories of `ldconfig` are too many to compare the cache with them; the lists above are empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}
