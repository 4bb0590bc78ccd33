//! What fails in a process, as facts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol as Mangled};

use super::describe::Describer;
use super::facts::{
    ExecutableStack, LoaderFacts, Missing, ObjectFacts, Place, Symbol, UndefinedSymbols,
    UnmetVersion,
};
use super::model::ModelledProcess;
use super::run::Fall;
use crate::image::Node;
use crate::loader::{Fault, ObjectId, Tried};

/// Bytes of a demangled name.
const WRITTEN: usize = 4096;
/// So many undefined symbols of one object are listed.
const SYMBOLS: usize = 20;
/// So many files of the same name are listed.
const FILES: usize = 16;

/// Adds all faults of a process.
pub(super) fn tell(describer: &Describer, process: &ModelledProcess, facts: &mut LoaderFacts) {
    let objects = objects_of(process);
    for fall in &process.run.falls {
        let place = Place {
            process: process.name.clone(),
            main: process.main,
            package: fall.cause.package.clone(),
            when: fall.cause.when.to_owned(),
            optional: fall.optional,
            without: fall.without.clone(),
            ..Place::default()
        };
        let teller = Teller {
            describer,
            process,
            objects: &objects,
            fall: Some(fall),
            place,
        };
        teller.tell(&fall.failure.faults, facts);
    }
    preloads(describer, process, &objects, facts);
    let calls = process.run.process.as_ref();
    for faults in by_object(calls.map(|it| it.undefined_calls()).unwrap_or_default()) {
        let package = package_of(process, &objects, &faults);
        let place = Place {
            process: process.name.clone(),
            main: process.main,
            package,
            when: "use".to_owned(),
            ..Place::default()
        };
        let teller = Teller {
            describer,
            process,
            objects: &objects,
            fall: None,
            place,
        };
        teller.tell(&faults, facts);
    }
}

/// Libraries that were to be loaded before all others: the loader passes over one that it cannot load (elf/rtld.c, `do_preload`).
fn preloads(
    describer: &Describer,
    process: &ModelledProcess,
    objects: &Objects,
    facts: &mut LoaderFacts,
) {
    let warnings = process
        .run
        .process
        .as_ref()
        .map_or(&[][..], |it| it.warnings());
    for fault in warnings {
        let (Fault::Missing { name, .. } | Fault::Broken { name, .. }) = fault else {
            continue;
        };
        let variable = process.system.environment.get("LD_PRELOAD");
        let from = match variable.is_some_and(|value| value.contains(name.as_str())) {
            true => "LD_PRELOAD",
            false => "/etc/ld.so.preload",
        };
        let problem = match fault {
            Fault::Broken { problem, .. } => problem.as_str(),
            _ => "cannot open shared object file",
        };
        let place = Place {
            process: process.name.clone(),
            main: process.main,
            when: "start".to_owned(),
            optional: true,
            ..Place::default()
        };
        let teller = Teller {
            describer,
            process,
            objects,
            fall: None,
            place,
        };
        let mut place = teller.place(fault, true);
        place.shown = format!(
            "ERROR: ld.so: object '{name}' from {from} cannot be preloaded ({problem}): ignored."
        );
        facts.missing.push(teller.missing(fault, place));
    }
}

/// Faults of symbols, object by object.
fn by_object(faults: Vec<Fault>) -> Vec<Vec<Fault>> {
    let mut groups: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
    for fault in faults {
        if let Fault::Symbol { object, .. } | Fault::Limit { name: object, .. } = &fault {
            groups.entry(object.clone()).or_default().push(fault);
        }
    }
    groups.into_values().collect()
}

/// The objects of a process by the path that the loader calls them by, the first of each.
type Objects<'t> = HashMap<&'t str, ObjectId>;

fn objects_of<'t>(process: &'t ModelledProcess) -> Objects<'t> {
    let objects = process.run.objects().iter().enumerate().rev();
    objects.map(|(id, it)| (it.path.as_str(), id)).collect()
}

fn package_of(process: &ModelledProcess, objects: &Objects, faults: &[Fault]) -> String {
    let Some(Fault::Symbol { object, .. }) = faults.first() else {
        return String::new();
    };
    let id = objects.get(object.as_str());
    let cause = id.and_then(|&id| process.run.causes.get(id));
    cause.map_or_else(String::new, |cause| cause.package.clone())
}

struct Teller<'t, 'k, 'r, 's> {
    describer: &'t Describer<'k, 'r>,
    process: &'t ModelledProcess<'s>,
    objects: &'t Objects<'t>,
    /// The failure; `None` for what only fails when it is called.
    fall: Option<&'t Fall<'s>>,
    place: Place,
}

impl Teller<'_, '_, '_, '_> {
    fn tell(&self, faults: &[Fault], facts: &mut LoaderFacts) {
        let mut symbols: BTreeMap<&str, UndefinedSymbols> = BTreeMap::new();
        let mut order = Vec::new();
        for (index, fault) in faults.iter().enumerate() {
            let place = self.place(fault, index == 0);
            match fault {
                Fault::Missing { .. } | Fault::Broken { .. } | Fault::Limit { .. } => {
                    facts.missing.push(self.missing(fault, place));
                }
                Fault::Version {
                    object,
                    version,
                    provider,
                } => facts
                    .unmet_versions
                    .push(self.unmet(place, object, version, provider)),
                Fault::Symbol { object, .. } => {
                    let known = symbols.entry(object).or_insert_with(|| {
                        order.push(object.as_str());
                        UndefinedSymbols {
                            place,
                            object: self.object(object),
                            called: self.fall.is_none(),
                            ..UndefinedSymbols::default()
                        }
                    });
                    self.add_symbol(known, fault);
                }
                Fault::ExecutableStack { object } => {
                    let glibc = self.process.system.glibc;
                    facts.executable_stacks.push(ExecutableStack {
                        place,
                        object: self.object(object),
                        glibc: glibc.map_or_else(String::new, |release| release.to_string()),
                    });
                }
            }
        }
        let found = order
            .into_iter()
            .filter_map(|object| symbols.remove(object));
        facts.undefined_symbols.extend(found);
    }

    fn place(&self, fault: &Fault, first: bool) -> Place {
        let shown = self.fall.map_or("", |fall| fall.shown.as_str());
        Place {
            first,
            message: fault.message(self.process.system.family),
            shown: match first {
                true => shown.to_owned(),
                false => String::new(),
            },
            ..self.place.clone()
        }
    }

    fn missing(&self, fault: &Fault, place: Place) -> Missing {
        let (name, needed_by, broken, searched) = match fault {
            Fault::Missing {
                name,
                needed_by,
                searched,
            } => (name, needed_by, "", searched.as_slice()),
            Fault::Broken {
                name,
                needed_by,
                path,
                ..
            } => (name, needed_by, path.as_str(), [].as_slice()),
            Fault::Limit {
                name, needed_by, ..
            } => (name, needed_by, "", [].as_slice()),
            _ => return Missing::default(),
        };
        let file = name.rsplit('/').next().unwrap_or(name);
        let (fit, other) = self.elsewhere(file, broken);
        let opener = self.fall.map_or("", |fall| fall.opener.as_str());
        let needed = needed_by.as_deref().unwrap_or(opener);
        let user = self.describer.root.resolve(needed).ok();
        let opened = needed_by.is_none() && place.when != "start";
        let alternatives = self.fall.filter(|_| opened);
        Missing {
            library: name.clone(),
            needed_by: needed.to_owned(),
            layer: user
                .filter(|_| !needed.is_empty())
                .and_then(|it| it.layer()),
            opened,
            alternatives: alternatives.map_or_else(Vec::new, |fall| fall.alternatives.clone()),
            host_provided: self.describer.knowledge.is_host_provided(name),
            broken: broken.to_owned(),
            wrong_machine: other,
            elsewhere: fit,
            // Filled in for all at once.
            after_ldconfig: String::new(),
            searched: places(searched),
            place,
        }
    }

    /// Files of a name or SONAME for this machine, and for others.
    fn elsewhere(&self, name: &str, but: &str) -> (Vec<String>, Vec<String>) {
        let mut fit = Vec::new();
        let mut other = Vec::new();
        for node in self.describer.named(name) {
            let path = node.path();
            let Some(elf) = node.elf().filter(|_| path != but) else {
                continue;
            };
            let system = self.process.system;
            match (elf.machine, elf.class) == (system.machine, system.class) {
                true => fit.push(path),
                false => other.push(path),
            }
        }
        fit.truncate(FILES);
        other.truncate(FILES);
        (fit, other)
    }

    fn unmet(&self, place: Place, object: &str, version: &str, provider: &str) -> UnmetVersion {
        let file = self.describer.root.resolve(provider).ok();
        let elf = file.and_then(Node::elf);
        let newest = elf.and_then(|elf| self.describer.newest.of_kind(elf, version));
        UnmetVersion {
            place,
            object: self.object(object),
            provider: self.object(provider),
            version: version.to_owned(),
            newest: newest.unwrap_or_default().to_owned(),
        }
    }

    fn add_symbol(&self, known: &mut UndefinedSymbols, fault: &Fault) {
        let Fault::Symbol {
            symbol,
            version,
            provider,
            ..
        } = fault
        else {
            return;
        };
        known.count += 1;
        if known.provider.is_none() && known.count == 1 {
            known.provider = provider.as_deref().map(|path| self.object(path));
        }
        if known.symbols.len() < SYMBOLS {
            known.symbols.push(Symbol {
                name: symbol.clone(),
                demangled: demangled(symbol),
                version: version.clone().unwrap_or_default(),
            });
        }
    }

    /// An object by the path that the loader calls it by: loaded, or loaded and discarded again.
    fn object(&self, path: &str) -> ObjectFacts {
        if let Some(&id) = self.objects.get(path) {
            let object = &self.process.run.objects()[id];
            return self.describer.loaded(self.process, object);
        }
        let Ok(node) = self.describer.root.resolve(path) else {
            return ObjectFacts {
                path: path.to_owned(),
                ..ObjectFacts::default()
            };
        };
        ObjectFacts {
            package: self.place.package.clone(),
            when: self.place.when.clone(),
            ..self.describer.file(self.process, node, path)
        }
    }
}

fn places(searched: &[Tried]) -> Vec<String> {
    let mut known = HashSet::new();
    let places = searched.iter().map(|tried| &tried.place);
    let places = places.filter(|place| known.insert(*place));
    places.map(ToString::to_string).collect()
}

/// A symbol as it is written in C++; as it is, if it is not mangled, or if it is longer than a person would read (a short name can
/// stand for gigabytes).
fn demangled(symbol: &str) -> String {
    struct Short(String);
    impl DemangleWrite for Short {
        fn write_string(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > WRITTEN {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mangled = symbol.starts_with("_Z").then(|| Mangled::new(symbol).ok());
    let mut short = Short(String::new());
    let written = mangled.flatten().and_then(|it| {
        let options = DemangleOptions::default();
        it.structured_demangle(&mut short, &options).ok()
    });
    match written {
        Some(()) => short.0,
        None => symbol.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_demangled() {
        assert_eq!(
            demangled("_ZN3c104cuda9SetDeviceEa"),
            "c10::cuda::SetDevice(signed char)"
        );
        assert_eq!(demangled("cudaMalloc"), "cudaMalloc");
        assert_eq!(demangled("_Zbroken"), "_Zbroken");
    }
}
