//! The loader model as expressions see it: its facts, and beside them what many rules would otherwise each work out again.
//!
//! - A fault has `outcome`, what comes of it in words, and `role`.
//! - `role` tells how much a process matters: `main` (the image starts it), `environment` (another Python environment) or
//!   `program` (another program).
//! - The objects of all processes are in one list, `mapped`, each with its `process` and `role`, and not in the processes: CEL copies
//!   what it iterates over, and a rule that looks at each process needs few of them. The list is only made for a rule that asks.
//! - A process has `libraries`: its objects by the library that they are, in the order in which they are loaded. A library that
//!   the process does not load is not there, so that a rule which asks for it does not apply.
//! - `sets` are the libraries that come in several files, such as cuDNN: the `objects` of one `library` and one `number` behind
//!   `.so.` in a process.

use imgcheck_model::process::cause::{When, Without};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use imgcheck_model::process::facts::{
    CacheFacts, DriverLibrary, ExecutableStack, FaultContext, HostFault, Import, LoaderFacts,
    Missing, ObjectFacts, ProcessFacts, Shadowed, UndefinedSymbols, UnmetVersion, Unreadable,
};

/// Writes the loader model as expressions see it.
///
/// # Errors
///
/// As the serializer.
pub fn serialize<S: Serializer>(
    facts: &Option<Arc<LoaderFacts>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    facts.as_deref().map(LoaderView::of).serialize(serializer)
}

/// The loader model with what expressions see beside its facts.
#[derive(Serialize, JsonSchema)]
pub struct LoaderView<'f> {
    objects: usize,
    missing: Vec<Fault<'f, Missing>>,
    unmet_versions: Vec<Fault<'f, UnmetVersion>>,
    undefined_symbols: Vec<Fault<'f, UndefinedSymbols>>,
    shadowed: Vec<Copy<'f>>,
    executable_stacks: Vec<Fault<'f, ExecutableStack>>,
    host_faults: Vec<Fault<'f, HostFault>>,
    unreadable: Vec<UnreadableView<'f>>,
    processes: Vec<Process<'f>>,
    sets: Vec<Set<'f>>,
    /// The objects of all processes. Only made for expressions that name it: see [`mapped`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mapped: Vec<Mapped<'f>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'f CacheFacts>,
}

#[derive(Serialize, JsonSchema)]
struct Fault<'f, T> {
    outcome: String,
    role: &'static str,
    #[serde(flatten)]
    facts: &'f T,
}

#[derive(Serialize, JsonSchema)]
struct Copy<'f> {
    role: &'static str,
    #[serde(flatten)]
    facts: &'f Shadowed,
}

#[derive(Serialize, JsonSchema)]
struct UnreadableView<'f> {
    role: &'static str,
    #[serde(flatten)]
    facts: &'f Unreadable,
}

#[derive(Serialize, JsonSchema)]
struct Process<'f> {
    name: &'f str,
    main: bool,
    role: &'static str,
    executable: &'f str,
    environment: &'f str,
    glibc: &'f str,
    library_path_from: &'f str,
    imports: &'f [Import],
    driver_libraries: &'f [DriverLibrary],
    libraries: BTreeMap<&'f str, Vec<&'f ObjectFacts>>,
}

/// One element of `loader.mapped`.
#[derive(Serialize, JsonSchema)]
pub struct Mapped<'f> {
    process: &'f str,
    role: &'static str,
    #[serde(flatten)]
    object: &'f ObjectFacts,
}

#[derive(Serialize, JsonSchema)]
struct Set<'f> {
    process: &'f str,
    role: &'static str,
    library: &'f str,
    number: &'f str,
    objects: Vec<&'f ObjectFacts>,
}

impl<'f> LoaderView<'f> {
    fn of(facts: &'f LoaderFacts) -> Self {
        LoaderView {
            objects: facts.objects,
            missing: faults(&facts.missing, |fault| &fault.context),
            unmet_versions: faults(&facts.unmet_versions, |fault| &fault.context),
            undefined_symbols: faults(&facts.undefined_symbols, |fault| &fault.context),
            shadowed: facts.shadowed.iter().map(Copy::of).collect(),
            executable_stacks: faults(&facts.executable_stacks, |fault| &fault.context),
            host_faults: faults(&facts.host_faults, |fault| &fault.context),
            unreadable: facts.unreadable.iter().map(UnreadableView::of).collect(),
            processes: facts.processes.iter().map(Process::of).collect(),
            sets: facts
                .processes
                .iter()
                .flat_map(|process| sets(process, facts))
                .collect(),
            mapped: Vec::new(),
            cache: facts.cache.as_ref(),
        }
    }
}

fn faults<T>(facts: &[T], place: impl Fn(&T) -> &FaultContext) -> Vec<Fault<'_, T>> {
    let fault = |facts| {
        let place = place(facts);
        Fault {
            outcome: outcome(place),
            role: role(place.main, &place.process),
            facts,
        }
    };
    facts.iter().map(fault).collect()
}

impl<'f> Copy<'f> {
    fn of(facts: &'f Shadowed) -> Self {
        Copy {
            role: role(facts.main, &facts.process),
            facts,
        }
    }
}

impl<'f> UnreadableView<'f> {
    fn of(facts: &'f Unreadable) -> Self {
        UnreadableView {
            role: role(facts.main, &facts.process),
            facts,
        }
    }
}

impl<'f> Process<'f> {
    fn of(facts: &'f ProcessFacts) -> Self {
        let mut libraries: BTreeMap<&str, Vec<&ObjectFacts>> = BTreeMap::new();
        for object in facts
            .objects
            .iter()
            .filter(|object| !object.library.is_empty())
        {
            libraries.entry(&object.library).or_default().push(object);
        }
        Process {
            name: &facts.name,
            main: facts.main,
            role: role(facts.main, &facts.name),
            executable: &facts.executable,
            environment: &facts.environment,
            glibc: &facts.glibc,
            library_path_from: &facts.library_path_from,
            imports: &facts.imports,
            driver_libraries: &facts.driver_libraries,
            libraries,
        }
    }
}

/// `loader.mapped`.
pub fn mapped(facts: &LoaderFacts) -> Vec<Mapped<'_>> {
    let all = facts.processes.iter().flat_map(|process| {
        process.objects.iter().map(|object| Mapped {
            process: &process.name,
            role: role(process.main, &process.name),
            object,
        })
    });
    all.collect()
}

/// The libraries of a process that come in parts, stubs left out; with the parts that are found and then cannot be loaded, for
/// they still belong to the set.
fn sets<'f>(process: &'f ProcessFacts, facts: &'f LoaderFacts) -> Vec<Set<'f>> {
    let symbols = facts.undefined_symbols.iter();
    let versions = facts.unmet_versions.iter();
    let refused = symbols
        .map(|fault| (&fault.context, &fault.object))
        .chain(versions.map(|fault| (&fault.context, &fault.object)))
        .filter(|(place, _)| place.process == process.name)
        .map(|(_, object)| object);
    let mut seen = BTreeSet::new();
    let mut sets: BTreeMap<(&str, &str), Vec<&ObjectFacts>> = BTreeMap::new();
    let objects = process.objects.iter().chain(refused);
    for object in objects.filter(|object| seen.insert(object.path.as_str())) {
        let number = object.soname.rsplit_once(".so.").map(|(_, number)| number);
        let number = number.and_then(|number| number.split('.').next());
        if let Some(number) = number
            && !object.part.is_empty()
            && object.part != "stub"
        {
            sets.entry((&object.library, number))
                .or_default()
                .push(object);
        }
    }
    let set = |((library, number), objects)| Set {
        process: &process.name,
        role: role(process.main, &process.name),
        library,
        number,
        objects,
    };
    sets.into_iter().map(set).collect()
}

/// A process that is no Python environment has the path of its program as its name.
fn role(main: bool, process: &str) -> &'static str {
    match main {
        true => "main",
        false if process.starts_with('/') => "program",
        false => "environment",
    }
}

/// What comes of a fault, in words: `importing torch fails`, `the first use of onnxruntime in python (/opt/venv) falls back to
/// the CPU`.
fn outcome(place: &FaultContext) -> String {
    let (process, package) = (&place.process, &place.package);
    let attempt = match place.when {
        When::Start => format!("starting {process}"),
        When::Import if place.without == Without::Module => {
            format!("importing a module of {package}")
        }
        When::Import => format!("importing {package}"),
        _ if package.is_empty() => "its first use".to_owned(),
        _ if !place.breaks.is_empty() => {
            format!("the first use of {} ({package})", place.breaks)
        }
        _ => format!("the first use of {package}"),
    };
    let elsewhere = match place.main || place.when == When::Start {
        true => String::new(),
        false => format!(" in {process}"),
    };
    let result = match (place.optional, place.without) {
        (true, Without::Gpu) => "falls back to the CPU",
        (true, Without::Package) => "leaves the package unusable",
        (false, _) | (true, Without::Module) => "fails",
        (true, _) => "goes on without a library",
    };
    format!("{attempt}{elsewhere} {result}{}", processors(place))
}

/// The processors on which a fault occurs, if that depends on them.
fn processors(place: &FaultContext) -> &'static str {
    let is_absent = |name: &str| place.absent_on.iter().any(|host| host == name);
    match (is_absent("x86-64-v2"), is_absent("x86-64-v4")) {
        (true, true) => " on processors of level x86-64-v3, and not on others",
        (true, false) => " on processors of level x86-64-v3 and above",
        (false, true) => " on processors below level x86-64-v4",
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_name_the_process_where_it_is_another_one() {
        let place = |when, package: &str, main, without| FaultContext {
            process: "python (/opt/venv)".to_owned(),
            package: package.to_owned(),
            when,
            main,
            optional: without != Without::Unknown,
            without,
            ..FaultContext::default()
        };
        for (place, expected) in [
            (
                place(When::Import, "torch", true, Without::Unknown),
                "importing torch fails",
            ),
            (
                place(When::Import, "torch", false, Without::Unknown),
                "importing torch in python (/opt/venv) fails",
            ),
            (
                place(When::Use, "torch", true, Without::Gpu),
                "the first use of torch falls back to the CPU",
            ),
            (
                place(When::Use, "", false, Without::Unknown),
                "its first use in python (/opt/venv) fails",
            ),
            (
                place(When::Start, "", false, Without::Unknown),
                "starting python (/opt/venv) fails",
            ),
            (
                place(When::Import, "torchvision", true, Without::Package),
                "importing torchvision leaves the package unusable",
            ),
        ] {
            assert_eq!(outcome(&place), expected);
        }
    }

    #[test]
    fn roles() {
        assert_eq!(role(true, "/usr/bin/server"), "main");
        assert_eq!(role(false, "/usr/bin/server"), "program");
        assert_eq!(role(false, "python (/opt/venv)"), "environment");
    }

    #[test]
    fn a_process_lists_its_libraries_in_load_order() {
        let object = |path: &str, library: &str| ObjectFacts {
            path: path.to_owned(),
            library: library.to_owned(),
            ..ObjectFacts::default()
        };
        let facts = ProcessFacts {
            objects: vec![
                object("/b", "cudnn"),
                object("/c", ""),
                object("/a", "cudnn"),
            ],
            ..ProcessFacts::default()
        };
        let libraries = Process::of(&facts).libraries;
        let paths: Vec<&str> = libraries["cudnn"]
            .iter()
            .map(|object| object.path.as_str())
            .collect();
        assert_eq!((libraries.len(), paths), (1, vec!["/b", "/a"]));
    }
}
