//! One installed package.

use std::collections::HashSet;

use crate::image::FileIdentity;
use crate::stack::catalogue::{Catalogue, PackageRow};
use crate::stack::evidence::is_version;
use crate::stack::inventory::{ElfFile, TextFile};
use crate::stack::pattern::matches_pattern;
use crate::stack::{Component, Evidence, EvidenceKind};

/// A package, as far as it is one component; a package that brings several components is several of these.
pub struct Package {
    pub manager: EvidenceKind,
    pub component: String,
    /// Name and version as written, for a person.
    described: String,
    /// The part of the version that is the component's.
    pub version: String,
    /// The metadata file.
    pub path: String,
    pub layer: Option<usize>,
    /// The directory that the package is installed in: `site-packages`, the prefix of a conda environment, `/`.
    pub installed_in: String,
    pub(super) owned: Owned,
}

/// Which files a package brought.
pub(super) enum Owned {
    /// Those on its list.
    Files(HashSet<FileIdentity>),
    /// Those below `installed_in`, in the directories that fit the pattern.
    Under(String),
    /// Not recorded: the system's.
    System,
}

impl Package {
    pub fn evidence(&self) -> Evidence {
        Evidence::new(self.manager, &self.version, &self.path, &self.described)
    }

    /// Whether the package brought the file.
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

    /// The rest of a path below the directory that the package is installed in.
    pub fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.installed_in.trim_end_matches('/'))?
            .strip_prefix('/')
    }

    /// A component of which nothing but this package is known; its evidence is still to be added.
    pub fn as_component(&self) -> Component {
        Component {
            name: self.component.clone(),
            path: self.path.clone(),
            layer: self.layer,
            ..Component::default()
        }
    }
}

/// What a package database says of one package.
pub(super) struct Record<'t> {
    pub manager: EvidenceKind,
    pub name: &'t str,
    /// As written.
    pub written: &'t str,
    /// Without epoch and packaging revision.
    pub version: &'t str,
    pub source: &'t TextFile<'t>,
    pub installed_in: String,
}

impl Record<'_> {
    /// One package for each component that the catalogue knows it as.
    pub(super) fn packages<'c>(
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
