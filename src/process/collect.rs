//! The facts of all processes.

use std::collections::HashSet;

use super::cache;
use super::describer::Describer;
use super::facts::{DriverLibrary, LoaderFacts, ProcessFacts};
use super::faults;
use super::knowledge::Knowledge;
use super::model::{Model, ModeledProcess};
use super::shadowed;

impl Model<'_> {
    /// The facts of all processes.
    pub fn facts(&self) -> LoaderFacts {
        let describer = Describer::new(self.root, self.knowledge);
        let (cache, rebuilt) = cache::read(self);
        let mut facts = LoaderFacts {
            cache,
            programs_left_out: self.left_out,
            ..LoaderFacts::default()
        };
        for process in &self.processes {
            facts.processes.push(of_process(&describer, process));
            facts.shadowed.extend(shadowed::of(&describer, process));
            faults::record(&describer, process, &mut facts);
        }
        let answers = cache::answers(rebuilt.as_ref());
        for missing in facts.missing.iter_mut().filter(|it| it.broken.is_empty()) {
            let answer = answers.get(missing.library.as_str());
            missing.after_ldconfig = answer.copied().unwrap_or_default().to_owned();
        }
        facts.objects = facts.processes.first().map_or(0, |process| {
            let mapped = process.objects.iter().filter(|object| object.when != "use");
            mapped.count()
        });
        facts
    }
}

fn of_process(describer: &Describer, process: &ModeledProcess) -> ProcessFacts {
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
        driver_libraries: driver_libraries(describer.knowledge, process),
        library_path_from: process.library_path_from.clone(),
    }
}

/// The libraries of the driver that the objects of a process need or open, each once per object.
fn driver_libraries(knowledge: &Knowledge, process: &ModeledProcess) -> Vec<DriverLibrary> {
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
            when: cause.when.to_owned(),
            opened,
            optional: cause.optional,
            without: cause.without.clone(),
        });
    let mut seen = HashSet::new();
    libraries
        .filter(|it| seen.insert((it.library.clone(), it.needed_by.clone())))
        .collect()
}
