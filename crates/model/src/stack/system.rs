//! The Linux distribution, and its C and C++ libraries.

use super::catalogue::Catalogue;
use super::evidence::first_numbers;
use super::inventory::{ElfFile, Inventory};
use super::packages::{Package, Packages};
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::lexical::name_of;

pub(super) fn components(
    inventory: &Inventory,
    packages: &Packages,
    catalogue: &Catalogue,
) -> Vec<Component> {
    let mut components: Vec<Component> = os(inventory, catalogue).into_iter().collect();
    for file in &inventory.elf {
        match file.facts.soname.as_deref() {
            Some("libc.so.6") => components.extend(glibc(file, packages)),
            Some("libstdc++.so.6") => components.extend(libstdcxx(file, packages)),
            _ => {}
        }
    }
    components
}

/// The distribution from os-release(5), spelled as in image tags: `ubuntu22.04`.
fn os(inventory: &Inventory, catalogue: &Catalogue) -> Option<Component> {
    let node = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| {
            let node = inventory.root.resolve(path).ok()?;
            node.text().map(|_| node)
        })?;
    let field = |name: &str| {
        let mut lines = node.text().unwrap_or_default().lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!value.is_empty() && value.len() <= 200).then_some(value)
    };
    let id = field("ID")?;
    let number = field("VERSION_ID").unwrap_or_default();
    let version = match catalogue.os.get(id) {
        Some(row) => format!("{}{}", row.name, first_numbers(number, row.digits)),
        None => format!("{id}{number}"),
    };
    let mut component = Component {
        name: "os".to_owned(),
        path: node.path(),
        layer: node.layer(),
        evidence: vec![Evidence::new(
            EvidenceKind::HeaderFile,
            version,
            node.path(),
            "ID and VERSION_ID",
        )],
        ..Component::default()
    };
    for (detail, value) in [
        ("id", Some(id)),
        ("version", Some(number)),
        ("pretty", field("PRETTY_NAME")),
    ] {
        if let Some(value) = value {
            component
                .details
                .insert(detail.to_owned(), value.to_owned());
        }
    }
    Some(component)
}

fn glibc(file: &ElfFile, packages: &Packages) -> Option<Component> {
    let mut component = component_of_file("glibc", file);
    // Some releases of glibc define no new symbol version (2.19 to 2.21 on x86-64), so this is a lower bound and only as strong
    // as a name.
    if let Some(version) = highest(&file.facts.version_definitions, "GLIBC_") {
        component.evidence.push(Evidence::new(
            EvidenceKind::Soname,
            version,
            &file.path,
            format!("highest version definition, GLIBC_{version}"),
        ));
    }
    let owners = packages.owners("glibc", &[file]).into_iter();
    component.evidence.extend(owners.map(Package::evidence));
    (!component.evidence.is_empty()).then_some(component)
}

/// Symbol versions give the version of libstdc++; its package has the version of GCC.
fn libstdcxx(file: &ElfFile, packages: &Packages) -> Option<Component> {
    let mut component = component_of_file("libstdc++", file);
    let version = highest(&file.facts.version_definitions, "GLIBCXX_")?;
    component.evidence.push(Evidence::new(
        EvidenceKind::Code,
        version,
        &file.path,
        format!("highest version definition, GLIBCXX_{version}"),
    ));
    if let Some(owner) = packages.owners_or_above("libstdc++", file).first() {
        component
            .details
            .insert("gcc".to_owned(), owner.version.clone());
    }
    Some(component)
}

fn component_of_file(name: &str, file: &ElfFile) -> Component {
    let mut component = Component {
        name: name.to_owned(),
        path: file.path.clone(),
        layer: file.node.layer(),
        ..Component::default()
    };
    if file.library() == Some(name) {
        component.evidence.extend(file.versions());
    }
    let file_name = name_of(&file.path);
    if let Some(version) = file_name
        .strip_prefix("libc-")
        .and_then(|rest| rest.strip_suffix(".so"))
    {
        component.evidence.push(Evidence::new(
            EvidenceKind::FileName,
            version,
            &file.path,
            file_name,
        ));
    }
    component
}

/// The highest version definition with a prefix, without the prefix: `3.4.30` for `GLIBCXX_3.4.30`.
fn highest<'d>(definitions: &'d [String], prefix: &str) -> Option<&'d str> {
    definitions
        .iter()
        .filter_map(|definition| {
            let version = definition.strip_prefix(prefix)?;
            let numbers: Option<Vec<u32>> =
                version.split('.').map(|part| part.parse().ok()).collect();
            Some((numbers?, version))
        })
        .max()
        .map(|(_, version)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_is_by_number() {
        let definitions =
            ["GLIBC_2.9", "GLIBC_2.36", "GLIBC_2.4", "GLIBC_PRIVATE"].map(str::to_owned);
        assert_eq!(highest(&definitions, "GLIBC_"), Some("2.36"));
        assert_eq!(highest(&definitions, "GLIBCXX_"), None);
    }
}
