//! Alpine's package database: records of `P:name` and `V:version` lines, separated by empty lines (apk(5)).

use crate::stack::EvidenceKind;
use crate::stack::catalogue::Catalogue;
use crate::stack::inventory::Inventory;

use super::package::{Owned, Package, Record};

pub(super) fn packages(inventory: &Inventory, catalogue: &Catalogue) -> Vec<Package> {
    let mut packages = Vec::new();
    let databases = inventory
        .texts
        .iter()
        .filter(|file| file.path.ends_with("/lib/apk/db/installed"));
    for source in databases {
        for record in source.text.split("\n\n") {
            let field = |name: &str| record.lines().find_map(|line| line.strip_prefix(name));
            let (Some(name), Some(written)) = (field("P:"), field("V:")) else {
                continue;
            };
            let record = Record {
                manager: EvidenceKind::Apk,
                name,
                written,
                version: written
                    .rsplit_once("-r")
                    .map_or(written, |(version, _)| version),
                source,
                installed_in: "/".to_owned(),
            };
            packages.extend(record.packages(catalogue, |_| Some(Owned::System)));
        }
    }
    packages
}
