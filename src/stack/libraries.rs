//! Libraries: every ELF file that was identified by its exports, with the packages that own it.

use std::collections::{BTreeMap, BTreeSet};

use crate::elf::facts::{Identity, Reading, ReadingKind};

use super::catalogue::Catalogue;
use super::evidence::split_release;
use super::inventory::{ElfFile, Inventory, directory_of, name_of};
use super::packages::Package;
use super::{Component, Evidence, EvidenceKind};

/// Libraries that are evidence for components with a file of their own here.
const ELSEWHERE: [&str; 4] = ["python", "glibc", "libstdc++", "nvcc"];

/// One component for each copy of each library; for a library that comes in several files, one for each set of them.
pub(super) fn components(
    inventory: &Inventory,
    packages: &[Package],
    catalogue: &Catalogue,
) -> Vec<Component> {
    let mut copies: BTreeMap<(String, String), Vec<&ElfFile>> = BTreeMap::new();
    for file in &inventory.elf {
        let Some(library) = file.library() else {
            continue;
        };
        if !ELSEWHERE.contains(&library) && !library.starts_with("torch-") {
            let key = (library.to_owned(), copy_of(file, library, catalogue));
            copies.entry(key).or_default().push(file);
        }
    }
    let mut components: Vec<Component> = copies
        .into_iter()
        .map(|((library, _), files)| component(&library, files, packages, catalogue))
        .collect();
    version_by_neighbours(&mut components, catalogue);
    components
}

/// What tells the copies of a library apart: the file, or for sets the directory and the number behind `.so` in the SONAME.
fn copy_of(file: &ElfFile, library: &str, catalogue: &Catalogue) -> String {
    let is_set = catalogue
        .component(library)
        .is_some_and(|row| !row.set.is_empty());
    if !is_set {
        return file.path.clone();
    }
    let soname = file.facts.soname.as_deref().unwrap_or_default();
    let number = library_version(soname).unwrap_or_default();
    let major = number.split('.').next().unwrap_or_default();
    format!("{} {major}", directory_of(&file.path))
}

fn component(
    library: &str,
    mut files: Vec<&ElfFile>,
    packages: &[Package],
    catalogue: &Catalogue,
) -> Component {
    // The file that tells the version of a set comes first and stands for it.
    files.sort_by_key(|file| rank_in_set(file, library, catalogue));
    let main = files[0];
    let is_compat = library == "driver" && main.path.contains("/compat/");
    let name = if is_compat { "cuda-compat" } else { library };
    let mut component = Component {
        name: name.to_owned(),
        path: main.path.clone(),
        layer: main.node.layer(),
        ..Component::default()
    };
    let mut versions = BTreeSet::new();
    for file in &files {
        add_readings(&mut component, file, &mut versions);
        add_names(&mut component, file, catalogue);
    }
    if versions.len() > 1 {
        let versions: Vec<_> = versions.into_iter().collect();
        component
            .details
            .insert("mixed".to_owned(), versions.join(" "));
    }
    let owners = packages
        .iter()
        .filter(|package| package.component == name && files.iter().any(|file| package.owns(file)));
    component.evidence.extend(owners.map(Package::evidence));
    component
}

fn rank_in_set(file: &ElfFile, library: &str, catalogue: &Catalogue) -> usize {
    let part = identity(file).and_then(|identity| identity.part.as_deref());
    let set = catalogue
        .component(library)
        .map_or(&[][..], |row| &row.set[..]);
    match part {
        Some(part) => set
            .iter()
            .position(|main| main == part)
            .unwrap_or(set.len() + 1),
        None => set.len(),
    }
}

fn identity<'f>(file: &'f ElfFile) -> Option<&'f Identity> {
    file.facts.identity.as_ref()
}

/// What the file's bytes say: versions as evidence, other facts as details (the first file that tells one counts).
fn add_readings(component: &mut Component, file: &ElfFile, versions: &mut BTreeSet<String>) {
    let Some(identity) = identity(file) else {
        return;
    };
    let mut strongest = None;
    for reading in &identity.readings {
        if reading.fact == "version" {
            strongest.get_or_insert(&reading.value);
            component.evidence.push(reading_evidence(reading, file));
        } else {
            component
                .details
                .entry(reading.fact.clone())
                .or_insert_with(|| reading.value.clone());
        }
    }
    versions.extend(strongest.cloned());
    if identity.part.as_deref() == Some("stub") {
        component
            .details
            .insert("kind".to_owned(), "stub".to_owned());
    }
    if let Some(build_id) = &file.facts.build_id {
        component
            .details
            .entry("build-id".to_owned())
            .or_insert_with(|| build_id.clone());
    }
}

pub(super) fn reading_evidence(reading: &Reading, file: &ElfFile) -> Evidence {
    let kind = match reading.kind {
        ReadingKind::Code => EvidenceKind::Code,
        ReadingKind::String => EvidenceKind::String,
    };
    Evidence::new(kind, &reading.value, &file.path, &reading.detail)
}

/// What SONAME and file name say.
fn add_names(component: &mut Component, file: &ElfFile, catalogue: &Catalogue) {
    let soname = file.facts.soname.as_deref().unwrap_or_default();
    let file_name = name_of(&file.path);
    let by_soname = library_version(soname);
    let by_file_name = library_version(file_name).filter(|version| Some(*version) != by_soname);
    for (kind, version, detail) in [
        (EvidenceKind::Soname, by_soname, soname),
        (EvidenceKind::FileName, by_file_name, file_name),
    ] {
        if let Some(version) = version {
            let version = catalogue.component_version(&component.name, version);
            component
                .evidence
                .push(Evidence::new(kind, version, &file.path, detail));
        }
    }
}

/// The numbers behind `.so.` in a file name or SONAME.
fn library_version(name: &str) -> Option<&str> {
    let (_, version) = name.rsplit_once(".so.")?;
    let (numbers, rest) = split_release(version);
    (!numbers.is_empty() && rest.is_empty()).then_some(numbers)
}

/// A library without a version of its own gets that of the one beside it that it asks.
fn version_by_neighbours(components: &mut [Component], catalogue: &Catalogue) {
    let neighbours: BTreeMap<(String, String), Vec<Evidence>> = components
        .iter()
        .map(|component| {
            let key = (
                component.name.clone(),
                directory_of(&component.path).to_owned(),
            );
            let evidence = component.evidence.iter();
            let proofs = evidence.filter(|evidence| evidence.kind <= EvidenceKind::String);
            (key, proofs.cloned().collect())
        })
        .collect();
    for component in components {
        let row = catalogue.component(&component.name);
        if let Some(neighbour) = row.and_then(|row| row.versioned_by.clone())
            && let Some(evidence) =
                neighbours.get(&(neighbour, directory_of(&component.path).to_owned()))
        {
            component.evidence.extend(evidence.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_names() {
        assert_eq!(library_version("libcudart.so.12.8.90"), Some("12.8.90"));
        assert_eq!(library_version("libcudart-e409450e.so.11.0"), Some("11.0"));
        assert_eq!(library_version("libcudart.45e7f3ed.so.12"), Some("12"));
        assert_eq!(library_version("libtorch.so"), None);
        assert_eq!(library_version("libx.so.1.debug"), None);
    }
}
