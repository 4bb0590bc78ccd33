//! What the loader does in the processes of an image: `loader` in the report and in rules.

mod faults;
mod processes;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::CacheState;
pub use super::unreadable::Unreadable;
pub use faults::{
    ExecutableStack, HostFault, Missing, Removed, Shadowed, Symbol, UndefinedSymbols, UnmetVersion,
};
pub use processes::{DriverLibrary, FaultContext, Import, ObjectFacts, ProcessFacts, Tried};

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
