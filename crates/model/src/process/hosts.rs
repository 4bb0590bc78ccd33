//! Where the host decides what a process loads: its processor, and whether NVIDIA's container toolkit runs `ldconfig`.
//!
//! A process is modeled on a processor of level x86-64-v3 with the cache as it is in the image. If the image has files for other
//! processors, or a cache that `ldconfig` would change, the process is played again as on such hosts, and its faults are compared.

use std::collections::HashSet;
use std::rc::Rc;

use super::cause::When;
use super::describer::Describer;
use super::facts::{FaultContext, HostFault, LoaderFacts};
use super::faults;
use super::program::Program;
use imgcheck_base::error::Result;
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_loader::cache::Cache;
use imgcheck_loader::hwcaps::CpuLevel;

/// What differs between the hosts of an image.
pub(super) struct Hosts {
    /// The levels of x86-64 beside the assumed one that have files of their own.
    levels: Vec<CpuLevel>,
    /// The cache after `ldconfig`, if that changes it.
    rebuilt: Option<Rc<Cache>>,
}

impl Hosts {
    pub fn of(root: &RootFilesystem, rebuilt: Option<Rc<Cache>>) -> Self {
        // A processor of another level has a directory more, or one less (glibc elf/dl-hwcaps.c).
        let directories = [
            (CpuLevel::V2, ["/x86-64-v3/", "/haswell/"]),
            (CpuLevel::V4, ["/x86-64-v4/", "/avx512_1/"]),
        ];
        let mut levels = Vec::new();
        for node in root.walk_tree().filter(|it| it.name().contains(".so")) {
            if levels.len() == directories.len() {
                break;
            }
            let path = node.path();
            for (level, names) in &directories {
                if !levels.contains(level) && names.iter().any(|name| path.contains(name)) {
                    levels.push(*level);
                }
            }
        }
        Hosts { levels, rebuilt }
    }

    /// Plays a program, whose faults are in the facts, as on the other hosts. Adds the faults that occur only there, and to those that
    /// do not occur there, where that is.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn compare(
        &self,
        describer: &Describer,
        program: &Program,
        facts: &mut LoaderFacts,
    ) -> Result<()> {
        let system = &program.system;
        let rebuilt = self.rebuilt.as_ref().filter(|_| system.uses_system_cache());
        let own = std::iter::once(CpuLevel::default());
        let levels = own.chain(self.levels.iter().copied());
        for level in levels.filter(|level| system.has_levels() || *level == CpuLevel::default()) {
            let caches = std::iter::once(None).chain(rebuilt.map(Some));
            for cache in caches {
                if level == CpuLevel::default() && cache.is_none() {
                    continue;
                }
                let host = Host {
                    processor: match level {
                        CpuLevel::V2 => "x86-64-v2",
                        CpuLevel::V4 => "x86-64-v4",
                        _ => "",
                    },
                    after_ldconfig: cache.is_some(),
                };
                let mut there = program.clone();
                there.system = Rc::new(system.on(level, cache.cloned()));
                let process = there.play(describer.root, describer.knowledge)?;
                let mut other = LoaderFacts::default();
                faults::record(describer, &process, &mut other);
                host.add_difference(describer, &program.name, &mut other, facts);
            }
        }
        Ok(())
    }
}

/// A kind of host.
#[derive(Clone, Copy)]
struct Host {
    /// Empty for the assumed processor.
    processor: &'static str,
    after_ldconfig: bool,
}

/// A fault, to compare those of two hosts.
type FaultKey = ((When, String), String, String);

impl Host {
    fn add_difference(
        self,
        describer: &Describer,
        process: &str,
        other: &mut LoaderFacts,
        facts: &mut LoaderFacts,
    ) {
        let mut known: HashSet<FaultKey> = of_process(facts, process).map(|it| it.key()).collect();
        // What differs for one reason needs no second one.
        let simpler = facts.host_faults.iter().filter(|it| {
            it.context.process == process
                && (it.processor.is_empty() || !it.after_ldconfig)
                && (it.processor.is_empty() || it.processor == self.processor)
                && (!it.after_ldconfig || self.after_ldconfig)
        });
        known.extend(simpler.map(|it| key(&it.context, &it.library)));
        // What fails on the assumed host works nowhere, whichever library is the first there.
        let failing = of_process(facts, process).filter(|it| !it.context.optional);
        let failing: HashSet<_> = failing.map(|it| it.key().0).collect();
        let mut there = HashSet::new();
        let mut differs = self.after_ldconfig && !self.processor.is_empty();
        let mut new = Vec::new();
        for fault in of_process(other, process) {
            let key = fault.key();
            if !there.insert(key.clone()) || known.contains(&key) {
                continue;
            }
            differs = true;
            if !failing.contains(&key.0) {
                let file = describer.root.resolve(&fault.path).ok();
                new.push(HostFault {
                    context: fault.context.clone(),
                    processor: self.processor.to_owned(),
                    after_ldconfig: self.after_ldconfig,
                    library: fault.library,
                    opened: fault.opened,
                    layer: file.and_then(Node::layer),
                    path: fault.path,
                });
            }
        }
        facts.host_faults.extend(new);
        if differs {
            return;
        }
        let gone = of_process(facts, process).filter(|fault| !there.contains(&fault.key()));
        for fault in gone {
            let name = match self.processor {
                "" => "ldconfig",
                processor => processor,
            };
            fault.context.absent_on.push(name.to_owned());
        }
    }
}

/// One fault of any kind.
struct AnyFault<'f> {
    context: &'f mut FaultContext,
    library: String,
    opened: bool,
    path: String,
}

impl AnyFault<'_> {
    fn key(&self) -> FaultKey {
        key(self.context, &self.library)
    }
}

fn key(context: &FaultContext, library: &str) -> FaultKey {
    let place = (context.when, context.package.clone());
    (place, library.to_owned(), context.message.clone())
}

/// The faults of a process, without libraries of the driver.
fn of_process<'f>(
    facts: &'f mut LoaderFacts,
    process: &'f str,
) -> impl Iterator<Item = AnyFault<'f>> {
    let missing = facts.missing.iter_mut().filter(|it| !it.host_provided);
    let missing = missing.map(|it| AnyFault {
        library: it.library.clone(),
        opened: it.opened,
        path: match it.broken.is_empty() {
            true => it.needed_by.clone(),
            false => it.broken.clone(),
        },
        context: &mut it.context,
    });
    let at = |context, path: &str| AnyFault {
        context,
        library: path.to_owned(),
        opened: false,
        path: path.to_owned(),
    };
    let versions = facts.unmet_versions.iter_mut();
    let versions = versions.map(move |it| at(&mut it.context, &it.object.path));
    let symbols = facts.undefined_symbols.iter_mut();
    let symbols = symbols.map(move |it| at(&mut it.context, &it.object.path));
    let stacks = facts.executable_stacks.iter_mut();
    let stacks = stacks.map(move |it| at(&mut it.context, &it.object.path));
    let all = missing.chain(versions).chain(symbols).chain(stacks);
    all.filter(move |it| it.context.process == process)
}
