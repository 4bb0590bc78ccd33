//! What the loader does in the processes of an image: the `loader` of the report and of the rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The loader model of one image. All paths are paths of the image, links followed except in their last component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoaderFacts {
    /// Number of files that the process of the image maps (the first of `processes`).
    pub objects: usize,
    /// Libraries that nothing answers for, and files that answer and cannot be used.
    pub missing: Vec<Missing>,
    /// Versions that are needed and that the file which answers does not define.
    pub unmet_versions: Vec<UnmetVersion>,
    /// Symbols that nothing in scope defines, object by object.
    pub undefined_symbols: Vec<UndefinedSymbols>,
    /// Libraries of which another copy is loaded than the one that the package which needs it ships.
    pub shadowed: Vec<Shadowed>,
    /// Objects that ask for an executable stack in a process whose glibc refuses that.
    pub executable_stacks: Vec<ExecutableStack>,
    /// The processes, the one that the image starts first.
    pub processes: Vec<ProcessFacts>,
    /// How many more programs are linked to GPU libraries: nothing is known of what they load. Absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub programs_left_out: usize,
    /// The index of libraries, and how it fits the files. Absent where there is neither index nor glibc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFacts>,
}

/// Whether a number is not to be written.
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl LoaderFacts {
    /// The layer of a file that a process maps, or that needs something.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let mapped = self.processes.iter().flat_map(|process| &process.objects);
        let needy = self.unmet_versions.iter().map(|fault| &fault.object);
        let undefined = self.undefined_symbols.iter().map(|fault| &fault.object);
        let stacks = self.executable_stacks.iter().map(|fault| &fault.object);
        let object = mapped
            .chain(needy)
            .chain(undefined)
            .chain(stacks)
            .find(|object| object.path == path);
        let missing = self
            .missing
            .iter()
            .find(|missing| missing.needed_by == path);
        object
            .and_then(|object| object.layer)
            .or_else(|| missing?.layer)
    }
}

impl LoaderFacts {
    /// Paths of the files that the process of the image maps, in order, and then of those that it finds and cannot load.
    pub fn main_files(&self) -> impl Iterator<Item = &str> {
        let processes = self.processes.iter().filter(|process| process.main);
        let mapped = processes.flat_map(|process| &process.objects);
        let symbols = self.undefined_symbols.iter().filter(|it| it.place.main);
        let symbols = symbols.flat_map(|it| [Some(&it.object), it.provider.as_ref()]);
        let versions = self.unmet_versions.iter().filter(|it| it.place.main);
        let versions = versions.flat_map(|it| [&it.object, &it.provider]);
        let objects = mapped.chain(symbols.flatten()).chain(versions);
        objects.map(|object| object.path.as_str())
    }
}

/// Where in which process something goes wrong; the beginning of every fault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Place {
    /// Name of the process: as [`ProcessFacts::name`].
    pub process: String,
    /// Whether it is the process that the image starts.
    pub main: bool,
    /// The Python package whose import, or whose first use, leads there; empty where a program starts.
    pub package: String,
    /// `start` of the program, `import` of the package, first `use` of a function.
    pub when: String,
    /// The program notices nothing, or only warns: it goes on without what could not be loaded.
    pub optional: bool,
    /// Whether this is the one that the loader reports; others of the same attempt would come after it.
    pub first: bool,
    /// What the loader says, word for word.
    pub message: String,
    /// What the program shows in place of the loader's message; empty where that is what it shows.
    pub shown: String,
    /// What an `optional` one goes on without: `gpu` (all work is done by the CPU), `package` (nothing of the package works) or
    /// `feature` (most programs never notice); empty if it is not optional or if that is not known.
    pub without: String,
}

/// A library that nothing answers for, or only a file that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Missing {
    /// Where in which process.
    #[serde(flatten)]
    pub place: Place,
    /// The name that is asked for, such as `libcudart.so.12`.
    pub library: String,
    /// Path of the file that needs it or that opens it; empty where a Python package asks for it.
    pub needed_by: String,
    /// Index of the layer of `needed_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Opened at run time (dlopen), not listed as DT_NEEDED.
    pub opened: bool,
    /// Other names that the program tries in its place, first to last.
    pub alternatives: Vec<String>,
    /// Comes from the driver of the host: never to be expected in an image.
    pub host_provided: bool,
    /// Path of the file that answers and cannot be used; empty if there is none.
    pub broken: String,
    /// Files of that name for another machine, which the loader passes over.
    pub wrong_machine: Vec<String>,
    /// Files of that name or SONAME elsewhere in the image, where this process does not look.
    pub elsewhere: Vec<String>,
    /// The file that would answer if `ldconfig` were run; empty if there is none.
    pub after_ldconfig: String,
    /// The directories that were looked in, in order.
    pub searched: Vec<String>,
}

/// A version that is needed and that the file which answers does not define.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UnmetVersion {
    /// Where in which process.
    #[serde(flatten)]
    pub place: Place,
    /// The file that needs it.
    pub object: ObjectFacts,
    /// The file that answers.
    pub provider: ObjectFacts,
    /// The version: `GLIBCXX_3.4.30`.
    pub version: String,
    /// The newest version of the same kind that the file defines: `GLIBCXX_3.4.28`; empty if there is none.
    pub newest: String,
}

/// The symbols of one object that nothing in scope defines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UndefinedSymbols {
    /// Where in which process; `when` is `use` for functions that are only looked up when they are called.
    #[serde(flatten)]
    pub place: Place,
    /// The file that needs them.
    pub object: ObjectFacts,
    /// The file loads all the same: these are functions that are only looked up when they are called.
    pub called: bool,
    /// How many there are.
    pub count: usize,
    /// The first ones.
    pub symbols: Vec<Symbol>,
    /// The file that should define the first one, where that is known: what answers to the name that its version belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ObjectFacts>,
}

/// A symbol that nothing defines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Symbol {
    /// As it is in the file.
    pub name: String,
    /// As it is written in C++; equal to `name` if it is not mangled.
    pub demangled: String,
    /// The version that is asked for; empty if none is.
    pub version: String,
}

/// A library of which another copy is loaded than the one that lies where its user's package expects it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shadowed {
    /// As in [`Place`].
    pub process: String,
    /// As in [`Place`].
    pub main: bool,
    /// The name that is asked for.
    pub library: String,
    /// The copy that is loaded.
    pub loaded: ObjectFacts,
    /// The copy that is not.
    pub shadowed: ObjectFacts,
    /// Path of the object that asks.
    pub needed_by: String,
    /// Why the loaded one wins: `LD_LIBRARY_PATH`, `DT_RPATH of …`, `an earlier load by …`.
    pub reason: String,
}

/// An object that asks for an executable stack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutableStack {
    /// Where in which process.
    #[serde(flatten)]
    pub place: Place,
    /// The file.
    pub object: ObjectFacts,
    /// Release of the glibc that refuses it.
    pub glibc: String,
}

/// One process of the image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessFacts {
    /// `python` of the image or of an environment (`python (/opt/venv)`), or the path of a program.
    pub name: String,
    /// Whether it is the process that the image starts.
    pub main: bool,
    /// The executable.
    pub executable: String,
    /// Prefix of the Python environment; empty for other programs.
    pub environment: String,
    /// Release of glibc: `2.36`; empty for musl or if it is not known.
    pub glibc: String,
    /// The GPU packages that are imported, in order.
    pub imports: Vec<Import>,
    /// What it maps, in order; what is only loaded at first use comes last.
    pub objects: Vec<ObjectFacts>,
    /// The libraries of the host's driver that it uses, in order.
    pub driver_libraries: Vec<DriverLibrary>,
    /// Where LD_LIBRARY_PATH was read: `image` or, less certain, the path of the entrypoint script; empty if it is not set.
    pub library_path_from: String,
}

/// A library of the host's driver that a process uses, whether or not the image has a file of that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriverLibrary {
    /// The name that is asked for: `libnvcuvid.so.1`.
    pub library: String,
    /// The file that needs it or opens it.
    pub needed_by: String,
    /// The layer of `needed_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The package whose import or first use leads there; empty where a program starts.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: String,
    /// Opened at run time (dlopen), not listed as DT_NEEDED.
    pub opened: bool,
    /// The program goes on where it is not there.
    pub optional: bool,
    /// As [`Place::without`].
    pub without: String,
}

/// The import of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Import {
    /// Name of the distribution.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Whether it succeeds, as far as libraries decide.
    pub succeeds: bool,
}

/// One mapped file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObjectFacts {
    /// The file.
    pub path: String,
    /// The layer that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// DT_SONAME; empty if it has none.
    pub soname: String,
    /// The name that it was asked for by.
    pub request: String,
    /// Path of the object that asked; empty for the program itself and for what Python opens.
    pub requested_by: String,
    /// Why this file answered, for people: `DT_RPATH of libtorch_cuda.so`, `LD_LIBRARY_PATH`, `ld.so.cache` …
    pub reason: String,
    /// The same as one word: `executable`, `interpreter`, `preload`, `path`, `rpath`, `runpath`, `ld-library-path`, `cache`, `default`.
    pub found_by: String,
    /// The package whose import or first use led to it; empty for what the program starts with.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: String,
    /// RTLD_GLOBAL, or loaded at the start.
    pub global: bool,
    /// Which library it is, by its exports: `cudnn`, `cuda-runtime`, `torch-cuda` …; empty if no recipe knows it.
    pub library: String,
    /// Which part of a library in several files: `graph`; `stub`.
    pub part: String,
    /// The Python package directory that it lies in: `torch`, `torchvision`, `nvidia/cudnn`; empty outside of site-packages.
    pub directory: String,
    /// What its bytes tell: `version`, `built-with-cuda`, `compiled-cudnn` …, the strongest reading of each.
    pub readings: BTreeMap<String, String>,
    /// Major release of the CUDA that it belongs to, by its SONAME or readings; empty if it tells none.
    pub cuda: String,
}

/// `/etc/ld.so.cache`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CacheFacts {
    /// `current`, `stale`, `missing` or `corrupt`.
    pub state: String,
    /// The layer of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Libraries that running `ldconfig` would add, by path.
    pub unlisted: Vec<String>,
    /// Entries that lead to no file.
    pub dangling: Vec<String>,
    /// Entries that running `ldconfig` would drop, for their directory is not configured: somebody ran `ldconfig DIRECTORY`.
    pub dropped: Vec<String>,
}
