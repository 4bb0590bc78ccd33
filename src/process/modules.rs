//! Native modules of packages that no table describes: whether Python could load each of them, after everything that the tables
//! describe. What such a package does before it loads a module is unknown, so a library counts as missing only if the search path of
//! Python has no file of its name, and a symbol as undefined only if it is one of PyTorch's.

use std::collections::{HashMap, HashSet};

use super::describer::Describer;
use super::facts::LoaderFacts;
use super::faults;
use super::installed::PythonSetup;
use super::knowledge::Knowledge;
use super::model::ModeledProcess;
use super::playback::{Cause, LoadFailure, OpenRequest};
use crate::error::Result;
use crate::loader::{Fault, OpenMode};
use crate::stack::NativeModule;

/// Most modules of an image that are tried. A large environment has some thousands.
const MODULES: usize = 6_000;
/// Distributions whose libraries others load: NVIDIA's wheels.
const LIBRARIES: &str = "nvidia-";

/// The modules of an image that are still to be tried.
pub(super) struct NativeModules<'s> {
    modules: &'s [NativeModule],
    /// The paths of those that were tried.
    tried: HashSet<&'s str>,
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
        let mut found = Vec::new();
        for module in own {
            if self.tried.len() >= MODULES {
                break;
            }
            if self.tried.insert(&module.path) {
                found.push((module, open(describer, process, module)?));
            }
        }
        keep_common(&mut found);
        let failures = found.into_iter().filter_map(|(_, failure)| failure);
        let failures: Vec<_> = failures
            .filter(|it| !it.failure.faults.is_empty())
            .collect();
        faults::record_failures(describer, process, &failures, facts);
        Ok(())
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

/// Opens a module as Python does; what fails for certain.
fn open<'s>(
    describer: &Describer,
    process: &mut ModeledProcess<'s>,
    module: &NativeModule,
) -> Result<Option<LoadFailure<'s>>> {
    let cause = Cause {
        package: module.distribution.clone(),
        when: "import",
        optional: true,
        without: "module".to_owned(),
    };
    let request = OpenRequest {
        name: &module.path,
        caller: 0,
        mode: OpenMode::default(),
    };
    let Err(mut failure) = process.playback.open(&request, &cause)? else {
        return Ok(None);
    };
    failure.discarded = Vec::new();
    failure
        .faults
        .retain(|fault| is_certain(describer, process, fault));
    Ok(Some(LoadFailure {
        optional: cause.optional,
        without: cause.without.clone(),
        cause,
        opener: String::new(),
        shown: String::new(),
        breaks: String::new(),
        alternatives: Vec::new(),
        request: module.path.clone(),
        failure,
    }))
}

/// Of libraries whose names differ in numbers only, one is enough: those of torchcodec are for one release of FFmpeg each. What all of
/// them miss, their package cannot do without.
fn keep_common(found: &mut [(&NativeModule, Option<LoadFailure>)]) {
    let stem = |module: &NativeModule| -> String {
        let is_digit = |character: &char| character.is_ascii_digit();
        module.path.chars().filter(|it| !is_digit(it)).collect()
    };
    let mut missing: HashMap<String, Vec<HashSet<String>>> = HashMap::new();
    for (module, failure) in found.iter().filter(|(module, _)| module.is_for_torch) {
        let faults = failure.iter().flat_map(|it| &it.failure.faults);
        let group = missing.entry(stem(module)).or_default();
        group.push(faults.filter_map(name_of).collect());
    }
    for (module, failure) in found.iter_mut().filter(|(module, _)| module.is_for_torch) {
        if let (Some(failure), Some(group)) = (failure, missing.get(&stem(module))) {
            let is_common = |name: &String| group.iter().all(|names| names.contains(name));
            failure
                .failure
                .faults
                .retain(|it| name_of(it).is_some_and(|it| is_common(&it)));
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
