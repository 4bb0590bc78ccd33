//! Files of the driver in the image, and files that need the driver.
//!
//! The driver belongs to the host: the toolkit mounts its files when a container starts. Driver files in an image come from a package,
//! or are empty mount points that the toolkit created in a container from which the image was committed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stack::inventory::Inventory;
use crate::stack::python::Environment;
use crate::stack::sites::Sites;
use imgcheck_elf::ElfFacts;
use imgcheck_image::Content;
use imgcheck_image::Node;

use super::knowledge::ToolkitKnowledge;
use imgcheck_base::lexical::{directory_of, name_of};

/// A file with the name of a driver file, outside the directories of stubs and of the forward-compatibility package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriverFile {
    /// The file.
    pub path: String,
    /// The layer that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Its name without a version: `libcuda.so`, `nvidia-smi`.
    pub name: String,
    /// The capability that mounts the host's file: `compute`.
    pub capability: String,
    /// What it is.
    pub state: FileState,
    /// The driver's version in its file name: `535.261.03`; empty if unknown.
    pub version: String,
}

/// What a file with the name of a driver file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// A file of a driver.
    #[default]
    Real,
    /// An empty file.
    Empty,
    /// A dangling symbolic link.
    Dangling,
    /// A library of the toolkit for linking, whose functions do nothing.
    Stub,
    /// Not an ELF file, such as a script.
    Other,
}

/// A file that needs a library of the driver (DT_NEEDED).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriverNeed {
    /// The library: `libnvcuvid.so.1`.
    pub library: String,
    /// The capability that mounts it: `video`.
    pub capability: String,
    /// The file that needs it.
    pub path: String,
    /// The layer that contains the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Prefix of the Python environment that contains the file; empty if it is in no environment.
    pub environment: String,
    /// Whether that is the environment of the image's process.
    pub main: bool,
    /// The package directory that contains it: `cv2`; empty outside an environment.
    pub directory: String,
}

impl ToolkitKnowledge {
    /// The name without version, and the capability that mounts it, of a file with the name of a driver file.
    pub fn driver_name<'n>(&self, name: &'n str) -> Option<(&'n str, &str)> {
        if name.starts_with("nv") {
            return self.of_program(name).map(|capability| (name, capability));
        }
        let end = name.starts_with("lib").then(|| name.find(".so"))?? + ".so".len();
        let (stem, version) = name.split_at(end);
        let is_version = version.is_empty()
            || version.starts_with('.')
                && version
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let capability = self.of_library(stem).filter(|_| is_version)?;
        Some((stem, capability))
    }
}

/// The files of the image with names of driver files.
pub(super) fn of_driver(inventory: &Inventory, knowledge: &ToolkitKnowledge) -> Vec<DriverFile> {
    let nodes = inventory.driver_names.iter();
    let nodes = nodes.filter(|node| !is_set_apart(&node.path()));
    nodes
        .filter_map(|node| driver_file(inventory, *node, knowledge))
        .collect()
}

fn driver_file(
    inventory: &Inventory,
    node: Node,
    knowledge: &ToolkitKnowledge,
) -> Option<DriverFile> {
    let path = node.path();
    let (name, capability) = knowledge.driver_name(node.name())?;
    let state = match node.content() {
        _ if node.symlink_target().is_some() => {
            // A file behind a link is examined under its own name.
            let dangles = inventory.root.resolve(&path).is_err();
            dangles.then_some(FileState::Dangling)?
        }
        None => return None,
        Some(_) if node.size() == 0 => FileState::Empty,
        Some(Content::Elf(elf)) if is_stub(elf) => FileState::Stub,
        Some(Content::Elf(_) | Content::BrokenElf { .. }) => FileState::Real,
        Some(_) => FileState::Other,
    };
    // Releases of the driver begin with three digits; 1 and 1.1 are numbers of the interface.
    let number = node.name().strip_prefix(name).unwrap_or_default();
    let number = number.trim_start_matches('.');
    let is_release = number.split('.').next().is_some_and(|it| it.len() == 3);
    Some(DriverFile {
        layer: node.layer(),
        name: name.to_owned(),
        capability: capability.to_owned(),
        state,
        version: if is_release { number } else { "" }.to_owned(),
        path,
    })
}

fn is_stub(elf: &ElfFacts) -> bool {
    let identity = elf.identity.as_ref();
    identity.is_some_and(|identity| identity.part.as_deref() == Some("stub"))
}

/// Whether a path is in a directory of stubs or of the forward-compatibility package, which the loader searches only on request.
fn is_set_apart(path: &str) -> bool {
    let mut directories = directory_of(path).split('/');
    directories.any(|directory| directory.starts_with("stub") || directory.contains("compat"))
}

/// The files that need a library of the driver, except those of the driver itself.
pub(super) fn needs(
    inventory: &Inventory,
    environments: &[Environment],
    knowledge: &ToolkitKnowledge,
) -> Vec<DriverNeed> {
    let places = EnvironmentSites::of(environments);
    let mut needs = Vec::new();
    for file in &inventory.elf {
        for library in &file.facts.needed {
            let Some((_, capability)) = knowledge.driver_name(library) else {
                continue;
            };
            if knowledge.driver_name(name_of(&file.path)).is_some() || is_set_apart(&file.path) {
                continue;
            }
            let place = places.place(&file.path);
            let (environment, main, directory) = place.unwrap_or_default();
            needs.push(DriverNeed {
                library: library.clone(),
                capability: capability.to_owned(),
                path: file.path.clone(),
                layer: file.node.layer(),
                environment,
                main,
                directory,
            });
        }
    }
    needs
}

/// The import directories of the environments.
struct EnvironmentSites<'e> {
    sites: Sites,
    /// The environment of each of the sites, and its position.
    owners: Vec<(usize, &'e Environment)>,
}

impl<'e> EnvironmentSites<'e> {
    fn of(environments: &'e [Environment]) -> Self {
        let sites = environments.iter().flat_map(|it| &it.sites);
        let owners = environments.iter().enumerate();
        EnvironmentSites {
            sites: sites.collect(),
            owners: owners
                .flat_map(|owner| owner.1.sites.iter().map(move |_| owner))
                .collect(),
        }
    }

    /// The environment that imports from the directory of a file, whether it is the first one, and the package directory.
    fn place(&self, path: &str) -> Option<(String, bool, String)> {
        let inside = self.sites.holding(path)?;
        let (index, environment) = self.owners.get(inside.place)?;
        let directory = inside
            .rest
            .split_once('/')
            .map_or("", |(directory, _)| directory);
        let directory = directory.strip_suffix(".libs").unwrap_or(directory);
        Some((
            environment.prefix.clone(),
            *index == 0,
            directory.to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_of_driver_files() {
        let knowledge = crate::knowledge::container_toolkit().unwrap();
        for (name, expected) in [
            ("libcuda.so", Some(("libcuda.so", "compute"))),
            ("libcuda.so.535.261.03", Some(("libcuda.so", "compute"))),
            ("libnvidia-ml.so.1", Some(("libnvidia-ml.so", "utility"))),
            ("nvidia-smi", Some(("nvidia-smi", "utility"))),
            ("libcudart.so.12", None),
            ("libcuda.so.1.py", None),
            ("libcuda.so-old", None),
            ("libGL.so.1", None),
            ("nvidia-ctk", None),
            ("libnvidia-container.so.1", None),
            ("libs", None),
        ] {
            assert_eq!(knowledge.driver_name(name), expected, "{name}");
        }
    }

    /// Two environments may import from one directory, and one environment from a directory within another's.
    #[test]
    fn the_first_environment_that_imports_a_file_has_it() {
        let environment = |prefix: &str, sites: &[&str]| Environment {
            prefix: prefix.to_owned(),
            interpreter: String::new(),
            release: String::new(),
            sites: sites.iter().map(|it| (*it).to_owned()).collect(),
            ..Environment::default()
        };
        let environments = [
            environment("/opt", &["/opt/own", "/shared"]),
            environment("/usr", &["/shared", "/shared/inner", "/usr/own"]),
        ];
        let places = EnvironmentSites::of(&environments);
        let expected = |prefix: &str, main, directory: &str| {
            Some((prefix.to_owned(), main, directory.to_owned()))
        };
        for (path, place) in [
            ("/shared/inner/a.so", expected("/usr", false, "")),
            ("/usr/own/torch/lib/a.so", expected("/usr", false, "torch")),
            ("/usr/own/numpy.libs/a.so", expected("/usr", false, "numpy")),
            ("/opt/own/a.so", expected("/opt", true, "")),
            ("/opt/other/a.so", None),
        ] {
            assert_eq!(places.place(path), place, "{path}");
        }
    }

    #[test]
    fn directories_that_the_loader_does_not_search() {
        assert!(is_set_apart(
            "/usr/local/cuda-12.8/compat/libcuda.so.570.26"
        ));
        assert!(is_set_apart("/usr/local/cuda/compat/lib.real/libcuda.so.1"));
        assert!(is_set_apart("/opt/conda/cuda-compat/libcuda.so.550.54.15"));
        assert!(is_set_apart("/usr/local/cuda/lib64/stubs/libcuda.so"));
        assert!(!is_set_apart("/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
    }
}
