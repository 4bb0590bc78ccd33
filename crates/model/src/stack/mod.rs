//! The components of an image (PyTorch, CUDA, cuDNN, Python …), each version with all evidence for it.

mod assemblers;
mod broken_environments;
mod catalogue;
mod component;
pub mod container_toolkit;
mod driver;
mod evidence;
mod gpu;
mod gpu_processes;
mod importable;
mod interpreter;
mod inventory;
mod libraries;
mod library_search;
mod loaded;
mod modules;
mod named;
mod naming_variables;
mod network;
mod network_names;
mod packages;
mod pattern;
mod python;
mod python_faults;
mod python_launcher;
mod python_options;
mod python_script;
mod python_settings;
mod python_startup;
mod replaced_modules;
pub mod requirements;
mod shadowed_packages;
pub mod sites;
mod startup_knowledge;
mod system;
mod tool_knowledge;
mod toolkit;
mod tools;
mod torch;
mod weights;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use oci_spec::image::ImageConfiguration;
use serde::Serialize;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limits;
use imgcheck_image::RootFilesystem;
use imgcheck_launch::Launch;
use imgcheck_loader::ProcessBudget;

pub use assemblers::GpuAssembler;
pub use broken_environments::BrokenEnvironment;
pub use catalogue::Catalogue;
pub use component::{Component, Coverage, Distribution, Evidence, EvidenceKind};
pub use container_toolkit::ContainerToolkit;
pub use driver::{DriverFloor, ToolkitRow};
pub use gpu::{Gpu, LibraryCoverage};
pub use gpu_processes::GpuProcesses;
pub use importable::ImportableDistributions;
pub use naming_variables::NamingVariables;
pub use network::{Network, UnloadableNetwork};
pub use packages::incomplete::IncompleteDistribution;
pub use packages::native_modules::NativeModule;
pub use packages::record::OverwrittenFiles;
pub use python::{Environment, Labels, PythonProgram};
pub use python_faults::{ShadowedPackage, ShadowingPlace, StartRefusal};
pub use python_script::PythonScript;
pub use python_settings::PythonSettings;
pub use requirements::{UnmetRequirement, machine};
pub use startup_knowledge::StartupKnowledge;
pub use tool_knowledge::ToolKind;
pub use tools::MissingTool;
pub use weights::Weights;

use inventory::Inventory;
use shadowed_packages::Installed;

/// The stack of one image.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stack {
    /// Every copy of every known library and package.
    pub components: Vec<Component>,
    /// Number of ELF files of each machine, by its usual name: `x86_64`, `aarch64`.
    pub machines: BTreeMap<String, usize>,
    /// The GPU code of each file, and of PyTorch's own kernels.
    pub gpu: Gpu,
    /// Every installed Python distribution whose metadata could be read, with its pins.
    pub distributions: Vec<Distribution>,
    /// The Python environments; the main process's comes first.
    #[serde(skip)]
    pub environments: Vec<Environment>,
    /// What each Python environment can import, that of the main process first.
    #[serde(skip)]
    pub imports: Vec<ImportableDistributions>,
    /// Unmet requirements between installed distributions of the GPU stack.
    #[serde(skip)]
    pub unmet_requirements: Vec<UnmetRequirement>,
    /// Libraries that a Python distribution has replaced with its own.
    #[serde(skip)]
    pub overwritten_files: Vec<OverwrittenFiles>,
    /// Distributions without some of their modules.
    #[serde(skip)]
    pub incomplete_distributions: Vec<IncompleteDistribution>,
    /// Virtual environments whose interpreter is missing.
    #[serde(skip)]
    pub broken_environments: Vec<BrokenEnvironment>,
    /// Packages that Python does not import, because a module of their name comes first. Each is named for the first environment.
    #[serde(skip)]
    pub shadowed_packages: Vec<ShadowedPackage>,
    /// Options and variables with which Python refuses to start.
    #[serde(skip)]
    pub start_refusals: Vec<StartRefusal>,
    /// The script that the command runs with Python.
    #[serde(skip)]
    pub script: Option<PythonScript>,
    /// The processes that the command starts, one for each GPU.
    #[serde(skip)]
    pub gpu_processes: Option<GpuProcesses>,
    /// Tools that packages of the main process's environment need at run time, and that are missing.
    #[serde(skip)]
    pub missing_tools: Vec<MissingTool>,
    /// The `ptxas` that packages of the main process call.
    #[serde(skip)]
    pub assemblers: Vec<GpuAssembler>,
    /// By variable of the main process, the file because of which the directory that it names cannot be made.
    #[serde(skip)]
    pub files_in_place: BTreeMap<String, String>,
    /// By variable of the main process, its words that are modules of the environment; without the variable, any word may be one.
    #[serde(skip)]
    pub named_modules: BTreeMap<String, Vec<String>>,
    /// What NCCL can use between machines.
    #[serde(skip)]
    pub network: Network,
    /// Models with quantized weights.
    #[serde(skip)]
    pub weights: Vec<Weights>,
    /// The native modules of all Python distributions.
    #[serde(skip)]
    pub native_modules: Vec<NativeModule>,
    /// What the image requests from NVIDIA's container toolkit, and the driver files that it contains.
    #[serde(skip)]
    pub container_toolkit: ContainerToolkit,
}

/// Finds the components in an image's files. `launch` describes the process that the image starts.
///
/// Files that cannot be parsed are ignored. Components are sorted by name; the loaded copy of each comes first.
///
/// # Errors
/// A limit is exceeded, or the request was cancelled.
pub fn read(
    root: &RootFilesystem,
    config: &ImageConfiguration,
    launch: &Launch,
    catalogue: &Catalogue,
    budget: &ProcessBudget,
) -> Result<Stack> {
    let inventory = taken(root, catalogue);
    let distributions = packages::python::distributions(&inventory);
    let records = packages::Records::read(&inventory, &distributions);
    let packages = packages::read(&inventory, &distributions, &records, catalogue);
    let mut environments = environments_of(&inventory, launch, catalogue, &budget.bounds.limits)?;
    let copies_of_torch = torch::copies(&inventory, &packages);
    let directories = copies_of_torch.iter().map(|copy| copy.directory.as_str());
    let installed = Installed::of(&distributions, directories, &catalogue.startup);
    let user = &launch.user.credentials;
    shadowed_packages::find(
        &mut environments,
        &inventory,
        user,
        &catalogue.startup,
        &installed,
    );
    let headers = toolkit::headers(&inventory);

    let mut components = libraries::components(&inventory, &packages, catalogue);
    components.extend(
        copies_of_torch
            .iter()
            .map(|copy| copy.component(&inventory)),
    );
    components.extend(python::components(&inventory, &packages, &environments));
    components.extend(system::components(&inventory, &packages, catalogue));
    components.extend(toolkit::components(&inventory, &headers));
    toolkit::add_header_evidence(&mut components, &headers);
    components.extend(unclaimed(&packages, &components));

    let candidates = loaded::Candidates {
        inventory: &inventory,
        launch,
        environments: &environments,
        torch: &copies_of_torch,
    };
    let selected = loaded::mark(&mut components, &candidates, budget)?.cloned();
    components.iter_mut().for_each(evidence::resolve_version);
    let loaded_torch = components
        .iter()
        .find(|component| component.name == "torch" && component.loaded);
    let torch_coverage = loaded_torch.and_then(|component| {
        let copy = copies_of_torch
            .iter()
            .find(|copy| copy.directory == component.path)?;
        gpu::torch(copy, component)
    });
    let gpu = Gpu {
        libraries: gpu::libraries(&inventory),
        sampled: gpu::sampled(&inventory),
        torch: torch_coverage,
    };
    components.sort_by(|a, b| (&a.name, !a.loaded, &a.path).cmp(&(&b.name, !b.loaded, &b.path)));
    let machines = inventory.machines();
    environments.sort_by_key(|environment| Some(environment) != selected.as_ref());
    let installed = requirements::Installed {
        distributions: &distributions,
        environments: &environments,
        components: &components,
        machine: requirements::machine(config.architecture()),
    };
    let unmet_requirements =
        requirements::unmet(&installed, &catalogue.requirements, &budget.bounds.limits)
            .map_err(|exceeded| Error::limit("the Python environments", exceeded))?;
    let imports = importable::all(&distributions, &environments, &budget.bounds.limits)
        .map_err(|exceeded| Error::limit("the Python environments", exceeded))?;
    let main = environments.first().zip(imports.first());
    let main = main.map(|(environment, imports)| tools::Process {
        root,
        launch,
        environment,
        imports,
        components: &components,
        anywhere: &inventory.tool_files,
    });
    let missing_tools = main.as_ref().map(|it| tools::missing(it, &catalogue.tools));
    let assemblers = main
        .as_ref()
        .map(|it| assemblers::all(it, &catalogue.tools));
    let network = Network::of(&inventory, &catalogue.network, &catalogue.toolkit);
    for nccl in components.iter_mut().filter(|it| it.name == "nccl") {
        nccl.details.insert("network".to_owned(), network.summary());
        if network.has_rdma() {
            nccl.details.insert("rdma".to_owned(), "yes".to_owned());
        }
    }
    let naming = &catalogue.naming;
    let modules_of = |it| named::modules(naming, root, launch, it);
    let named_modules = environments.first().map(modules_of).unwrap_or_default();
    let overwritten_files = records.overwritten(&distributions);
    let incomplete_distributions =
        packages::incomplete::incomplete(&inventory, &distributions, &environments);
    let native_modules = records.native_modules(&distributions);
    let shadowed_packages = distinct(environments.iter().flat_map(|it| &it.shadowed), |it| {
        (&it.executed, &it.module)
    });
    let start_refusals = environments.iter().flat_map(|it| it.refusals.clone());
    let start_refusals = start_refusals.collect();
    let container_toolkit = ContainerToolkit::of_image(
        &inventory,
        &environments,
        &launch.container_environment,
        &catalogue.toolkit,
    );
    Ok(Stack {
        script: PythonScript::of(&environments, launch, root),
        gpu_processes: GpuProcesses::of(
            launch,
            &catalogue.settings.gpu_programs,
            &catalogue.settings.launchers,
            &inventory,
        ),
        components,
        machines,
        gpu,
        distributions,
        environments,
        imports,
        unmet_requirements,
        overwritten_files,
        incomplete_distributions,
        broken_environments: broken_environments::find(&inventory),
        shadowed_packages,
        start_refusals,
        missing_tools: missing_tools.unwrap_or_default(),
        assemblers: assemblers.unwrap_or_default(),
        files_in_place: named::files_in_place(&naming.directories, root, launch),
        named_modules,
        network,
        weights: weights::all(&inventory),
        native_modules,
        container_toolkit,
    })
}

/// The Python environments of an image, as [`read`] finds them.
///
/// # Errors
/// A search path has more directories than [`PythonDirectories`](imgcheck_base::limits::Limit::PythonDirectories).
pub fn environments(
    root: &RootFilesystem,
    launch: &Launch,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Vec<Environment>> {
    let inventory = taken(root, catalogue);
    environments_of(&inventory, launch, catalogue, limits)
}

fn taken<'r>(root: &'r RootFilesystem<'r>, catalogue: &Catalogue) -> Inventory<'r> {
    let Catalogue {
        toolkit,
        network,
        tools,
        ..
    } = catalogue;
    Inventory::take(root, toolkit, network, tools)
}

fn environments_of(
    inventory: &Inventory,
    launch: &Launch,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Vec<Environment>> {
    let mut environments = python::environments(inventory);
    python_startup::complete(&mut environments, inventory, launch, catalogue, limits)
        .map_err(|exceeded| Error::limit("Python's search path", exceeded))?;
    Ok(environments)
}

impl Stack {
    /// The version of each Python distribution that the main process's environment can import, by name.
    pub fn importable(&self) -> BTreeMap<String, String> {
        let main = self.imports.first();
        main.map(|it| it.distributions.clone()).unwrap_or_default()
    }

    /// Marks the copies that processes map as loaded. `main` lists the paths of the main process's files in load order, `others` those
    /// of the other processes; they decide about the components that the main process does not map. If no process maps a copy of a
    /// component, the copy that the loader would find stays marked ([`Component::loaded`]).
    pub fn mark_mapped<'p>(
        &mut self,
        main: impl Iterator<Item = &'p str>,
        others: impl Iterator<Item = &'p str>,
    ) {
        let main = main.enumerate().map(|(place, path)| (path, (0, place)));
        let others = others.enumerate().map(|(place, path)| (path, (1, place)));
        let mut places: HashMap<&str, (u8, usize)> = HashMap::new();
        for (path, place) in main.chain(others) {
            places.entry(path).or_insert(place);
        }
        let place = |component: &Component| places.get(component.path.as_str()).copied();
        let mut decided: HashMap<String, u8> = HashMap::new();
        for component in &self.components {
            if let Some((by, _)) = place(component) {
                let first = decided.entry(component.name.clone()).or_insert(by);
                *first = by.min(*first);
            }
        }
        for component in &mut self.components {
            if let Some(by) = decided.get(&component.name) {
                component.loaded = place(component).is_some_and(|it| it.0 == *by);
            }
        }
        self.components.sort_by(|a, b| {
            let rank = |it: &Component| (!it.loaded, place(it).unwrap_or((u8::MAX, 0)));
            (&a.name, rank(a), &a.path).cmp(&(&b.name, rank(b), &b.path))
        });
    }
}

/// The first of all with the same key.
fn distinct<'s, T: Clone + 's, K: Hash + Eq>(
    all: impl Iterator<Item = &'s T>,
    key: impl Fn(&'s T) -> K,
) -> Vec<T> {
    let mut seen = HashSet::new();
    all.filter(|it| seen.insert(key(it))).cloned().collect()
}

/// Components that always come from their own files: their packages have different version numbers, or do not contain them.
const SYSTEM: [&str; 3] = ["glibc", "libstdc++", "python"];

/// Components known only from a package: Python packages, and libraries whose files are missing.
fn unclaimed(packages: &packages::Packages, components: &[Component]) -> Vec<Component> {
    let claimed: HashSet<(&str, &Evidence)> = components
        .iter()
        .flat_map(|component| {
            let evidence = component.evidence.iter();
            evidence.map(|evidence| (component.name.as_str(), evidence))
        })
        .collect();
    let mut unclaimed: BTreeMap<(&str, &str, &str), Component> = BTreeMap::new();
    for package in packages.iter() {
        let name = package.component.as_str();
        let evidence = package.evidence();
        let is_claimed = SYSTEM.contains(&name) || claimed.contains(&(name, &evidence));
        if !is_claimed {
            // Some projects consist of several packages with the same version.
            let key = (
                name,
                package.installed_in.as_str(),
                package.version.as_str(),
            );
            let component = unclaimed
                .entry(key)
                .or_insert_with(|| package.as_component());
            component.evidence.push(evidence);
        }
    }
    unclaimed.into_values().collect()
}
