//! A model as a tree: who needs what, where it was searched for, what answered, and which other copies exist.

use super::cause::When;
use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::describer::Describer;
use super::facts::{DriverLibrary, Import, ObjectFacts, is_zero};
use super::playback::LoadFailure;
use super::program::ModeledProcess;
use super::reasons;
use imgcheck_image::FileIdentity;
use imgcheck_loader::{Failure, Fault, Object, SearchedDirectory};

/// Files of the same name that are listed.
const OTHERS: usize = 16;

/// All processes of an image.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tree {
    /// The processes, the one that the image starts first.
    pub processes: Vec<ProcessTree>,
    /// Same as [`super::facts::LoaderFacts::programs_left_out`].
    #[serde(skip_serializing_if = "is_zero")]
    pub programs_left_out: usize,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProcessTree {
    /// Same as [`super::facts::ProcessFacts::name`].
    pub name: String,
    /// The image starts this process.
    pub main: bool,
    /// LD_LIBRARY_PATH of the process; empty if it is not set.
    pub library_path: String,
    /// Who sets it; as [`super::facts::ProcessFacts::library_path_from`].
    pub library_path_from: String,
    /// The GPU packages that are imported, in order.
    pub imports: Vec<Import>,
    /// The mapped files, in load order, and then those that a failed load had mapped.
    pub objects: Vec<MappedObject>,
    /// What could not be loaded, in order.
    pub failures: Vec<FailedLoad>,
    /// Same as [`super::facts::ProcessFacts::driver_libraries`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub driver_libraries: Vec<DriverLibrary>,
}

/// One mapped file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MappedObject {
    /// The file, and why it answered.
    #[serde(flatten)]
    pub facts: ObjectFacts,
    /// Index in `objects` of the first requester; absent for the program and for what Python or the program opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Indexes in `objects` of what its DT_NEEDED entries resolve to, in order.
    pub needs: Vec<usize>,
    /// The directories that were searched before it was found, in order.
    pub searched: Vec<Searched>,
    /// Other files of this name or SONAME in the image that this process does not map; at most 16.
    pub others: Vec<String>,
    /// The loader unmapped it again, because the load that it was mapped for failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unmapped: bool,
}

/// A directory that was searched without success.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Searched {
    /// A directory, or `/etc/ld.so.cache`.
    pub place: String,
    /// The search path that lists it: `DT_RPATH of libtorch_cuda.so`, `LD_LIBRARY_PATH` …
    pub reason: String,
    /// It holds a file of the name for a different machine.
    pub wrong_machine: bool,
}

/// A library that could not be loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FailedLoad {
    /// The package whose import or first use fails; empty at program start.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: When,
    /// The program continues without it.
    pub optional: bool,
    /// The requested name.
    pub library: String,
    /// Path of the object that needs or opens it; empty if Python or the program does.
    pub needed_by: String,
    /// The loader's message.
    pub message: String,
    /// The directories that were searched, in order.
    pub searched: Vec<Searched>,
    /// Files of this name or SONAME in the image.
    pub others: Vec<String>,
}

/// The tree of a process.
pub(super) fn of(describer: &Describer, process: &ModeledProcess) -> ProcessTree {
    let objects = process.playback.objects();
    let failed_loads = || process.playback.failures.iter().filter(|it| !it.optional);
    let unmapped = failed_loads().flat_map(|it| &it.failure.discarded);
    let mut others = Others::of(describer, objects.iter().chain(unmapped));
    let mapped = objects.iter().map(|object| MappedObject {
        facts: describer.loaded(process, object),
        parent: object.requester.filter(|id| *id != 0 || object.at_start),
        needs: object.needed.clone(),
        searched: object.searched.iter().map(searched).collect(),
        others: others.of_object(object),
        unmapped: false,
    });
    let mut mapped: Vec<MappedObject> = mapped.collect();
    let known = objects.iter().enumerate();
    let mut known = known.map(|(id, it)| (it.node.identity(), id)).collect();
    for load in failed_loads() {
        add_unmapped(
            describer,
            process,
            load,
            &mut known,
            &mut others,
            &mut mapped,
        );
    }
    let failures = process.playback.failures.iter().flat_map(|it| {
        let faults = it.failure.faults.iter();
        faults.map(|fault| FailedLoad {
            package: it.cause.package.clone(),
            when: it.cause.when,
            optional: it.optional,
            ..failed(describer, process, fault, &it.opener)
        })
    });
    ProcessTree {
        name: process.name.clone(),
        main: process.main,
        library_path: process
            .system
            .environment
            .get("LD_LIBRARY_PATH")
            .cloned()
            .unwrap_or_default(),
        library_path_from: process.library_path_from.clone(),
        imports: process.imports.clone(),
        objects: mapped,
        failures: failures.collect(),
        driver_libraries: Vec::new(),
    }
}

/// Adds what a failed load had mapped; `known` are the files that are in the tree already, with their indexes.
fn add_unmapped(
    describer: &Describer,
    process: &ModeledProcess,
    load: &LoadFailure,
    known: &mut HashMap<Option<FileIdentity>, usize>,
    others: &mut Others,
    tree: &mut Vec<MappedObject>,
) {
    let Failure {
        discarded,
        first_discarded,
        ..
    } = &load.failure;
    let mut indexes = Vec::new();
    let mut new = Vec::new();
    for object in discarded {
        let next = tree.len() + new.len();
        let index = *known.entry(object.node.identity()).or_insert(next);
        indexes.push(index);
        if index == next {
            new.push(object);
        }
    }
    let index_of = |id: usize| match id.checked_sub(*first_discarded) {
        Some(place) => indexes.get(place).copied(),
        None => Some(id),
    };
    for object in new {
        let parent = object.requester.and_then(index_of);
        let parent = parent.filter(|id| *id != 0 || object.at_start);
        let requested_by = parent.and_then(|id| tree.get(id));
        tree.push(MappedObject {
            facts: ObjectFacts {
                package: load.cause.package.clone(),
                when: load.cause.when,
                requested_by: requested_by.map_or_else(String::new, |it| it.facts.path.clone()),
                ..describer.loaded(process, object)
            },
            parent,
            needs: object.needed.iter().copied().filter_map(index_of).collect(),
            searched: object.searched.iter().map(searched).collect(),
            others: others.of_object(object),
            unmapped: true,
        });
    }
}

/// Files of the same name or SONAME that the process does not map.
struct Others<'d, 'k, 'r> {
    describer: &'d Describer<'k, 'r>,
    mapped: HashSet<Option<FileIdentity>>,
    by_name: HashMap<String, Vec<String>>,
}

impl<'d, 'k, 'r> Others<'d, 'k, 'r> {
    fn of<'o>(
        describer: &'d Describer<'k, 'r>,
        objects: impl Iterator<Item = &'o Object<'o>>,
    ) -> Self {
        Others {
            describer,
            mapped: objects.map(|it| it.node.identity()).collect(),
            by_name: HashMap::new(),
        }
    }

    fn of_object(&mut self, object: &Object) -> Vec<String> {
        let name = object.elf.soname.as_deref().unwrap_or(object.node.name());
        if let Some(known) = self.by_name.get(name) {
            return known.clone();
        }
        let files = self.describer.named(name).iter();
        let files = files.filter(|node| !self.mapped.contains(&node.identity()));
        let paths: Vec<String> = files.take(OTHERS).map(|node| node.path()).collect();
        self.by_name.insert(name.to_owned(), paths.clone());
        paths
    }
}

fn failed(
    describer: &Describer,
    process: &ModeledProcess,
    fault: &Fault,
    opener: &str,
) -> FailedLoad {
    let message = fault.message(process.system.libc);
    let files = |name: &str| {
        describer
            .named(name)
            .iter()
            .take(OTHERS)
            .map(|node| node.path())
            .collect()
    };
    match fault {
        Fault::Missing {
            name,
            needed_by,
            searched: directories,
        } => FailedLoad {
            library: name.clone(),
            needed_by: needed_by.clone().unwrap_or_else(|| opener.to_owned()),
            message,
            searched: directories.iter().map(searched).collect(),
            others: files(name),
            ..FailedLoad::default()
        },
        Fault::Broken {
            name, needed_by, ..
        } => FailedLoad {
            library: name.clone(),
            needed_by: needed_by.clone().unwrap_or_else(|| opener.to_owned()),
            message,
            others: files(name),
            ..FailedLoad::default()
        },
        Fault::Version { object, .. }
        | Fault::Symbol { object, .. }
        | Fault::ExecutableStack { object } => FailedLoad {
            library: object.clone(),
            needed_by: opener.to_owned(),
            message,
            ..FailedLoad::default()
        },
    }
}

fn searched(searched: &SearchedDirectory) -> Searched {
    Searched {
        place: searched.directory.to_string(),
        reason: reasons::search_path(&searched.search_path),
        wrong_machine: searched.wrong_machine,
    }
}
