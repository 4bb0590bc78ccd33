//! The facts that rules see: the variables of their expressions.
//!
//! These types are the only definition of a fact. The shape that expressions are checked against, the sample they are tried on
//! and the page of facts for rule authors are derived from them: to add a fact, add a field with its documentation.
//!
//! A fact that is unknown is left out, never empty or null: an expression that needs it makes its rule not applicable. Before an
//! image is read there is no `stack`, no `copies` and no `image.env`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loader::{self, LoaderView};
use crate::policy::PolicyFacts;
use imgcheck_base::decimal_bytes::decimal_bytes;
use imgcheck_base::error::Result;
use imgcheck_base::reference::name::Name;
use imgcheck_base::version;
use imgcheck_launch::StartFailure;
use imgcheck_lint::lint::Sources;
use imgcheck_lint::workload::WorkloadFacts;
use imgcheck_model::claims::Claim;
use imgcheck_model::claims::unpublished::Unpublished;
use imgcheck_model::imports::ImportFailure;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::settings;
use imgcheck_model::stack::{
    BrokenEnvironment, Component, ContainerToolkit, DriverFloor, Evidence, Gpu, GpuAssembler,
    GpuProcesses, ImportableDistributions, IncompleteDistribution, MissingTool, Network,
    OverwrittenFiles, PythonScript, ShadowedPackage, Stack, StartRefusal, UnmetRequirement,
    Weights,
};
use imgcheck_model::targets::TargetFacts;

/// The facts of one image, or of a reference alone.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Facts {
    /// What the tag, repository, labels and environment promise.
    pub claims: Vec<Claim>,
    /// By name, the copy of each component that the image's process loads. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<BTreeMap<String, ComponentFacts>>,
    /// All copies of all components. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<Vec<ComponentFacts>>,
    /// The known versions of the components of `stack`, and of `cuda`: the release of the CUDA runtime, major and minor. Absent if
    /// no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<String, String>>,
    /// The GPU architectures that libraries have code for, as in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Gpu>")]
    pub gpu: Option<serde_json::Value>,
    /// The oldest driver that the image runs with, as in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DriverFloor>")]
    pub driver: Option<serde_json::Value>,
    /// What the dynamic loader does in the image's processes. Absent if no image was read.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "loader::serialize"
    )]
    #[schemars(with = "Option<LoaderView<'static>>")]
    pub loader: Option<Arc<LoaderFacts>>,
    /// What the image requests from NVIDIA's container toolkit. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_toolkit: Option<ContainerToolkit>,
    /// What the image has for the network between GPUs of several machines. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Models with quantized weights in the image. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<Weights>>,
    /// What is installed in the Python environments. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Arc<PythonFacts>>,
    /// The image itself.
    pub image: ImageFacts,
    /// What a Dockerfile, requirements file or other build file requests. Only present in `imgcheck lint`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint: Option<Sources>,
    /// The container that starts the image, of a manifest. Only present in `imgcheck preflight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadFacts>,
    /// Whether the image runs on each of the given targets. Empty if there are no targets or no image was read.
    pub targets: Vec<TargetFacts>,
    /// What the configuration requires.
    pub policy: PolicyFacts,
    /// What the user typed; only fingerprints depend on it, no expression.
    #[serde(skip)]
    pub typed: TypedName,
}

/// The name that the user typed, for fingerprints: an image may record any name of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedName {
    /// The registry of a reference; empty without one.
    pub registry: String,
    /// The repository of a reference, or the file name of a path.
    pub repository: String,
}

/// What is installed in the Python environments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonFacts {
    /// The version of each distribution that the environment of the image's process can import, by normalized name (PEP 503).
    pub distributions: BTreeMap<String, String>,
    /// What the other Python environments can import; those with the same directories count as one.
    pub other_environments: Vec<ImportableDistributions>,
    /// Requirements on packages of the GPU stack that the installed versions do not meet.
    pub unmet_requirements: Vec<UnmetRequirement>,
    /// Libraries of one distribution that another has replaced with its own.
    pub overwritten_files: Vec<OverwrittenFiles>,
    /// Distributions on the search paths without some of the modules that their RECORD lists.
    pub incomplete_distributions: Vec<IncompleteDistribution>,
    /// Virtual environments whose interpreter is a link to a file that the image does not have.
    pub broken_environments: Vec<BrokenEnvironment>,
    /// Installed packages that Python does not import, because a module of the same name comes first on its search path.
    pub shadowed_packages: Vec<ShadowedPackage>,
    /// Options and variables with which an interpreter refuses to start.
    pub start_refusals: Vec<StartRefusal>,
    /// The script that the command runs with Python. Absent if it runs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<PythonScript>,
    /// The processes that the command starts on its machine, each for a GPU of its own, as its options say. Absent if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_processes: Option<GpuProcesses>,
    /// Programs and headers that installed packages need to compile something at run time, and that are missing.
    pub missing_tools: Vec<MissingTool>,
    /// The `ptxas` that packages call to compile for a GPU, as far as its release is known.
    pub assemblers: Vec<GpuAssembler>,
    /// By variable of the process, the file because of which the directory that it names cannot be made.
    pub files_in_place: BTreeMap<String, String>,
    /// By variable of the process, its words that are modules; without the variable, any word may be one.
    pub named_modules: BTreeMap<String, Vec<String>>,
    /// Imports that certainly fail, of the program that the image starts and of the installed packages that imgcheck models as processes.
    pub import_failures: Vec<ImportFailure>,
}

/// What the files of an image say of its stack.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StackFacts {
    /// Every copy of every known library and package, marked if the process gets it.
    pub components: Arc<[Component]>,
    /// Number of ELF files by machine.
    pub machines: BTreeMap<String, usize>,
    /// What the image requests from NVIDIA's container toolkit.
    pub container_toolkit: ContainerToolkit,
    /// What the image has for the network between GPUs of several machines.
    pub network: Network,
    /// Models with quantized weights.
    pub weights: Vec<Weights>,
    /// What is installed in the Python environments.
    pub python: Arc<PythonFacts>,
}

impl From<Stack> for StackFacts {
    fn from(stack: Stack) -> Self {
        let python = PythonFacts {
            distributions: stack.importable(),
            other_environments: stack.imports.into_iter().skip(1).collect(),
            unmet_requirements: stack.unmet_requirements,
            overwritten_files: stack.overwritten_files,
            incomplete_distributions: stack.incomplete_distributions,
            broken_environments: stack.broken_environments,
            shadowed_packages: stack.shadowed_packages,
            start_refusals: stack.start_refusals,
            script: stack.script,
            gpu_processes: stack.gpu_processes,
            missing_tools: stack.missing_tools,
            assemblers: stack.assemblers,
            files_in_place: stack.files_in_place,
            named_modules: stack.named_modules,
            import_failures: Vec::new(),
        };
        StackFacts {
            components: stack.components.into(),
            machines: stack.machines,
            container_toolkit: stack.container_toolkit,
            network: stack.network,
            weights: stack.weights,
            python: python.into(),
        }
    }
}

impl PythonFacts {
    /// The layer of a metadata file.
    fn layer_of(&self, path: &str) -> Option<usize> {
        let unmet = self.unmet_requirements.iter().find_map(|it| {
            let own = (it.path == path).then_some(it.layer).flatten();
            own.or_else(|| (it.found_path == path).then_some(it.found_layer)?)
        });
        let mut overwritten = self.overwritten_files.iter();
        let mut incomplete = self.incomplete_distributions.iter();
        let mut damaged = incomplete.clone().flat_map(|it| &it.damaged);
        let mut broken = self.broken_environments.iter();
        let mut shadowed = self.shadowed_packages.iter();
        let mut failures = self.import_failures.iter();
        let mut refusals = self.start_refusals.iter();
        unmet
            .or_else(|| {
                overwritten
                    .find(|it| it.files.first().is_some_and(|it| it == path))?
                    .layer
            })
            .or_else(|| damaged.find(|it| it.path == path)?.layer)
            .or_else(|| incomplete.find(|it| it.metadata == path)?.layer)
            .or_else(|| broken.find(|it| it.interpreter == path)?.layer)
            .or_else(|| shadowed.find(|it| it.executed == path)?.layer)
            .or_else(|| failures.find(|it| it.importer == path)?.layer)
            .or_else(|| refusals.find(|it| it.interpreter == path)?.layer)
    }
}

/// One copy of one component of the stack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentFacts {
    /// The component: `torch`, `cuda-runtime`, `os` …
    pub name: String,
    /// The version; absent if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The file or directory of this copy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Index of the layer that added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// More facts by name: `cuda`, `build`, `compiled-cudnn` …
    #[serde(default)]
    pub details: BTreeMap<String, String>,
    /// All evidence for the version, strongest first.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

impl From<&Component> for ComponentFacts {
    fn from(component: &Component) -> Self {
        ComponentFacts {
            name: component.name.clone(),
            version: component.version.clone(),
            path: component.path.clone(),
            layer: component.layer,
            details: component.details.clone(),
            evidence: component.evidence.clone(),
        }
    }
}

/// The image itself: its name and its configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImageFacts {
    /// The reference as written.
    pub reference: String,
    /// `docker.io`, `nvcr.io` …
    pub registry: String,
    /// `pytorch/pytorch`, without registry and tag.
    pub repository: String,
    /// The tag; absent if the reference has no tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The digest in the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What the reference claims and nobody ever published, by the tables of releases and tags. Only made for expressions that name it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpublished: Vec<Unpublished>,
    /// The reference, in which each version that the image does not have is the one that it has; only the tag if a layout records no more. Absent if no image was read. Only made for
    /// expressions that name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<String>,
    /// Variables of the program that the container runs with which an installed package fails, slows down or uses the CPU. Only made for
    /// expressions that name it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<settings::Fault>,
    /// `linux/amd64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// `os` of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// `architecture` of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The environment of the configuration. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// The environment of the program that the container runs, after the scripts and wrappers that start it. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_env: Option<BTreeMap<String, String>>,
    /// The labels of the configuration. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Number of ELF files by machine. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<BTreeMap<String, usize>>,
    /// Bytes of the image's files, not compressed: `files`, all of all layers; `duplicates`, further copies of GPU libraries. Absent if no
    /// image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BTreeMap<String, Bytes>>,
    /// Why a container of the image certainly does not run its program.
    pub start_failures: Vec<StartFailure>,
    /// Whether the image was read; false if only its reference is known.
    pub scanned: bool,
}

/// A size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bytes {
    /// Its bytes.
    pub bytes: u64,
    /// The same for people: `1.5 GB`.
    pub text: String,
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Self {
        Bytes {
            bytes,
            text: decimal_bytes(bytes),
        }
    }
}

impl TypedName {
    /// The name of a reference; empty if the text is not a reference.
    pub fn of_reference(reference: &str) -> Self {
        let name = reference.parse::<Name>();
        name.map_or_else(
            |_| TypedName::default(),
            |name| TypedName {
                registry: name.registry.unwrap_or_default(),
                repository: name.repository,
            },
        )
    }
}

impl Facts {
    /// The facts of a reference alone: rules that need the image do not apply.
    pub fn of_reference(image: ImageFacts, claims: Vec<Claim>) -> Self {
        Facts {
            claims,
            image: ImageFacts {
                scanned: false,
                ..image
            },
            ..Facts::default()
        }
    }

    /// The facts of a build file: rules that need an image do not apply.
    ///
    /// # Errors
    /// A built-in table is broken, which the tests exclude.
    pub fn of_sources(mut sources: Sources) -> Result<Self> {
        sources.compare()?;
        Ok(Facts {
            lint: Some(sources),
            ..Facts::default()
        })
    }

    /// The facts of an image. The environment and labels in `image` are those of its configuration.
    pub fn of_image(image: ImageFacts, claims: Vec<Claim>, stack: &StackFacts) -> Self {
        let mut loaded = BTreeMap::new();
        for component in stack.components.iter().filter(|component| component.loaded) {
            loaded
                .entry(component.name.clone())
                .or_insert_with(|| ComponentFacts::from(component));
        }
        Facts {
            claims,
            versions: Some(versions(&loaded)),
            stack: Some(loaded),
            copies: Some(stack.components.iter().map(ComponentFacts::from).collect()),
            container_toolkit: Some(stack.container_toolkit.clone()),
            network: Some(stack.network.clone()),
            weights: Some(stack.weights.clone()),
            python: Some(stack.python.clone()),
            image: ImageFacts {
                process_env: Some(image.process_env.or(image.env.clone()).unwrap_or_default()),
                env: Some(image.env.unwrap_or_default()),
                labels: Some(image.labels.unwrap_or_default()),
                machines: Some(stack.machines.clone()),
                scanned: true,
                ..image
            },
            ..Facts::default()
        }
    }

    /// The copy at a path.
    pub fn component_at(&self, path: &str) -> Option<&ComponentFacts> {
        let loaded = self.stack.iter().flat_map(BTreeMap::values);
        let copies = self.copies.iter().flatten();
        loaded
            .chain(copies)
            .find(|component| component.path == path)
    }

    /// The layer of a file that some fact mentions.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let component = self
            .component_at(path)
            .and_then(|component| component.layer);
        component
            .or_else(|| self.loader.as_ref()?.layer_of(path))
            .or_else(|| self.container_toolkit.as_ref()?.layer_of(path))
            .or_else(|| self.python.as_ref()?.layer_of(path))
            .or_else(|| self.network.as_ref()?.layer_of(path))
            .or_else(|| {
                let mut failures = self.image.start_failures.iter();
                failures.find(|it| it.path == path)?.layer
            })
    }
}

/// The valid versions of a stack by component. `cuda` is the release of the CUDA runtime that the process loads, major and minor; if it
/// loads none, of the CUDA that its PyTorch was built with.
pub fn versions(stack: &BTreeMap<String, ComponentFacts>) -> BTreeMap<String, String> {
    let readable = stack
        .values()
        .filter(|component| version::release(&component.version).is_some());
    let mut versions: BTreeMap<String, String> = readable
        .map(|component| (component.name.clone(), component.version.clone()))
        .collect();
    let runtime = versions.get("cuda-runtime");
    let cuda = runtime
        .filter(|version| version.contains('.'))
        .or_else(|| stack.get("torch")?.details.get("cuda"))
        .and_then(|version| version::release(version));
    if let Some(numbers) = cuda {
        let numbers: Vec<String> = numbers.iter().take(2).map(u64::to_string).collect();
        versions.insert("cuda".to_owned(), numbers.join("."));
    }
    versions
}
