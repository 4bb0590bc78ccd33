//! A model as a tree for people: who needs what, where it was looked for, what answered and what else there is.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::describe::Describer;
use super::facts::{Import, ObjectFacts, is_zero};
use super::model::{Model, ModelledProcess};
use super::shadowed::origin_of;
use crate::image::FileIdentity;
use crate::loader::{Fault, Object, Tried};

/// So many files of the same name are listed.
const OTHERS: usize = 16;

/// All processes of one image.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tree {
    /// The processes, the one that the image starts first.
    pub processes: Vec<ProcessTree>,
    /// As [`super::facts::LoaderFacts::programs_left_out`].
    #[serde(skip_serializing_if = "is_zero")]
    pub programs_left_out: usize,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProcessTree {
    /// As [`super::facts::ProcessFacts::name`].
    pub name: String,
    /// Whether it is the process that the image starts.
    pub main: bool,
    /// LD_LIBRARY_PATH of the process; empty if it is not set.
    pub library_path: String,
    /// Where that was read; as [`super::facts::ProcessFacts::library_path_from`].
    pub library_path_from: String,
    /// The GPU packages that are imported, in order.
    pub imports: Vec<Import>,
    /// What it maps, in order.
    pub objects: Vec<Mapped>,
    /// What could not be loaded.
    pub failures: Vec<Failed>,
}

/// One mapped file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Mapped {
    /// What it is, and why it answered.
    #[serde(flatten)]
    pub facts: ObjectFacts,
    /// Place in `objects` of the one that asked for it first; absent for the program and for what Python or the program opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Places in `objects` of what its DT_NEEDED entries lead to, in order.
    pub needs: Vec<usize>,
    /// Where it was looked for before it was found, in order.
    pub searched: Vec<Searched>,
    /// Other files of that name or SONAME in the image, which this process does not map; at most 16.
    pub others: Vec<String>,
}

/// One place that was looked in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Searched {
    /// A directory, or `/etc/ld.so.cache`.
    pub place: String,
    /// Why it was looked in: `DT_RPATH of libtorch_cuda.so`, `LD_LIBRARY_PATH` …
    pub reason: String,
    /// A file of the name was there, for another machine.
    pub wrong_machine: bool,
}

/// What could not be loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Failed {
    /// The package whose import or first use it is; empty where a program starts.
    pub package: String,
    /// `start`, `import` or first `use`.
    pub when: String,
    /// The program goes on without it.
    pub optional: bool,
    /// The name that was asked for.
    pub library: String,
    /// Path of the object that needs or opens it; empty where Python or the program asks.
    pub needed_by: String,
    /// What the loader says.
    pub message: String,
    /// Where it was looked for, in order.
    pub searched: Vec<Searched>,
    /// Files of that name or SONAME in the image.
    pub others: Vec<String>,
}

impl Model<'_> {
    /// The tree of all processes.
    pub fn tree(&self) -> Tree {
        let describer = Describer::new(self.root, self.knowledge);
        let processes = self.processes.iter();
        Tree {
            processes: processes.map(|process| tree(&describer, process)).collect(),
            programs_left_out: self.left_out,
        }
    }
}

fn tree(describer: &Describer, process: &ModelledProcess) -> ProcessTree {
    let objects = process.run.objects();
    let mut others = Others::of(describer, objects);
    let mapped = objects.iter().map(|object| Mapped {
        facts: describer.loaded(process, object),
        parent: object.requester.filter(|id| *id != 0 || object.at_start),
        needs: object.needed.clone(),
        searched: object.searched.iter().map(searched).collect(),
        others: others.of_object(object),
    });
    let falls = process.run.falls.iter();
    let failures = falls.flat_map(|fall| {
        let faults = fall.failure.faults.iter();
        faults.map(|fault| Failed {
            package: fall.cause.package.clone(),
            when: fall.cause.when.to_owned(),
            optional: fall.optional,
            ..failed(describer, process, fault, &fall.opener)
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
        objects: mapped.collect(),
        failures: failures.collect(),
    }
}

/// Files of the same name or SONAME that the process does not map.
struct Others<'d, 'k, 'r> {
    describer: &'d Describer<'k, 'r>,
    mapped: HashSet<Option<FileIdentity>>,
    by_name: HashMap<String, Vec<String>>,
}

impl<'d, 'k, 'r> Others<'d, 'k, 'r> {
    fn of(describer: &'d Describer<'k, 'r>, objects: &[Object]) -> Self {
        Others {
            describer,
            mapped: objects.iter().map(|it| it.node.identity()).collect(),
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

fn failed(describer: &Describer, process: &ModelledProcess, fault: &Fault, opener: &str) -> Failed {
    let message = fault.message(process.system.family);
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
            searched: tried,
        } => Failed {
            library: name.clone(),
            needed_by: needed_by.clone().unwrap_or_else(|| opener.to_owned()),
            message,
            searched: tried.iter().map(searched).collect(),
            others: files(name),
            ..Failed::default()
        },
        Fault::Broken {
            name, needed_by, ..
        }
        | Fault::Limit {
            name, needed_by, ..
        } => Failed {
            library: name.clone(),
            needed_by: needed_by.clone().unwrap_or_else(|| opener.to_owned()),
            message,
            others: files(name),
            ..Failed::default()
        },
        Fault::Version { object, .. }
        | Fault::Symbol { object, .. }
        | Fault::ExecutableStack { object } => Failed {
            library: object.clone(),
            needed_by: opener.to_owned(),
            message,
            ..Failed::default()
        },
    }
}

fn searched(tried: &Tried) -> Searched {
    Searched {
        place: tried.place.to_string(),
        reason: origin_of(&tried.source),
        wrong_machine: tried.wrong_machine,
    }
}
