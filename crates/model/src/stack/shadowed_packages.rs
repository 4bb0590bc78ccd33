//! Installed packages that Python does not import, because a module of the same name comes first on its search path.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Distribution;
use super::inventory::Inventory;
use super::modules::Modules;
use super::python::{Environment, Labels};
use super::python_faults::{ShadowedPackage, ShadowingPlace};
use super::replaced_modules;
use super::startup_knowledge::StartupKnowledge;
use imgcheck_base::lexical::directory_of;
use imgcheck_image::{Credentials, Node};

/// What describes the packages of an image.
pub(super) struct Installed<'i> {
    /// By directory and module.
    distributions: HashMap<(&'i str, &'i str), &'i Distribution>,
    all: &'i [Distribution],
    /// The directories of the copies of PyTorch, which their own files describe.
    torch: HashSet<&'i str>,
}

impl<'i> Installed<'i> {
    pub fn of(
        distributions: &'i [Distribution],
        torch: impl Iterator<Item = &'i str>,
        knowledge: &'i StartupKnowledge,
    ) -> Self {
        let mut installed = Installed {
            distributions: HashMap::new(),
            all: distributions,
            torch: torch.collect(),
        };
        for distribution in distributions {
            for module in knowledge.modules_of(&distribution.name) {
                let key = (distribution.site.as_str(), module);
                installed.distributions.entry(key).or_insert(distribution);
            }
        }
        installed
    }

    fn distribution(&self, directory: &str, module: &str) -> Option<&'i Distribution> {
        self.distributions.get(&(directory, module)).copied()
    }

    /// Whether a package is described: by metadata beside it or, behind a link, beside its files, or by PyTorch's own files.
    fn describes(&self, candidate: &Candidate) -> bool {
        let package = candidate.file.parent().path();
        let is_torch = candidate.module == "torch" && self.torch.contains(package.as_str());
        let is_installed = |directory| self.distribution(directory, candidate.module).is_some();
        is_torch || is_installed(candidate.directory) || is_installed(directory_of(&package))
    }
}

/// A module in a directory of the search path.
#[derive(Clone, Copy)]
struct Candidate<'c, 'r> {
    module: &'c str,
    place: usize,
    directory: &'c str,
    file: Node<'r>,
}

/// Fills in the shadowed packages of all environments.
pub(super) fn find(
    environments: &mut [Environment],
    inventory: &Inventory,
    user: &Credentials,
    knowledge: &StartupKnowledge,
    installed: &Installed,
) {
    let mut modules = Modules::new(inventory.root, user, knowledge.watched());
    let labels = Labels::of(environments);
    let labels: Vec<String> = environments.iter().map(|it| labels.label(it)).collect();
    for (environment, label) in environments.iter_mut().zip(labels) {
        let (before, after) = environment.sites.split_at(environment.before_standard);
        let standard = &environment.standard_library;
        let search: Vec<&str> = before
            .iter()
            .chain(standard)
            .chain(after)
            .map(String::as_str)
            .collect();
        let mut candidates: BTreeMap<&str, Vec<Candidate>> = BTreeMap::new();
        for (place, directory) in search.iter().copied().enumerate() {
            for (module, file) in modules.of(directory, &environment.release) {
                candidates.entry(module).or_default().push(Candidate {
                    module,
                    place,
                    directory,
                    file: *file,
                });
            }
        }
        let shadowed = candidates.values().filter_map(|candidates| {
            let (first, hidden) = shadowed(candidates, &search, installed)?;
            let distribution = installed.distribution(hidden.directory, first.module);
            let package = first.file.parent().path() + "/";
            let is_package = first.file.name().starts_with("__init__.");
            let mut libraries = inventory.elf.iter();
            Some(ShadowedPackage {
                module: first.module.to_owned(),
                executed: first.file.path(),
                layer: first.file.layer(),
                installed: hidden.file.path(),
                distribution: distribution.map(|it| it.name.clone()).unwrap_or_default(),
                version: distribution
                    .map(|it| it.version.clone())
                    .unwrap_or_default(),
                metadata: distribution.map(|it| it.path.clone()).unwrap_or_default(),
                found_in: match first.place {
                    place if place < environment.of_command => ShadowingPlace::Command,
                    place if place < before.len() => ShadowingPlace::PythonPath,
                    place if place < before.len() + standard.len() => {
                        ShadowingPlace::StandardLibrary
                    }
                    _ => ShadowingPlace::Site,
                },
                has_libraries: is_package && libraries.any(|it| it.path.starts_with(&package)),
                known: true,
                environment: label.clone(),
                certain: environment.is_certain,
            })
        });
        let mut all: Vec<ShadowedPackage> = shadowed.collect();
        let replaced = replaced_modules::replaced(
            environment,
            inventory,
            user,
            installed.all,
            &knowledge.watched().collect(),
        );
        all.extend(replaced.into_iter().map(|it| ShadowedPackage {
            environment: label.clone(),
            ..it
        }));
        environment.shadowed = all;
    }
}

/// The module that is imported, and the installed package that it hides, of all in the search path.
fn shadowed<'c, 'r>(
    candidates: &[Candidate<'c, 'r>],
    search: &[&str],
    installed: &Installed,
) -> Option<(Candidate<'c, 'r>, Candidate<'c, 'r>)> {
    let (first, later) = candidates.split_first()?;
    if installed.describes(first) {
        return None;
    }
    let hidden = later.iter().find(|it| installed.describes(it))?;
    // Metadata without a package beside it is of an editable install, whose directory comes later.
    let mut before = search.iter().take(first.place);
    let is_editable = before.any(|it| installed.distribution(it, first.module).is_some());
    let is_same = hidden.file.identity() == first.file.identity();
    (!is_editable && !is_same).then_some((*first, *hidden))
}
