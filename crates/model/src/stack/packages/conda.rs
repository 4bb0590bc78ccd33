//! The packages of conda environments: one JSON file per package in `conda-meta`.

use std::borrow::Cow;

use serde::Deserialize;

use crate::stack::EvidenceKind;
use crate::stack::catalogue::Catalogue;
use crate::stack::inventory::Inventory;

use super::package::{Package, Record, listed};
use imgcheck_base::lexical::{directory_of, name_of};

#[derive(Deserialize)]
struct Metadata<'t> {
    #[serde(borrow)]
    name: Cow<'t, str>,
    #[serde(borrow)]
    version: Cow<'t, str>,
    #[serde(borrow, default)]
    build: Cow<'t, str>,
    #[serde(borrow, default)]
    files: Vec<Cow<'t, str>>,
}

pub(super) fn packages(inventory: &Inventory, catalogue: &Catalogue) -> Vec<Package> {
    let mut packages = Vec::new();
    for source in &inventory.texts {
        let directory = directory_of(&source.path);
        if name_of(directory) != "conda-meta" || !source.path.ends_with(".json") {
            continue;
        }
        let Ok(metadata) = serde_json::from_str::<Metadata>(source.text) else {
            continue;
        };
        let prefix = directory_of(directory);
        let record = Record {
            manager: EvidenceKind::Conda,
            name: &metadata.name,
            written: &format!("{} {}", metadata.version, metadata.build),
            version: &metadata.version,
            source,
            installed_in: prefix.to_owned(),
        };
        packages.extend(record.packages(catalogue, |row| {
            let paths = metadata.files.iter();
            let paths: Vec<String> = paths.map(|it| format!("{prefix}/{it}")).collect();
            let paths = paths.iter().map(String::as_str);
            listed(inventory, catalogue, row, paths)
        }));
    }
    packages
}
