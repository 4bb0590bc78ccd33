//! Which copy of each component the main process uses.
//!
//! The loader model decides this for every file that a process maps (`Stack::mark_mapped`). This module handles the rest: Python packages
//! come from the launched command's Python, or from the first one that has PyTorch; a library is the file that the loader finds
//! by its name for PyTorch's libraries or for the program.

use std::collections::{BTreeMap, HashSet};

use super::evidence::is_version;
use super::interpreter::{environment, real_directory};
use super::inventory::Inventory;
use super::library_search::{FoundIn, LibrarySearch, program_system};
use super::python::Environment;
use super::python_faults::ShadowedPackage;
use super::sites::Sites;
use super::torch::TorchCopy;
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_image::Node;
use imgcheck_launch::Launch;
use imgcheck_loader::ProcessBudget;

/// The input for choosing the loaded copies.
pub(super) struct Candidates<'c, 'r> {
    pub inventory: &'c Inventory<'r>,
    pub launch: &'c Launch,
    pub environments: &'c [Environment],
    pub torch: &'c [TorchCopy<'c, 'r>],
}

/// The rank of a copy among the copies of one component; the copy with the smallest rank is loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// PyTorch needs a different SONAME.
    is_unwanted: bool,
    found: FoundIn,
}

impl Rank {
    fn at(position: Option<usize>) -> Self {
        Rank {
            is_unwanted: false,
            found: position.map_or(FoundIn::Nowhere, FoundIn::Site),
        }
    }
}

/// Marks the loaded copy of each component. Returns the Python environment of the main process.
///
/// # Errors
/// The library search exceeds a limit, or the request was cancelled.
pub(super) fn mark<'c>(
    components: &mut [Component],
    candidates: &Candidates<'c, '_>,
    budget: &ProcessBudget,
) -> Result<Option<&'c Environment>> {
    let Candidates {
        inventory,
        launch,
        environments,
        torch: copies,
    } = *candidates;
    let named = environment(launch, inventory, environments);
    let selection = TorchSelection { inventory, copies };
    let started = named.filter(|it| it.is_started);
    let environment = started
        .or_else(|| environment_with_torch(named, environments, &selection))
        .or(named);
    let sites = environment.into_iter().flat_map(|it| &it.sites);
    let mut places: Sites = sites.collect();
    let torch = environment.and_then(|it| selection.of(it));
    let torch = torch.or(copies.first().filter(|_| started.is_none()));
    // PyTorch and the packages installed beside it count even if no interpreter searches their directory.
    if let Some(torch) = torch {
        places.push(directory_of(&torch.directory));
    }
    let program = environment.map(|it| it.interpreter.as_str());
    let system = program_system(inventory, launch, program, budget);
    let mut search = LibrarySearch::new(inventory, system.as_ref(), program, torch);
    let elf = inventory.elf.iter();
    let elf: HashSet<&str> = elf.map(|file| file.path.as_str()).collect();
    let mut best: BTreeMap<String, (Rank, usize)> = BTreeMap::new();
    for (index, component) in components.iter().enumerate() {
        let is_shadowed = |it: &ShadowedPackage| it.has(&component.path);
        if environment.is_some_and(|it| it.shadowed.iter().any(is_shadowed)) {
            continue;
        }
        let is_stub = component.details.get("kind").is_some_and(|it| it == "stub");
        let rank = match component.name.as_str() {
            "torch" if torch.is_some_and(|it| it.directory == component.path) => Rank::default(),
            "torch" => continue,
            "python" => rank_of_python(component, named.or(environment), torch),
            "cuda-toolkit" => rank_of_toolkit(component, inventory),
            _ if is_stub => continue,
            _ if elf.contains(component.path.as_str()) => {
                let mut rank = rank_of_library(component, &mut search)?;
                if rank.found == FoundIn::Nowhere {
                    let Some(site) = places.holding(&component.path) else {
                        continue;
                    };
                    rank.found = FoundIn::Package(site.place);
                }
                rank
            }
            _ => Rank::at(places.holding(&component.path).map(|it| it.place)),
        };
        let entry = best.entry(component.name.clone()).or_insert((rank, index));
        *entry = (*entry).min((rank, index));
    }
    for (_, index) in best.into_values() {
        components[index].loaded = true;
    }
    let own = environment.filter(|it| torch.is_some() && selection.of(it).is_some());
    note_environment(components, own, torch, launch);
    Ok(environment)
}

/// The environment with PyTorch: the named one, one with the same interpreter (a link in another `bin`), or the first one.
fn environment_with_torch<'e>(
    named: Option<&'e Environment>,
    environments: &'e [Environment],
    selection: &TorchSelection,
) -> Option<&'e Environment> {
    let has_torch = |environment: &&Environment| selection.of(environment).is_some();
    let same = |environment: &&Environment| {
        named.is_some_and(|named| named.interpreter == environment.interpreter)
    };
    let all = || environments.iter().filter(has_torch);
    named
        .filter(has_torch)
        .or_else(|| all().find(same))
        .or_else(|| all().next())
}

fn rank_of_library(component: &Component, search: &mut LibrarySearch) -> Result<Rank> {
    // auditwheel renames the libraries that it bundles but keeps their SONAMEs, so both names count.
    let sonames = component.evidence.iter();
    let sonames = sonames.filter(|evidence| evidence.kind == EvidenceKind::Soname);
    let names: BTreeMap<&str, ()> = sonames
        .flat_map(|evidence| [evidence.detail.as_str(), name_of(&evidence.path)])
        .chain([name_of(&component.path)])
        .map(|name| (name, ()))
        .collect();
    let names: Vec<&str> = names.into_keys().collect();
    Ok(Rank {
        is_unwanted: !names.iter().any(|name| search.torch_needs(name)),
        found: search.find_in_directory(&names, directory_of(&component.path))?,
    })
}

/// The copies of PyTorch in an image.
struct TorchSelection<'c, 'i, 'r> {
    inventory: &'c Inventory<'r>,
    /// Sorted by directory.
    copies: &'c [TorchCopy<'i, 'r>],
}

impl<'c, 'i, 'r> TorchSelection<'c, 'i, 'r> {
    /// The copy that an environment imports: `torch` in its search path, which may be a link.
    fn of(&self, environment: &Environment) -> Option<&'c TorchCopy<'i, 'r>> {
        let mut shadowed = environment.shadowed.iter();
        if shadowed.any(|it| it.module == "torch") {
            return None;
        }
        environment.sites.iter().find_map(|site| {
            let directory = format!("{site}/torch");
            let path = self.inventory.root.resolve(&directory).map(Node::path);
            let path = path.unwrap_or(directory);
            let mut copies = self.copies.iter();
            copies.find(|copy| copy.directory == path)
        })
    }
}

/// Prefers the interpreter of the environment; without one, the release in the path of PyTorch.
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
        found: FoundIn::Site(usize::from(!is_selected)),
    }
}

/// Prefers the toolkit that `/usr/local/cuda` links to.
fn rank_of_toolkit(component: &Component, inventory: &Inventory) -> Rank {
    let current = real_directory(inventory, "/usr/local/cuda");
    Rank::at((current.as_deref() == Some(&component.path)).then_some(0))
}

/// Adds the detail `environment` to PyTorch and its Python, and PYTHON_VERSION as evidence to the loaded Python. `environment` is the one
/// that imports PyTorch.
fn note_environment(
    components: &mut [Component],
    environment: Option<&Environment>,
    torch: Option<&TorchCopy>,
    launch: &Launch,
) {
    let site = torch.map(|torch| directory_of(&torch.directory));
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
        // Another Python with the same prefix does not belong to the environment.
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
