//! One installed package.

use std::collections::HashSet;

use super::listed_files::is_removed;
use crate::stack::catalogue::{Catalogue, PackageRow};
use crate::stack::evidence::is_version;
use crate::stack::inventory::{ElfFile, Inventory, TextFile};
use crate::stack::pattern::matches_pattern;
use crate::stack::{Component, Evidence, EvidenceKind};
use imgcheck_image::FileIdentity;

/// One component of a package; a package with several components has several of these.
pub struct Package {
    pub manager: EvidenceKind,
    pub component: String,
    /// Name and version as written, for display.
    described: String,
    /// The part of the version that belongs to the component.
    pub version: String,
    /// The metadata file.
    pub path: String,
    pub layer: Option<usize>,
    /// The installation directory: `site-packages`, the prefix of a conda environment, `/`.
    pub installed_in: String,
    pub(super) owned: Owned,
}

/// Which files belong to a package.
pub(super) enum Owned {
    /// The files in its list.
    Files(HashSet<FileIdentity>),
    /// The files below `installed_in` whose relative path matches the pattern.
    Under(String),
    /// Unknown list: any file in the system's library directories.
    System,
}

impl Package {
    pub fn evidence(&self) -> Evidence {
        Evidence::new(self.manager, &self.version, &self.path, &self.described)
    }

    /// Whether the file belongs to the package.
    pub(super) fn owns(&self, file: &ElfFile) -> bool {
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

    /// A path relative to the installation directory; `None` if it is outside.
    pub fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.installed_in.trim_end_matches('/'))?
            .strip_prefix('/')
    }

    /// A component known only from this package. The caller adds the evidence.
    pub fn as_component(&self) -> Component {
        Component {
            name: self.component.clone(),
            path: self.path.clone(),
            layer: self.layer,
            ..Component::default()
        }
    }
}

/// One package in a package database.
pub(super) struct Record<'t> {
    pub manager: EvidenceKind,
    pub name: &'t str,
    /// The version as written.
    pub written: &'t str,
    /// The version without epoch and packaging revision.
    pub version: &'t str,
    pub source: &'t TextFile<'t>,
    pub installed_in: String,
}

impl Record<'_> {
    /// One [`Package`] per component that the catalogue lists for it. `owned` gives `None` if somebody removed the files of the
    /// component and left the metadata.
    pub(super) fn packages<'c>(
        &self,
        catalogue: &'c Catalogue,
        owned: impl Fn(&PackageRow) -> Option<Owned> + 'c,
    ) -> Vec<Package> {
        if !is_version(self.version) {
            return Vec::new();
        }
        catalogue
            .rows(self.manager, self.name)
            .filter_map(|row| {
                let owned = owned(row)?;
                Some(Package {
                    manager: self.manager,
                    component: row.component.clone(),
                    described: format!("{} {}", self.name, self.written),
                    version: catalogue.component_version(&row.component, self.version),
                    path: self.source.path.clone(),
                    layer: self.source.layer,
                    installed_in: self.installed_in.clone(),
                    owned,
                })
            })
            .collect()
    }
}

/// The libraries in a package's list of files; `None` if it lists files of the component of the row, and none of them exists.
pub(super) fn listed<'p>(
    inventory: &Inventory,
    catalogue: &Catalogue,
    row: &PackageRow,
    paths: impl Iterator<Item = &'p str> + Clone,
) -> Option<Owned> {
    if is_removed(inventory, catalogue, row, paths.clone()) {
        return None;
    }
    let libraries = paths.filter(|path| path.contains(".so"));
    let files = libraries.filter_map(|path| inventory.root.entry(path)?.identity());
    Some(Owned::Files(files.collect()))
}
