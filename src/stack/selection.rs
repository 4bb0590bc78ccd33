//! Which copy of each component the process of the image gets.
//!
//! This is a choice by search order, for what no process maps: where the loader model knows better, it decides afterwards
//! (`Stack::follow`). The process is the image's entrypoint with its environment; its
//! Python is the one that the entrypoint or PATH names, unless only another environment holds PyTorch. Libraries come
//! from where `ld.so(8)` would look on behalf of PyTorch's own libraries: their DT_RPATH, LD_LIBRARY_PATH, their DT_RUNPATH,
//! the directories of `ld.so.conf`, the default ones. A copy whose SONAME PyTorch does not ask for yields to one that it asks for.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::image::Node;
use crate::launch::Launch;
use crate::loader::DIRECTORIES;

use super::evidence::is_version;
use super::interpreter::{directories, environment, real_directory};
use super::inventory::{ElfFile, Inventory, directory_of, name_of};
use super::python::Environment;
use super::sites::Sites;
use super::torch::TorchCopy;
use super::{Component, Evidence, EvidenceKind};

/// The loader's default directories on the distributions that GPU images rest on, after those of its configuration.
const DEFAULT_DIRECTORIES: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Marks the copy of each component that the process gets, and puts it before the other copies. Gives the process's environment.
pub(super) fn select<'e>(
    components: &mut [Component],
    inventory: &Inventory,
    launch: &Launch,
    environments: &'e [Environment],
    copies: &[TorchCopy],
) -> Option<&'e Environment> {
    let sites_of_torch: HashSet<&str> = copies
        .iter()
        .map(|copy| directory_of(&copy.directory))
        .collect();
    let has_torch = |environment: &&Environment| {
        let mut sites = environment.sites.iter();
        sites.any(|site| sites_of_torch.contains(site.as_str()))
    };
    let named = self::environment(launch, inventory, environments);
    let environment = named
        .filter(|environment| has_torch(environment))
        .or_else(|| {
            // A link in another `bin` starts the same interpreter.
            let interpreter = &named?.interpreter;
            let mut same = environments.iter().filter(has_torch);
            same.find(|environment| environment.interpreter == *interpreter)
        })
        .or_else(|| environments.iter().find(has_torch))
        .or(named);
    let mut sites = directories(launch, "PYTHONPATH", inventory);
    sites.extend(
        environment
            .into_iter()
            .flat_map(|found| found.sites.clone()),
    );

    let mut places: Sites = sites.iter().collect();
    let torch = chosen_torch(copies, &places);
    // PyTorch is found by whoever runs it even where no interpreter looks, and so is what was installed beside it.
    if let Some(torch) = torch {
        let site = directory_of(&torch.directory);
        sites.push(site.to_owned());
        places.push(site);
    }
    let search = SearchOrder::of(torch, inventory, launch, &sites);
    let elf: BTreeMap<&str, &ElfFile> = inventory
        .elf
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut best: BTreeMap<String, (Rank, usize)> = BTreeMap::new();
    for (index, component) in components.iter().enumerate() {
        let rank = match component.name.as_str() {
            "torch" => torch
                .filter(|torch| torch.directory == component.path)
                .map(|_| Rank::default()),
            "python" => Some(rank_of_python(component, named.or(environment), torch)),
            "cuda-toolkit" => Some(rank_of_toolkit(component, inventory)),
            _ if component
                .details
                .get("kind")
                .is_some_and(|kind| kind == "stub") =>
            {
                None
            }
            _ => match elf.get(component.path.as_str()) {
                Some(file) => Some(search.rank(component, file)),
                None => Some(rank_of_package(component, &places)),
            },
        };
        // Nothing asks for the forward-compatibility driver unless a search path names it.
        let rank = rank.filter(|rank| component.name != "cuda-compat" || rank.place != usize::MAX);
        if let Some(rank) = rank {
            let entry = best.entry(component.name.clone()).or_insert((rank, index));
            *entry = (*entry).min((rank, index));
        }
    }
    for (_, index) in best.into_values() {
        components[index].loaded = true;
    }
    add_environment(components, environment, torch, launch);
    environment
}

/// The place of a copy among the copies of one component: the smallest is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// PyTorch asks for another SONAME.
    is_unwanted: bool,
    /// Position in the search order.
    place: usize,
}

impl Rank {
    fn at(place: Option<usize>) -> Self {
        Rank {
            is_unwanted: false,
            place: place.unwrap_or(usize::MAX),
        }
    }
}

fn chosen_torch<'c, 'i, 'r>(
    copies: &'c [TorchCopy<'i, 'r>],
    sites: &Sites,
) -> Option<&'c TorchCopy<'i, 'r>> {
    let place = |copy: &&TorchCopy| sites.place_of(directory_of(&copy.directory));
    copies
        .iter()
        .min_by_key(|copy| place(copy).unwrap_or(usize::MAX))
}

/// The interpreter of the environment; without one, that of the release whose directory PyTorch lies in.
fn rank_of_python(
    component: &Component,
    environment: Option<&Environment>,
    torch: Option<&TorchCopy>,
) -> Rank {
    let is_selected =
        environment.is_some_and(|environment| environment.interpreter == component.path);
    let fits_torch = torch.is_some_and(|torch| {
        let release = name_of(&component.path);
        torch.directory.split('/').any(|part| part == release)
    });
    Rank {
        is_unwanted: torch.is_some() && !fits_torch && !is_selected,
        place: usize::from(!is_selected),
    }
}

/// `/usr/local/cuda` leads to the toolkit that is in use.
fn rank_of_toolkit(component: &Component, inventory: &Inventory) -> Rank {
    let current = real_directory(inventory, "/usr/local/cuda");
    Rank::at((current.as_deref() == Some(&component.path)).then_some(0))
}

fn rank_of_package(component: &Component, sites: &Sites) -> Rank {
    Rank::at(sites.holding(&component.path).map(|inside| inside.place))
}

/// Where the loader looks for the libraries of the process, first to last.
struct SearchOrder {
    places: HashMap<String, usize>,
    /// SONAMEs that PyTorch's libraries need.
    wanted: HashSet<String>,
}

impl SearchOrder {
    fn of(
        torch: Option<&TorchCopy>,
        inventory: &Inventory,
        launch: &Launch,
        sites: &[String],
    ) -> Self {
        let libraries = || torch.into_iter().flat_map(|torch| &torch.libraries);
        let wheels = wheel_directories(inventory, sites);
        let mut directories = Directories::default();
        for file in libraries().filter(|file| file.facts.runpath.is_none()) {
            directories.extend(own_directories(
                file,
                file.facts.rpath.as_deref(),
                inventory,
            ));
        }
        if torch.is_none() {
            directories.extend(wheels.iter().cloned());
        }
        directories.extend(self::directories(launch, "LD_LIBRARY_PATH", inventory));
        for file in libraries() {
            let runpath = file.facts.runpath.as_deref();
            directories.extend(own_directories(file, runpath, inventory));
        }
        directories.extend(configured_directories(inventory));
        let defaults = DEFAULT_DIRECTORIES.iter();
        directories.extend(defaults.filter_map(|directory| real_directory(inventory, directory)));
        directories.extend(wheels);
        SearchOrder {
            places: directories.places,
            wanted: libraries()
                .flat_map(|file| file.facts.needed.iter().cloned())
                .collect(),
        }
    }

    fn rank(&self, component: &Component, file: &ElfFile) -> Rank {
        let place = self.places.get(directory_of(&file.path)).copied();
        // Wheels with bundled libraries ask for them by the names that auditwheel gave the files; their SONAMEs are unchanged.
        let is_wanted = component.evidence.iter().any(|evidence| {
            evidence.kind == EvidenceKind::Soname
                && [evidence.detail.as_str(), name_of(&evidence.path)]
                    .iter()
                    .any(|name| self.wanted.contains(*name))
        });
        Rank {
            is_unwanted: !is_wanted,
            ..Rank::at(place)
        }
    }
}

/// Directories that are searched one after another, each at its first place.
#[derive(Default)]
struct Directories {
    places: HashMap<String, usize>,
}

impl Extend<String> for Directories {
    fn extend<I: IntoIterator<Item = String>>(&mut self, directories: I) {
        for directory in directories {
            let next = self.places.len();
            self.places.entry(directory).or_insert(next);
        }
    }
}

/// The directories of a DT_RPATH or DT_RUNPATH, `$ORIGIN` replaced; of a list that the loader model does not read to its end as many
/// as it reads.
fn own_directories(
    file: &ElfFile,
    path: Option<&str>,
    inventory: &Inventory,
) -> impl Iterator<Item = String> {
    let origin = directory_of(&file.path);
    path.unwrap_or_default()
        .split(':')
        .take(DIRECTORIES)
        // A path has one origin; more would make it long without end.
        .filter(|directory| directory.matches('$').count() <= 1)
        .map(|directory| {
            directory
                .replace("${ORIGIN}", origin)
                .replace("$ORIGIN", origin)
        })
        .filter(|directory| directory.starts_with('/'))
        .filter_map(|directory| real_directory(inventory, &directory))
}

/// The `lib` directories of NVIDIA's wheels, in the order of the sites; other sites may have a link to the `nvidia` of one.
fn wheel_directories(inventory: &Inventory, sites: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    sites
        .iter()
        .filter_map(|site| inventory.root.resolve(&format!("{site}/nvidia")).ok())
        .filter(|nvidia| seen.insert(*nvidia))
        .flat_map(Node::children)
        .flat_map(Node::children)
        .filter(|node| node.name() == "lib" && node.is_directory())
        .map(Node::path)
        .collect()
}

/// The directories that `ld.so.conf` and the files beside it name (ldconfig(8)).
fn configured_directories(inventory: &Inventory) -> Vec<String> {
    let lines = inventory
        .texts
        .iter()
        .filter(|file| {
            file.path == "/etc/ld.so.conf" || file.path.starts_with("/etc/ld.so.conf.d/")
        })
        .flat_map(|file| file.text.lines())
        .map(str::trim)
        .filter(|line| line.starts_with('/'));
    lines
        .filter_map(|line| real_directory(inventory, line))
        .collect()
}

/// Notes the environment of PyTorch and of its Python, and what the image's variables say of the Python of the process.
fn add_environment(
    components: &mut [Component],
    environment: Option<&Environment>,
    torch: Option<&TorchCopy>,
    launch: &Launch,
) {
    let site = torch.map(|torch| directory_of(&torch.directory));
    let environment = environment.filter(|environment| {
        environment
            .sites
            .iter()
            .any(|own| Some(own.as_str()) == site)
    });
    let prefix = match environment {
        Some(environment) => Some(environment.prefix.as_str()),
        None => site
            .and_then(|site| site.split_once("/lib/python"))
            .map(|(prefix, _)| prefix),
    };
    for component in components {
        let is_interpreter = component.name == "python"
            && environment.is_some_and(|found| found.interpreter == component.path);
        let is_torch = component.name == "torch" && component.loaded;
        // Another Python of the same prefix is not of the environment.
        if component.name == "python" && environment.is_some() && !is_interpreter {
            let own = component.details.get("environment").map(String::as_str);
            if own == prefix {
                component.details.remove("environment");
            }
        }
        if let Some(prefix) = prefix.filter(|_| is_interpreter || is_torch) {
            component
                .details
                .insert("environment".to_owned(), prefix.to_owned());
        }
        if component.name == "python"
            && component.loaded
            && let version = launch.variable("PYTHON_VERSION")
            && is_version(version)
        {
            let evidence = Evidence::new(EvidenceKind::Env, version, "", "PYTHON_VERSION");
            component.evidence.push(evidence);
        }
    }
}
