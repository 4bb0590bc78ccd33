//! The facts of all processes.

use super::cause::{FoundBy, When};
use std::collections::HashSet;

use super::cache::{self, Index};
use super::describer::Describer;
use super::facts::{DriverLibrary, LoaderFacts, ObjectFacts, ProcessFacts};
use super::faults;
use super::hosts::Hosts;
use super::model::Programs;
use super::modules::NativeModules;
use super::program::ModeledProcess;
use super::tree::{self, ProcessTree, Tree};
use super::{shadowed, shared_faults};
use imgcheck_base::error::Result;

impl Programs<'_, '_> {
    /// Plays the processes, one after the other so that only one is in memory, and returns their facts and, with `trees`, their trees.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn play(&self, trees: bool) -> Result<(LoaderFacts, Tree)> {
        let describer = Describer::new(self.root, self.knowledge);
        let mut facts = LoaderFacts {
            programs_left_out: self.left_out,
            unreadable: self.unreadable.clone(),
            ..LoaderFacts::default()
        };
        let mut tree = Tree::default();
        let programs = self.programs.iter().map(|it| (it, true));
        let programs = programs.chain(self.commands.iter().map(|it| (it, false)));
        let systems = programs.clone().map(|(program, _)| &*program.system);
        let index = Index::of(self.root, systems);
        let rebuilt = index.as_ref().and_then(Index::changed);
        let hosts = Hosts::of(self.root, rebuilt);
        let mut modules = NativeModules::new(&self.modules);
        for (program, is_for_gpus) in programs {
            let mut process = program.play(self.root, self.knowledge)?;
            let is_listed = is_for_gpus || !process.starts();
            if is_listed {
                add(&describer, &process, index.as_ref(), &mut facts);
                hosts.compare(&describer, program, &mut facts)?;
            }
            if trees && (is_listed || tree.processes.is_empty()) {
                let own = facts.processes.last();
                tree.processes.push(ProcessTree {
                    driver_libraries: own
                        .map(|it| it.driver_libraries.clone())
                        .unwrap_or_default(),
                    ..tree::of(&describer, &process)
                });
            }
            modules.check(&describer, &program.setup, &mut process, &mut facts)?;
        }
        for program in &self.without_packages {
            let mut process = program.play(self.root, self.knowledge)?;
            modules.check(&describer, &program.setup, &mut process, &mut facts)?;
        }
        shared_faults::mark(&mut facts);
        if trees {
            tree.programs_left_out = self.left_out;
        }
        let own = self.programs.iter();
        let own = own.filter(|program| program.system.uses_system_cache());
        let own = own.map(|program| program.name.as_str()).collect();
        cache::add(index.as_ref(), &own, &mut facts);
        Ok((facts, tree))
    }
}

/// Adds the facts of a process; the main process comes first.
fn add(
    describer: &Describer,
    process: &ModeledProcess,
    index: Option<&Index>,
    facts: &mut LoaderFacts,
) {
    let own = of_process(describer, process, index);
    if facts.processes.is_empty() {
        let mapped = own.objects.iter().filter(|object| object.when != When::Use);
        facts.objects = mapped.count();
    }
    facts.processes.push(own);
    facts.shadowed.extend(shadowed::of(describer, process));
    faults::record(describer, process, facts);
}

fn of_process(
    describer: &Describer,
    process: &ModeledProcess,
    index: Option<&Index>,
) -> ProcessFacts {
    let objects = process.playback.objects().iter();
    let glibc = process.system.glibc;
    ProcessFacts {
        name: process.name.clone(),
        main: process.main,
        executable: process.executable.clone(),
        environment: process.environment.clone(),
        glibc: glibc.map_or_else(String::new, |release| release.to_string()),
        imports: process.imports.clone(),
        objects: objects
            .map(|object| describer.loaded(process, object))
            .collect(),
        driver_libraries: driver_libraries(describer, process, index),
        library_path_from: process.library_path_from.clone(),
    }
}

/// The libraries of the driver that the objects of a process need or open, each once per object.
fn driver_libraries(
    describer: &Describer,
    process: &ModeledProcess,
    index: Option<&Index>,
) -> Vec<DriverLibrary> {
    let knowledge = describer.knowledge;
    let playback = &process.playback;
    let objects = playback.objects();
    let needed = objects
        .iter()
        .zip(&playback.causes)
        .flat_map(|(object, cause)| {
            let of_driver = object.elf.needed.iter();
            let of_driver = of_driver.filter(|name| knowledge.is_host_provided(name));
            of_driver.map(move |name| (object, cause, name, false))
        });
    let opened = playback.driver.iter().filter_map(|request| {
        let object = objects.get(request.opener)?;
        Some((object, &request.cause, &request.library, true))
    });
    let libraries = needed
        .chain(opened)
        .map(|(object, cause, library, opened)| DriverLibrary {
            library: library.clone(),
            needed_by: object.node.path(),
            layer: object.node.layer(),
            package: cause.package.clone(),
            when: cause.when,
            opened,
            optional: cause.optional,
            without: cause.without,
            after_ldconfig: substitute(describer, process, index, library),
        });
    let mut seen = HashSet::new();
    libraries
        .filter(|it| seen.insert((it.library.clone(), it.needed_by.clone())))
        .collect()
}

/// The file that a process finds instead of a library of the host, once `ldconfig` has run.
fn substitute(
    describer: &Describer,
    process: &ModeledProcess,
    index: Option<&Index>,
    library: &str,
) -> Option<ObjectFacts> {
    let index = index.filter(|_| process.system.uses_system_cache())?;
    let environment = &process.system.environment;
    let searched_before = environment
        .get("LD_LIBRARY_PATH")
        .map_or("", String::as_str);
    let mut searched_before = searched_before.split([':', ';']);
    if searched_before.any(|directory| index.is_of_system(directory)) {
        return None;
    }
    let found = index.substitute(library)?;
    Some(ObjectFacts {
        request: library.to_owned(),
        reason: found.origin,
        found_by: FoundBy::Cache,
        ..describer.file(process, found.node, found.path)
    })
}
