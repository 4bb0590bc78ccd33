//! PyTorch: each copy, its Python package and libraries together, is one component.

use std::collections::{BTreeMap, HashMap};

use super::evidence::first_numbers;
use super::inventory::{ElfFile, Inventory, TextFile};
use super::packages::{Package, Packages};
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_python::syntax::assigned_texts;

/// The files and packages of one copy of PyTorch.
#[derive(Default)]
pub(super) struct TorchCopy<'i, 'r> {
    /// The package directory: `…/site-packages/torch`.
    pub(super) directory: String,
    version_py: Option<&'i TextFile<'r>>,
    pub(super) libraries: Vec<&'i ElfFile<'r>>,
    packages: Vec<&'i Package>,
}

/// All copies of PyTorch, sorted by directory.
pub(super) fn copies<'i, 'r>(
    inventory: &'i Inventory<'r>,
    packages: &'i Packages,
) -> Vec<TorchCopy<'i, 'r>> {
    let mut copies: BTreeMap<String, TorchCopy> = BTreeMap::new();
    for file in &inventory.texts {
        // Other packages have a module `torch`, too; only PyTorch's generated file contains its commit.
        if let Some(parent) = file.path.strip_suffix("/torch/version.py")
            && file.text.contains("git_version")
        {
            let directory = format!("{parent}/torch");
            copies.entry(directory).or_default().version_py = Some(file);
        }
    }
    let of_torch = || {
        packages
            .iter()
            .filter(|package| package.component == "torch")
    };
    for package in of_torch().filter(|package| package.manager == EvidenceKind::PythonMetadata) {
        let directory = format!("{}/torch", package.installed_in);
        copies.entry(directory).or_default().packages.push(package);
    }
    for file in &inventory.elf {
        if file
            .library()
            .is_some_and(|name| name.starts_with("torch-"))
        {
            let directory = package_directory(&file.path, &copies);
            copies.entry(directory).or_default().libraries.push(file);
        }
    }
    // The first copy below each prefix that may be a conda environment.
    let mut of_prefix: HashMap<String, String> = HashMap::new();
    for directory in copies.keys() {
        if let Some((prefix, _)) = directory.split_once("/lib/python") {
            let first = of_prefix.entry(prefix.to_owned());
            first.or_insert_with(|| directory.clone());
        }
    }
    for package in of_torch().filter(|package| package.manager != EvidenceKind::PythonMetadata) {
        // conda's environments are below the base installation but do not share its packages.
        let owned = match package.manager {
            EvidenceKind::Conda => of_prefix.get(package.installed_in.trim_end_matches('/')),
            _ => copies
                .keys()
                .find(|directory| package.below(directory).is_some()),
        };
        let directory = owned.unwrap_or(&package.path).clone();
        copies.entry(directory).or_default().packages.push(package);
    }
    for (directory, copy) in &mut copies {
        copy.directory.clone_from(directory);
    }
    copies.into_values().collect()
}

/// The package directory of a library of PyTorch: the parent of its `lib`, or the package directory of the environment if libtorch
/// is in the environment's own `lib` (as conda-forge installs it).
fn package_directory(path: &str, copies: &BTreeMap<String, TorchCopy>) -> String {
    let directory = directory_of(path);
    if name_of(directory) != "lib" && name_of(directory) != "lib64" {
        return directory.to_owned();
    }
    let of_environment = copies.keys().find(|copy| {
        copy.strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with("/python"))
    });
    of_environment.map_or_else(|| directory_of(directory).to_owned(), Clone::clone)
}

impl TorchCopy<'_, '_> {
    pub(super) fn component(&self, inventory: &Inventory) -> Component {
        let mut component = Component {
            name: "torch".to_owned(),
            path: self.directory.clone(),
            layer: self.layer(),
            ..Component::default()
        };
        self.add_version_py(&mut component);
        self.add_libraries(&mut component);
        component
            .evidence
            .extend(self.packages.iter().map(|package| package.evidence()));
        if let Some(build) = self.build(&component, inventory) {
            component
                .details
                .insert("build".to_owned(), build.to_owned());
        }
        component
    }

    /// The layer of the most characteristic file: the CUDA library, otherwise any library, otherwise the Python package.
    fn layer(&self) -> Option<usize> {
        let library = self
            .library("torch-cuda")
            .or_else(|| self.libraries.first().copied());
        match library {
            Some(library) => library.node.layer(),
            None => self
                .version_py
                .map(|file| file.layer)
                .or_else(|| self.packages.first().map(|package| package.layer))
                .flatten(),
        }
    }

    pub(super) fn library(&self, name: &str) -> Option<&ElfFile<'_>> {
        self.libraries
            .iter()
            .copied()
            .find(|file| file.library() == Some(name))
    }

    fn add_version_py(&self, component: &mut Component) {
        let Some(file) = self.version_py else {
            return;
        };
        let values = assigned_texts(file.text);
        if let Some(version) = values.get("__version__") {
            component.evidence.push(Evidence::new(
                EvidenceKind::PythonMetadata,
                *version,
                &file.path,
                "__version__",
            ));
        }
        for (variable, detail) in [
            ("cuda", "cuda"),
            ("hip", "hip"),
            ("rocm", "rocm"),
            ("git_version", "git"),
        ] {
            if let Some(value) = values.get(variable) {
                component
                    .details
                    .insert(detail.to_owned(), (*value).to_owned());
            }
        }
    }

    fn add_libraries(&self, component: &mut Component) {
        for file in &self.libraries {
            component.evidence.extend(file.versions());
            for reading in file
                .readings()
                .iter()
                .filter(|reading| reading.fact != "version")
            {
                let detail = component.details.entry(reading.fact.clone());
                detail.or_insert_with(|| reading.value.clone());
            }
        }
    }

    /// `cuda`, `rocm` or `cpu`, according to the installed libraries, or to the package metadata if there are none.
    fn build(&self, component: &Component, inventory: &Inventory) -> Option<&'static str> {
        let has = |name: &str| {
            let path = format!("{}/lib/{name}", self.directory);
            inventory.root.resolve(&path).is_ok()
        };
        // ROCm builds export the symbols of the CUDA libraries.
        if has("libtorch_hip.so") || has("libc10_hip.so") {
            return Some("rocm");
        }
        if self.library("torch-cuda").is_some() || has("libtorch_cuda.so") || has("libc10_cuda.so")
        {
            return Some("cuda");
        }
        if self.library("torch-cpu").is_some() || has("libtorch_cpu.so") {
            return Some("cpu");
        }
        let local = component.evidence.iter().find_map(|evidence| {
            let (_, local) = evidence.value.split_once('+')?;
            Some(local)
        });
        if component.details.contains_key("hip") || component.details.contains_key("rocm") {
            Some("rocm")
        } else if component.details.contains_key("cuda") {
            Some("cuda")
        } else if self.version_py.is_some() || local == Some("cpu") {
            Some("cpu")
        } else {
            None
        }
    }
}

/// Whether a release of PyTorch is 2.0 or later.
pub(super) fn is_2_or_later(version: &str) -> bool {
    first_numbers(version, 1)
        .parse::<u32>()
        .is_ok_and(|major| major >= 2)
}
