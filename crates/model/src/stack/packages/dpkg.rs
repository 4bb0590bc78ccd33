//! Debian's package database: `/var/lib/dpkg/status`, and `status.d` of images without dpkg (deb-control(5), dpkg(1)).

use std::collections::HashSet;

use crate::stack::EvidenceKind;
use crate::stack::catalogue::Catalogue;
use crate::stack::evidence::split_release;
use crate::stack::inventory::{Inventory, TextFile};

use super::package::{Owned, Package, Record, listed};

const DATABASE: &str = "/var/lib/dpkg/";

pub(super) fn packages(inventory: &Inventory, catalogue: &Catalogue) -> Vec<Package> {
    let mut packages = Vec::new();
    for file in &inventory.texts {
        let is_database = file
            .path
            .strip_prefix(DATABASE)
            .is_some_and(|path| path == "status" || path.starts_with("status.d/"));
        if is_database {
            packages.extend(read_database(file, inventory, catalogue));
        }
    }
    packages
}

/// The packages of one file. If a package has several stanzas, the last one counts, as in dpkg.
fn read_database(file: &TextFile, inventory: &Inventory, catalogue: &Catalogue) -> Vec<Package> {
    let mut seen = HashSet::new();
    let mut packages: Vec<Vec<Package>> = Vec::new();
    for stanza in file.text.rsplit("\n\n") {
        let identity = ["Package", "Architecture"].map(|name| field(stanza, name));
        if seen.insert(identity) {
            packages.push(from_stanza(stanza, file, inventory, catalogue));
        }
    }
    packages.into_iter().rev().flatten().collect()
}

fn field<'s>(stanza: &'s str, name: &str) -> Option<&'s str> {
    let mut lines = stanza.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(str::trim)
}

fn from_stanza(
    stanza: &str,
    source: &TextFile,
    inventory: &Inventory,
    catalogue: &Catalogue,
) -> Vec<Package> {
    let field = |name: &str| field(stanza, name);
    let (Some(name), Some(written)) = (field("Package"), field("Version")) else {
        return Vec::new();
    };
    if catalogue.rows(EvidenceKind::Dpkg, name).next().is_none()
        || field("Status").is_some_and(|status| !status.ends_with(" installed"))
    {
        return Vec::new();
    }
    let architecture = field("Architecture").unwrap_or_default();
    let record = Record {
        manager: EvidenceKind::Dpkg,
        name,
        written,
        version: upstream(written),
        source,
        installed_in: "/".to_owned(),
    };
    let list = [
        format!("{DATABASE}info/{name}.list"),
        format!("{DATABASE}info/{name}:{architecture}.list"),
    ]
    .iter()
    .find_map(|path| inventory.text(path));
    record.packages(catalogue, |row| match &list {
        Some(list) => listed(inventory, catalogue, row, list.text.lines()),
        None => Some(Owned::System),
    })
}

/// The library's own version in `[epoch:]upstream[-revision]` (deb-version(7)). Debian's packages of CUDA append the toolkit's version
/// (`11.11.3.6~11.8.0-5`); if a number of the library once decreased, they put an older one first (`11.1.1+~10.3.5.147~12.4.1-2`).
fn upstream(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let own = version.rsplit_once("+~").map_or(version, |(_, own)| own);
    split_release(own).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_versions() {
        assert_eq!(upstream("2.36-9+deb12u10"), "2.36");
        assert_eq!(upstream("1:9.10.2.21-1"), "9.10.2.21");
        assert_eq!(upstream("2.27.3-1+cuda12.8"), "2.27.3");
        assert_eq!(upstream("11.11.3.6~11.8.0-5"), "11.11.3.6");
        assert_eq!(upstream("12"), "12");
        // libcurand10 and libnccl2 of Debian 13.
        assert_eq!(upstream("11.1.1+~10.3.5.147~12.4.1-2"), "10.3.5.147");
        assert_eq!(upstream("2.22.3-1-1"), "2.22.3");
        assert_eq!(upstream("3.13.0~rc2-1"), "3.13.0");
    }
}
