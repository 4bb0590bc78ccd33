//! Finds the packages that a file belongs to without testing every package for every file.

use std::collections::HashMap;

use imgcheck_image::FileIdentity;

use super::package::{Owned, Package};
use crate::stack::inventory::ElfFile;
use crate::stack::sites::DirectoryTree;

/// Maximum number of packages of one component that are listed for one file or interpreter. No real image has more.
pub const OWNERS: usize = 16;

/// All packages in an image that contain components.
pub struct Packages {
    all: Vec<Package>,
    by_component: HashMap<String, PackageIndex>,
}

/// The packages of one component by the location of their files, as indexes into `Packages::all`.
#[derive(Default)]
struct PackageIndex {
    files: HashMap<FileIdentity, Vec<usize>>,
    /// By installation directory.
    directories: DirectoryTree<Vec<usize>>,
    system: Vec<usize>,
}

impl Packages {
    pub(super) fn new(all: Vec<Package>) -> Self {
        let mut by_component: HashMap<String, PackageIndex> = HashMap::new();
        for (index, package) in all.iter().enumerate() {
            let packages = by_component.entry(package.component.clone()).or_default();
            packages.add(index, package, &all);
        }
        Packages { all, by_component }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Package> {
        self.all.iter()
    }

    /// The packages of a component that at least one of the files belongs to, in the order of all packages.
    pub fn owners<'p>(&'p self, component: &str, files: &[&ElfFile]) -> Vec<&'p Package> {
        let Some(packages) = self.by_component.get(component) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for file in files {
            let candidates = packages.of_file(file).chain(packages.above(&file.path));
            let candidates = candidates.chain(packages.system.iter().copied());
            found.extend(candidates.filter(|index| self.all[*index].owns(file)));
        }
        self.first(found)
    }

    /// The packages of a component that a file belongs to, or that are installed in a directory above it, in the order of all packages.
    pub fn owners_or_above<'p>(&'p self, component: &str, file: &ElfFile) -> Vec<&'p Package> {
        let Some(packages) = self.by_component.get(component) else {
            return Vec::new();
        };
        let mut found: Vec<usize> = packages.above(&file.path).collect();
        let others = packages
            .of_file(file)
            .chain(packages.system.iter().copied());
        found.extend(others.filter(|index| self.all[*index].owns(file)));
        self.first(found)
    }

    fn first(&self, mut indexes: Vec<usize>) -> Vec<&Package> {
        indexes.sort_unstable();
        indexes.dedup();
        indexes.truncate(OWNERS);
        indexes.into_iter().map(|index| &self.all[index]).collect()
    }
}

impl PackageIndex {
    fn add(&mut self, index: usize, package: &Package, all: &[Package]) {
        let directory = package.installed_in.trim_end_matches('/');
        let beside = self.directories.entry(directory).get_or_insert_default();
        let alike = |other: &&usize| all[**other].owned.pattern() == package.owned.pattern();
        if beside.iter().filter(alike).count() < OWNERS {
            beside.push(index);
        }
        match &package.owned {
            Owned::Files(files) => {
                for file in files {
                    let owners = self.files.entry(*file).or_default();
                    if owners.len() < OWNERS {
                        owners.push(index);
                    }
                }
            }
            Owned::System if self.system.len() < OWNERS => self.system.push(index),
            Owned::System | Owned::Under(_) => {}
        }
    }

    fn of_file(&self, file: &ElfFile) -> impl Iterator<Item = usize> {
        let identity = file.node.identity();
        let owners = identity.and_then(|identity| self.files.get(&identity));
        owners.into_iter().flatten().copied()
    }

    /// The packages that are installed in a directory above a path.
    fn above(&self, path: &str) -> impl Iterator<Item = usize> {
        let packages = self.directories.above(path);
        packages.flat_map(|(_, packages)| packages.iter().copied())
    }
}

impl Owned {
    /// The pattern that distinguishes packages in one directory; `None` for a file list or the system's directories.
    fn pattern(&self) -> Option<&str> {
        match self {
            Owned::Under(pattern) => Some(pattern),
            Owned::Files(_) | Owned::System => None,
        }
    }
}
