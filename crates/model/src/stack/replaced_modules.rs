//! Files of a program that come before an installed package which no table knows, and take its place.
//!
//! Programs have copies of packages on purpose, and are installed themselves. So only what looks like something else counts: a file in
//! place of a package, a package in place of a file, or one without most modules of the installed one.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Distribution;
use super::inventory::Inventory;
use super::modules::find;
use super::packages::record::modules;
use super::python::Environment;
use super::python_faults::{ShadowedPackage, ShadowingPlace};
use imgcheck_image::{Credentials, Node};

/// What a package has that says nothing of its modules.
const NO_MODULES: [&str; 3] = ["__init__", "__main__", "__pycache__"];

/// Finds the modules of an environment; those that tables know are in `known`.
pub(super) fn replaced(
    environment: &Environment,
    inventory: &Inventory,
    user: &Credentials,
    distributions: &[Distribution],
    known: &HashSet<&str>,
) -> Vec<ShadowedPackage> {
    let own = environment.sites[..environment.before_standard].iter();
    let own = own.enumerate().filter_map(|(place, directory)| {
        let node = inventory.root.resolve_as(directory, user).ok()?;
        let stems: BTreeSet<&str> = node.children().filter_map(|it| stem(it.name())).collect();
        Some((place, node, stems))
    });
    let own: Vec<_> = own.collect();
    let wanted = own.iter().flat_map(|(_, _, stems)| stems).copied();
    let wanted: HashSet<&str> = wanted.filter(|it| !known.contains(it)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let installed = installed(environment, inventory, distributions, &wanted);
    let mut found = Vec::new();
    for (place, node, stems) in own {
        for module in stems {
            let later = installed.get(module);
            let Some((_, distribution)) = later.filter(|(at, _)| *at > place) else {
                continue;
            };
            let file = |directory| find(directory, module, &environment.release, user);
            let site = inventory.root.resolve_as(&distribution.site, user).ok();
            let (Some(first), Some(hidden)) = (file(node), site.and_then(file)) else {
                continue;
            };
            if first.identity() != hidden.identity() && !is_copy(first, hidden) {
                found.push(ShadowedPackage {
                    module: module.to_owned(),
                    executed: first.path(),
                    layer: first.layer(),
                    installed: hidden.path(),
                    distribution: distribution.name.clone(),
                    version: distribution.version.clone(),
                    metadata: distribution.path.clone(),
                    found_in: match place < environment.of_command {
                        true => ShadowingPlace::Command,
                        false => ShadowingPlace::PythonPath,
                    },
                    certain: environment.is_certain,
                    ..ShadowedPackage::default()
                });
            }
        }
    }
    found
}

/// Of some modules, the distributions that bring them, with the place of their directory in the search path. The first one counts.
fn installed<'m, 'd>(
    environment: &Environment,
    inventory: &Inventory<'m>,
    distributions: &'d [Distribution],
    wanted: &HashSet<&'m str>,
) -> HashMap<&'m str, (usize, &'d Distribution)> {
    let places = environment.sites.iter().enumerate();
    let places: HashMap<&str, usize> = places.map(|(at, site)| (site.as_str(), at)).collect();
    let mut installed: HashMap<&str, (usize, &Distribution)> = HashMap::new();
    for distribution in distributions {
        let Some(place) = places.get(distribution.site.as_str()) else {
            continue;
        };
        let name = distribution.name.replace('-', "_");
        let name = wanted.get(name.as_str()).copied();
        let modules = modules(inventory, distribution).filter(|it| wanted.contains(it));
        for module in modules.chain(name) {
            let first = installed.entry(module).or_insert((*place, distribution));
            if *place < first.0 {
                *first = (*place, distribution);
            }
        }
    }
    installed
}

/// The name of the module that a file or directory may be.
fn stem(name: &str) -> Option<&str> {
    let stem = name.split('.').next()?;
    (!stem.is_empty() && !NO_MODULES.contains(&stem)).then_some(stem)
}

/// Whether a module may be meant to be the same as another.
fn is_copy(first: Node, hidden: Node) -> bool {
    let is_package = |file: Node| file.name().starts_with("__init__.");
    if !is_package(first) || !is_package(hidden) {
        return is_package(first) == is_package(hidden);
    }
    let modules = |file: Node| -> HashSet<String> {
        let parent = file.parent();
        let stems = parent.children().filter_map(|it| stem(it.name()));
        stems.map(str::to_owned).collect()
    };
    let (own, other) = (modules(first), modules(hidden));
    own.intersection(&other).count() * 2 >= other.len()
}
