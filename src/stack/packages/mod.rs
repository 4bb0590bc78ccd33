//! Installed packages of the stack, whatever manager installed them.

mod apk;
mod conda;
mod dpkg;
mod owners;
pub(super) mod python;

use std::collections::HashSet;

use crate::image::FileIdentity;

use super::catalogue::{Catalogue, PackageRow, matches_pattern};
use super::evidence::is_version;
use super::inventory::{ElfFile, Inventory, TextFile};
use super::{Component, Distribution, Evidence, EvidenceKind};

pub(super) use owners::{OWNERS, Packages};

/// A package, as far as it is one component; a package that brings several components is several of these.
pub(super) struct Package {
    pub(super) manager: EvidenceKind,
    pub(super) component: String,
    /// Name and version as written, for a person.
    described: String,
    /// The part of the version that is the component's.
    pub(super) version: String,
    /// The metadata file.
    pub(super) path: String,
    pub(super) layer: Option<usize>,
    /// The directory that the package is installed in: `site-packages`, the prefix of a conda environment, `/`.
    pub(super) installed_in: String,
    owned: Owned,
}

/// Which files a package brought.
enum Owned {
    /// Those on its list.
    Files(HashSet<FileIdentity>),
    /// Those below `installed_in`, in the directories that fit the pattern.
    Under(String),
    /// Not recorded: the system's.
    System,
}

impl Package {
    pub(super) fn evidence(&self) -> Evidence {
        Evidence::new(self.manager, &self.version, &self.path, &self.described)
    }

    /// Whether the package brought the file.
    fn owns(&self, file: &ElfFile) -> bool {
        match &self.owned {
            Owned::Files(files) => file
                .node
                .identity()
                .is_some_and(|identity| files.contains(&identity)),
            Owned::Under(pattern) => self
                .below(&file.path)
                .is_some_and(|path| matches_pattern(pattern, path)),
            Owned::System => ["/lib", "/usr/lib"]
                .iter()
                .any(|directory| file.path.starts_with(directory)),
        }
    }

    /// The rest of a path below the directory that the package is installed in.
    pub(super) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.installed_in.trim_end_matches('/'))?
            .strip_prefix('/')
    }

    /// A component of which nothing but this package is known; its evidence is still to be added.
    pub(super) fn as_component(&self) -> Component {
        Component {
            name: self.component.clone(),
            path: self.path.clone(),
            layer: self.layer,
            ..Component::default()
        }
    }
}

/// All packages of the stack in an image.
pub(super) fn read(
    inventory: &Inventory,
    distributions: &[Distribution],
    catalogue: &Catalogue,
) -> Packages {
    let mut packages = python::packages(distributions, catalogue);
    packages.extend(dpkg::packages(inventory, catalogue));
    packages.extend(apk::packages(inventory, catalogue));
    packages.extend(conda::packages(inventory, catalogue));
    Packages::new(packages)
}

/// What a package database says of one package.
struct Record<'t> {
    manager: EvidenceKind,
    name: &'t str,
    /// As written.
    written: &'t str,
    /// Without epoch and packaging revision.
    version: &'t str,
    source: &'t TextFile<'t>,
    installed_in: String,
}

impl Record<'_> {
    /// One package for each component that the catalogue knows it as.
    fn packages<'c>(
        &self,
        catalogue: &'c Catalogue,
        owned: impl Fn(&PackageRow) -> Owned + 'c,
    ) -> Vec<Package> {
        if !is_version(self.version) {
            return Vec::new();
        }
        catalogue
            .rows(self.manager, self.name)
            .map(|row| Package {
                manager: self.manager,
                component: row.component.clone(),
                described: format!("{} {}", self.name, self.written),
                version: catalogue.component_version(&row.component, self.version),
                path: self.source.path.clone(),
                layer: self.source.layer,
                installed_in: self.installed_in.clone(),
                owned: owned(row),
            })
            .collect()
    }
}
