//! Native modules of packages that no table describes, and those that a table names beside the import: whether Python could load each of
//! them, after everything else. What such a package does before it loads a module is unknown, so a library counts as missing only if the
//! search path of Python has no file of its name, and a symbol as undefined only if it is one of PyTorch's.

use super::cause::{When, Without};
use std::collections::{HashMap, HashSet};

use super::describer::Describer;
use super::facts::LoaderFacts;
use super::installed::PythonSetup;
use super::knowledge::Knowledge;
use super::playback::{Cause, LoadFailure, OpenRequest};
use super::program::ModeledProcess;
use super::{faults, variants};
use crate::stack::NativeModule;
use imgcheck_base::error::Result;
use imgcheck_loader::{Fault, OpenMode};

/// Maximum number of modules of an image that are tried. A large environment has some thousands.
const MODULES: usize = 6_000;
/// Distributions whose libraries others load: NVIDIA's wheels.
const LIBRARIES: &str = "nvidia-";

/// A module, and what fails of it.
type Opened<'m, 'p> = (&'m NativeModule, Option<LoadFailure<'p>>);

/// The modules of an image that are still to be tried.
pub(super) struct NativeModules<'s> {
    modules: &'s [NativeModule],
    /// The paths of those that were tried.
    tried: HashSet<String>,
}

impl<'s> NativeModules<'s> {
    pub fn new(modules: &'s [NativeModule]) -> Self {
        NativeModules {
            modules,
            tried: HashSet::new(),
        }
    }

    /// Tries the modules that a process can import, and adds what is missing to the facts.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn check(
        &mut self,
        describer: &Describer,
        setup: &PythonSetup,
        process: &mut ModeledProcess,
        facts: &mut LoaderFacts,
    ) -> Result<()> {
        if process.playback.process.is_none() {
            return Ok(());
        }
        let sites: HashSet<&str> = setup.path.iter().map(String::as_str).collect();
        let own = self
            .modules
            .iter()
            .filter(|it| sites.contains(it.site.as_str()));
        let has_torch = has_torch(process);
        let own = own.filter(|it| {
            it.is_for(&setup.release)
                && (has_torch || !it.is_for_torch)
                && describer.knowledge.is_undescribed(it)
        });
        let mut found = self.open_all(describer, process, own)?;
        keep_common(&mut found);
        let (described, absent) = described(describer, setup, process);
        found.extend(self.open_all(describer, process, described.iter())?);
        let failures = found.into_iter().filter_map(|(_, failure)| failure);
        let absent = absent.into_iter();
        let absent = absent.filter(|it| self.tried.insert(it.request.clone()));
        let failures: Vec<_> = failures
            .chain(absent)
            .filter(|it| !it.failure.faults.is_empty())
            .collect();
        faults::record_failures(describer, process, &failures, facts);
        Ok(())
    }

    /// Opens modules that were not tried before, and what fails of each.
    fn open_all<'m, 'p>(
        &mut self,
        describer: &Describer,
        process: &mut ModeledProcess<'p>,
        modules: impl Iterator<Item = &'m NativeModule>,
    ) -> Result<Vec<Opened<'m, 'p>>> {
        let mut opened = Vec::new();
        for module in modules {
            if self.tried.len() >= MODULES {
                break;
            }
            if self.tried.insert(module.path.clone()) {
                opened.push((module, open(describer, process, module)?));
            }
        }
        Ok(opened)
    }
}

impl Knowledge {
    /// Whether no table says what a module needs, and none that it is optional.
    fn is_undescribed(&self, module: &NativeModule) -> bool {
        let name = &module.distribution;
        !name.starts_with(LIBRARIES)
            && !self.packages().any(|plan| plan.is_brought_by(name))
            && !self.optional_modules.is_match(&module.path)
    }
}

/// The modules that the tables name beside the imports of a process, and failures for those of which it has only variants.
fn described<'s>(
    describer: &Describer,
    setup: &PythonSetup,
    process: &ModeledProcess,
) -> (Vec<NativeModule>, Vec<LoadFailure<'s>>) {
    let (mut modules, mut absent) = (Vec::new(), Vec::new());
    for import in process.imports.iter().filter(|it| it.succeeds) {
        let plan = describer.knowledge.plan(&import.package);
        let release = plan.and_then(|plan| plan.release(&import.version));
        let Some((release, installed)) = release.zip(setup.installed.get(&import.package)) else {
            continue;
        };
        for pattern in &release.modules {
            let is_chosen = pattern.contains("{torch-");
            let name = installed.fill(pattern);
            let Some(name) = name.filter(|_| !is_chosen || has_torch(process)) else {
                continue;
            };
            let Some(site) = setup.site_of(describer.root, installed, &name) else {
                continue;
            };
            let path = format!("{site}/{name}");
            let file = setup.extension_module(describer.root, &path);
            if let Some(file) = file {
                modules.push(NativeModule {
                    path: file,
                    distribution: import.package.clone(),
                    site,
                    is_for_torch: false,
                });
                continue;
            }
            if is_chosen && !variants::variants_of(describer.root, &path).is_empty() {
                let report = format!(
                    "ModuleNotFoundError: No module named '{}'",
                    name.replace('/', ".")
                );
                absent.push(LoadFailure::absent(cause(&import.package), &path, report));
            }
        }
    }
    (modules, absent)
}

fn cause(package: &str) -> Cause {
    Cause {
        package: package.to_owned(),
        when: When::Import,
        optional: true,
        without: Without::Module,
    }
}

/// Opens a module as Python does; what fails for certain, and did not fail before.
fn open<'s>(
    describer: &Describer,
    process: &mut ModeledProcess<'s>,
    module: &NativeModule,
) -> Result<Option<LoadFailure<'s>>> {
    let cause = cause(&module.distribution);
    let request = OpenRequest {
        name: &module.path,
        caller: 0,
        mode: OpenMode::default(),
    };
    let Err(mut failure) = process.playback.open(&request, &cause)? else {
        return Ok(None);
    };
    failure.discarded = Vec::new();
    let known = process.playback.failures.iter();
    let known = known.filter(|it| it.cause.package == cause.package);
    let known: HashSet<String> = known
        .flat_map(|it| it.failure.faults.iter().filter_map(name_of))
        .collect();
    failure.faults.retain(|fault| {
        is_certain(describer, process, fault)
            && name_of(fault).is_none_or(|it| !known.contains(&it))
    });
    Ok(Some(LoadFailure::new(cause, &module.path, failure)))
}

/// Of the modules of a distribution whose names differ in numbers only, one is enough: each is for a different release of PyTorch, CUDA or
/// FFmpeg. What all of them miss, their package cannot do without; and if all miss a symbol of PyTorch, none is for this PyTorch, and the
/// last stands for them.
fn keep_common(found: &mut [Opened]) {
    let mut groups: HashMap<(&str, String), Vec<usize>> = HashMap::new();
    for (index, (module, _)) in found.iter().enumerate() {
        let stem = variants::without_digits(&module.path);
        let group = groups.entry((&module.distribution, stem)).or_default();
        group.push(index);
    }
    for group in groups.into_values().filter(|group| group.len() > 1) {
        let faults = |index: usize| found[index].1.iter().flat_map(|it| &it.failure.faults);
        let missing: Vec<HashSet<String>> = group
            .iter()
            .map(|&index| faults(index).filter_map(name_of).collect())
            .collect();
        let is_common = |name: &String| missing.iter().all(|names| names.contains(name));
        let is_symbol = |fault: &Fault| matches!(fault, Fault::Symbol { .. });
        let fits_none = group.iter().all(|&index| faults(index).any(is_symbol))
            && !missing.iter().flatten().any(is_common);
        let last = group.last().copied();
        for index in group {
            if let Some(failure) = &mut found[index].1 {
                failure.failure.faults.retain(|it| match fits_none {
                    true => Some(index) == last,
                    false => name_of(it).is_some_and(|it| is_common(&it)),
                });
            }
        }
    }
}

/// The missing library or symbol.
fn name_of(fault: &Fault) -> Option<String> {
    match fault {
        Fault::Missing { name, .. } => Some(name.clone()),
        Fault::Symbol { symbol, .. } => Some(symbol.clone()),
        _ => None,
    }
}

fn has_torch(process: &ModeledProcess) -> bool {
    let mut imports = process.imports.iter();
    imports.any(|it| it.package == "torch" && it.succeeds)
}

fn is_certain(describer: &Describer, process: &ModeledProcess, fault: &Fault) -> bool {
    match fault {
        Fault::Missing { name, .. } => {
            let files = describer.named(name).iter();
            let mut paths = files.map(|node| node.path());
            !paths.any(|path| process.sites.holding(&path).is_some())
        }
        Fault::Symbol { symbol, .. } => has_torch(process) && is_of_torch(symbol),
        Fault::Broken { .. } | Fault::Version { .. } | Fault::ExecutableStack { .. } => false,
    }
}

/// Whether a mangled name is in a namespace of PyTorch: `_ZNK3c106Device3strEv`.
fn is_of_torch(symbol: &str) -> bool {
    let name = symbol.strip_prefix("_ZN").unwrap_or_default();
    let name = name.trim_start_matches(['r', 'V', 'K']);
    ["3c10", "2at", "5torch"]
        .iter()
        .any(|space| name.starts_with(space))
}
