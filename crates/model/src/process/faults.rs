//! What fails in a process, as facts.

use super::cause::When;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol as Mangled};

use super::describer::Describer;
use super::facts::{
    ExecutableStack, FaultContext, LoaderFacts, Missing, ObjectFacts, Symbol, UndefinedSymbols,
    UnmetVersion,
};
use super::playback::{Cause, LoadFailure};
use super::program::ModeledProcess;
use super::variants::variants_of;
use imgcheck_base::lexical::name_of;
use imgcheck_image::{Access, Node};
use imgcheck_loader::{Fault, ObjectId, SearchedDirectory};

/// Longest demangled name, in bytes.
const DEMANGLED_BYTES: usize = 4096;
/// Undefined symbols that are listed per object.
const LISTED_SYMBOLS: usize = 20;
/// Files of the same name that are listed.
const LISTED_FILES: usize = 16;

/// Files with the name or SONAME of a library that is not found.
#[derive(Default)]
struct Namesakes {
    /// Those that the process could load.
    readable: Vec<String>,
    /// Those that its user may not read.
    unreadable: Vec<String>,
    of_other_machines: Vec<String>,
}

/// Adds the faults of a process to the facts.
pub(super) fn record(describer: &Describer, process: &ModeledProcess, facts: &mut LoaderFacts) {
    let recorder = Recorder::new(describer, process);
    let mut on_gpus = LoaderFacts::default();
    recorder.record_failures(&process.playback.gpu_failures, &mut on_gpus);
    facts.missing_on_gpus.append(&mut on_gpus.missing);
    recorder.record_failures(&process.playback.failures, facts);
    recorder.record_preloads(facts);
    recorder.record_calls(facts);
}

/// Adds failures of a process to the facts.
pub(super) fn record_failures(
    describer: &Describer,
    process: &ModeledProcess,
    failures: &[LoadFailure],
    facts: &mut LoaderFacts,
) {
    Recorder::new(describer, process).record_failures(failures, facts);
}

/// One request of the program, or a function that it calls later.
struct Attempt<'t> {
    context: FaultContext,
    /// `None` if the fault occurs when a function is called.
    failure: Option<&'t LoadFailure<'t>>,
}

struct Recorder<'t, 'k, 'r, 's> {
    describer: &'t Describer<'k, 'r>,
    process: &'t ModeledProcess<'s>,
    /// The first object of each path.
    objects: HashMap<&'t str, ObjectId>,
}

impl<'t, 'k, 'r, 's> Recorder<'t, 'k, 'r, 's> {
    fn new(describer: &'t Describer<'k, 'r>, process: &'t ModeledProcess<'s>) -> Self {
        let objects = process.playback.objects().iter().enumerate().rev();
        Recorder {
            describer,
            process,
            objects: objects.map(|(id, it)| (it.path.as_str(), id)).collect(),
        }
    }

    fn record_failures(&self, failures: &[LoadFailure], facts: &mut LoaderFacts) {
        for failure in failures {
            let context = FaultContext {
                optional: failure.optional,
                without: failure.without,
                breaks: failure.breaks.clone(),
                tried: failure.tried.clone(),
                ..self.context(&failure.cause)
            };
            let attempt = Attempt {
                context,
                failure: Some(failure),
            };
            self.record(&attempt, &failure.failure.faults, facts);
        }
    }

    fn context(&self, cause: &Cause) -> FaultContext {
        FaultContext {
            process: self.process.name.clone(),
            main: self.process.main,
            package: cause.package.clone(),
            when: cause.when,
            ..FaultContext::default()
        }
    }

    /// Libraries that could not be preloaded, which ld.so skips with a message (elf/rtld.c, `do_preload`).
    fn record_preloads(&self, facts: &mut LoaderFacts) {
        let started = self.process.playback.process.as_ref();
        for fault in started.map_or(&[][..], |it| it.warnings()) {
            let (name, problem) = match fault {
                Fault::Missing { name, .. } => (name, "cannot open shared object file"),
                Fault::Broken { name, problem, .. } => (name, problem.as_str()),
                _ => continue,
            };
            let variable = self.process.system.environment.get("LD_PRELOAD");
            let from = match variable.is_some_and(|value| value.contains(name.as_str())) {
                true => "LD_PRELOAD",
                false => "/etc/ld.so.preload",
            };
            let attempt = Attempt {
                context: FaultContext {
                    optional: true,
                    ..self.context(&Cause {
                        when: When::Start,
                        ..Cause::default()
                    })
                },
                failure: None,
            };
            let mut context = self.context_of(&attempt, fault, true);
            context.shown = format!(
                "ERROR: ld.so: object '{name}' from {from} cannot be preloaded ({problem}): ignored."
            );
            facts.missing.push(self.missing(&attempt, fault, context));
        }
    }

    /// Undefined functions that are bound when they are called, object by object.
    fn record_calls(&self, facts: &mut LoaderFacts) {
        let mut groups: BTreeMap<&str, Vec<Fault>> = BTreeMap::new();
        for fault in &self.process.playback.undefined_calls {
            if let Fault::Symbol { object, .. } = fault {
                groups.entry(object).or_default().push(fault.clone());
            }
        }
        for (object, faults) in groups {
            let id = self.objects.get(object);
            let cause = id.and_then(|&id| self.process.playback.causes.get(id));
            let cause = Cause {
                package: cause.map_or_else(String::new, |cause| cause.package.clone()),
                when: When::Use,
                ..Cause::default()
            };
            let attempt = Attempt {
                context: self.context(&cause),
                failure: None,
            };
            self.record(&attempt, &faults, facts);
        }
    }

    fn record(&self, attempt: &Attempt, faults: &[Fault], facts: &mut LoaderFacts) {
        let mut symbols: BTreeMap<&str, UndefinedSymbols> = BTreeMap::new();
        let mut order = Vec::new();
        for (index, fault) in faults.iter().enumerate() {
            let context = self.context_of(attempt, fault, index == 0);
            match fault {
                Fault::Missing { .. } | Fault::Broken { .. } => {
                    facts.missing.push(self.missing(attempt, fault, context));
                }
                Fault::Version {
                    object,
                    version,
                    provider,
                } => facts.unmet_versions.push(UnmetVersion {
                    object: self.object(attempt, object),
                    provider: self.object(attempt, provider),
                    version: version.clone(),
                    newest: self.newest(provider, version),
                    context,
                }),
                Fault::Symbol { object, .. } => {
                    let known = symbols.entry(object).or_insert_with(|| {
                        order.push(object.as_str());
                        UndefinedSymbols {
                            context,
                            object: self.object(attempt, object),
                            called: attempt.failure.is_none(),
                            ..UndefinedSymbols::default()
                        }
                    });
                    self.add_symbol(attempt, known, fault);
                }
                Fault::ExecutableStack { object } => {
                    let glibc = self.process.system.glibc;
                    facts.executable_stacks.push(ExecutableStack {
                        context,
                        object: self.object(attempt, object),
                        glibc: glibc.map_or_else(String::new, |release| release.to_string()),
                    });
                }
            }
        }
        let in_order = order.into_iter().filter_map(|it| symbols.remove(it));
        facts.undefined_symbols.extend(in_order);
    }

    fn context_of(&self, attempt: &Attempt, fault: &Fault, first: bool) -> FaultContext {
        let shown = attempt.failure.map(|it| it.shown.clone());
        FaultContext {
            first,
            message: match attempt.failure {
                Some(failure) if !failure.report.is_empty() => failure.report.clone(),
                _ => fault.message(self.process.system.libc),
            },
            shown: shown.filter(|_| first).unwrap_or_default(),
            ..attempt.context.clone()
        }
    }

    fn missing(&self, attempt: &Attempt, fault: &Fault, context: FaultContext) -> Missing {
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
            _ => return Missing::default(),
        };
        let file = name_of(name);
        let namesakes = self.namesakes(file, broken);
        let opener = attempt.failure.map_or("", |it| it.opener.as_str());
        let user = needed_by.as_deref().unwrap_or(opener);
        let user_file = Some(user).filter(|user| !user.is_empty());
        let user_file = user_file.and_then(|user| self.describer.root.resolve(user).ok());
        let opened = needed_by.is_none() && context.when != When::Start;
        let alternatives = attempt.failure.filter(|_| opened);
        Missing {
            library: name.clone(),
            needed_by: user_file.map_or_else(|| user.to_owned(), Node::path),
            layer: user_file.and_then(Node::layer),
            opened,
            alternatives: alternatives.map_or_else(Vec::new, |it| it.alternatives.clone()),
            host_provided: self.describer.knowledge.is_host_provided(name),
            broken: broken.to_owned(),
            wrong_machine: namesakes.of_other_machines,
            unreadable: namesakes.unreadable,
            elsewhere: namesakes.readable,
            variants: alternatives
                .filter(|_| broken.is_empty())
                .map_or_else(Vec::new, |_| variants_of(self.describer.root, name)),
            // `cache::add` fills this in for all processes.
            after_ldconfig: String::new(),
            searched: directories(searched),
            removed: self.describer.removed(file, searched),
            context,
        }
    }

    /// Files with this name or SONAME except one.
    fn namesakes(&self, name: &str, except: &str) -> Namesakes {
        let system = &self.process.system;
        let mut namesakes = Namesakes::default();
        for node in self.describer.named(name) {
            let path = node.path();
            let Some(elf) = node.elf().filter(|_| path != except) else {
                continue;
            };
            let is_fitting = (elf.machine, elf.class) == (system.machine, system.class);
            let list = match is_fitting {
                false => &mut namesakes.of_other_machines,
                true if node.allows(&system.user, Access::Read) => &mut namesakes.readable,
                true => &mut namesakes.unreadable,
            };
            if list.len() < LISTED_FILES {
                list.push(path);
            }
        }
        namesakes
    }

    /// The newest version of the same kind that a file defines; empty if there is none.
    fn newest(&self, provider: &str, version: &str) -> String {
        let file = self.describer.root.resolve(provider).ok();
        let elf = file.and_then(Node::elf);
        let newest = elf.and_then(|elf| self.describer.newest.of_kind(elf, version));
        newest.unwrap_or_default().to_owned()
    }

    fn add_symbol(&self, attempt: &Attempt, known: &mut UndefinedSymbols, fault: &Fault) {
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
        if known.count == 1 {
            let provider = provider.as_deref();
            known.provider = provider.map(|path| self.object(attempt, path));
        }
        if known.symbols.len() < LISTED_SYMBOLS {
            known.symbols.push(Symbol {
                name: symbol.clone(),
                demangled: demangled(symbol),
                version: version.clone().unwrap_or_default(),
            });
        }
    }

    /// An object by its path (`l_name`), whether it is loaded or was discarded.
    fn object(&self, attempt: &Attempt, path: &str) -> ObjectFacts {
        if let Some(&id) = self.objects.get(path) {
            let object = &self.process.playback.objects()[id];
            return self.describer.loaded(self.process, object);
        }
        let Ok(node) = self.describer.root.resolve(path) else {
            return ObjectFacts {
                path: path.to_owned(),
                ..ObjectFacts::default()
            };
        };
        ObjectFacts {
            package: attempt.context.package.clone(),
            when: attempt.context.when,
            ..self.describer.file(self.process, node, path)
        }
    }
}

/// The directories, each once.
fn directories(searched: &[SearchedDirectory]) -> Vec<String> {
    let mut known = HashSet::new();
    let directories = searched.iter().map(|it| &it.directory);
    let directories = directories.filter(|it| known.insert(*it));
    directories.map(ToString::to_string).collect()
}

/// The C++ name of a mangled symbol; the symbol itself if it is not mangled, or if the name is too long (a short symbol can expand to
/// gigabytes).
fn demangled(symbol: &str) -> String {
    struct Short(String);
    impl DemangleWrite for Short {
        fn write_string(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > DEMANGLED_BYTES {
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
