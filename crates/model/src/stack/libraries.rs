//! Libraries: every ELF file that its exports identify, with the packages that own it.

use std::collections::{BTreeMap, BTreeSet};

use imgcheck_elf::facts::Identity;

use super::catalogue::Catalogue;
use super::evidence::{refines, split_release};
use super::inventory::{ElfFile, Inventory};
use super::packages::{Package, Packages};
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::lexical::{directory_of, name_of};

/// Libraries that other files of this module handle.
const ELSEWHERE: [&str; 5] = ["python", "glibc", "glibc-loader", "libstdc++", "nvcc"];

/// Whether an identified file is a separate copy of a library: not a part of PyTorch, and not another library that contains it. A
/// program runs with the CUDA runtime that it contains.
fn is_copy(identity: &Identity, is_program: bool) -> bool {
    !ELSEWHERE.contains(&identity.library.as_str())
        && !identity.library.starts_with("torch-")
        && (is_program || identity.part.as_deref() != Some("static"))
}

/// One component per copy of each library; a library of several files counts as one copy per set of files.
pub(super) fn components(
    inventory: &Inventory,
    packages: &Packages,
    catalogue: &Catalogue,
) -> Vec<Component> {
    let mut copies: BTreeMap<(String, String), Vec<&ElfFile>> = BTreeMap::new();
    for file in &inventory.elf {
        if let Some(identity) =
            identity(file).filter(|identity| is_copy(identity, file.is_program()))
        {
            let library = &identity.library;
            let key = (library.clone(), copy_key(file, library, catalogue));
            copies.entry(key).or_default().push(file);
        }
    }
    let mut components: Vec<Component> = copies
        .into_iter()
        .map(|((library, _), files)| component(&library, files, packages, catalogue))
        .collect();
    version_by_neighbors(&mut components, catalogue);
    components
}

/// A key that distinguishes the copies of a library: directory and major version of the SONAME for sets of files, otherwise
/// directory and build id, because the same bytes often have several names (wheels have no symbolic links).
fn copy_key(file: &ElfFile, library: &str, catalogue: &Catalogue) -> String {
    let directory = directory_of(&file.path);
    let is_set = catalogue
        .component(library)
        .is_some_and(|row| !row.set.is_empty());
    if !is_set {
        return match &file.facts.build_id {
            Some(build_id) => format!("{directory} {build_id} {}", file.node.size()),
            None => file.path.clone(),
        };
    }
    let soname = file.facts.soname.as_deref().unwrap_or_default();
    let number = library_version(soname).unwrap_or_default();
    let major = number.split('.').next().unwrap_or_default();
    format!("{directory} {major}")
}

fn component(
    library: &str,
    mut files: Vec<&ElfFile>,
    packages: &Packages,
    catalogue: &Catalogue,
) -> Component {
    // The file that contains the version represents the set; among its names, the shortest wins.
    files.sort_by_key(|file| (rank_in_set(file, library, catalogue), file.path.len()));
    let main = files[0];
    let is_compat = library == "driver" && main.path.contains("compat/");
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
    add_set_details(&mut component, &files, &versions);
    let owners = packages.owners(name, &files).into_iter();
    component.evidence.extend(owners.map(Package::evidence));
    component
}

/// Adds the detail `parts`, and `mixed` if the files of a set have different versions.
fn add_set_details(component: &mut Component, files: &[&ElfFile], versions: &BTreeSet<String>) {
    let parts: Vec<&str> = files
        .iter()
        .filter_map(|file| identity(file)?.part.as_deref())
        .collect();
    if files.len() > 1 && !parts.is_empty() {
        component
            .details
            .insert("parts".to_owned(), parts.join(" "));
    }
    let is_vague = |version: &&String| versions.iter().any(|other| refines(other, version));
    let distinct: Vec<&str> = versions
        .iter()
        .filter(|version| !is_vague(version))
        .map(String::as_str)
        .collect();
    if distinct.len() > 1 {
        component
            .details
            .insert("mixed".to_owned(), distinct.join(" "));
    }
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

/// Adds what was read from the file's bytes: versions as evidence, other facts as details (the first file with a fact wins). The
/// file's strongest version is added to `versions`.
fn add_readings(component: &mut Component, file: &ElfFile, versions: &mut BTreeSet<String>) {
    component.evidence.extend(file.versions());
    versions.extend(file.versions().next().map(|evidence| evidence.value));
    let is_stub = identity(file).is_some_and(|identity| identity.part.as_deref() == Some("stub"));
    let readings = file
        .readings()
        .iter()
        .filter(|reading| reading.fact != "version");
    let facts = readings
        .map(|reading| (reading.fact.as_str(), reading.value.as_str()))
        .chain(
            file.facts
                .build_id
                .as_deref()
                .map(|build_id| ("build-id", build_id)),
        )
        .chain(is_stub.then_some(("kind", "stub")));
    for (name, value) in facts {
        let detail = component.details.entry(name.to_owned());
        detail.or_insert_with(|| value.to_owned());
    }
}

/// Adds the versions in SONAME and file name if the name belongs to the library. A different library may export the same symbols; the
/// numbers in its name mean something else.
fn add_names(component: &mut Component, file: &ElfFile, catalogue: &Catalogue) {
    let soname = file.facts.soname.as_deref().unwrap_or_default();
    let file_name = name_of(&file.path);
    let by_soname = library_version(soname);
    let by_file_name = library_version(file_name).filter(|version| Some(*version) != by_soname);
    for (kind, version, detail) in [
        (EvidenceKind::Soname, by_soname, soname),
        (EvidenceKind::FileName, by_file_name, file_name),
    ] {
        let row = catalogue.component(&component.name);
        let own = row.is_some_and(|row| row.is_name(detail));
        if let Some(version) = version.filter(|_| own) {
            let version = catalogue.component_version(&component.name, version);
            component
                .evidence
                .push(Evidence::new(kind, version, &file.path, detail));
        }
    }
}

/// The numbers after `.so.` in a file name or SONAME.
fn library_version(name: &str) -> Option<&str> {
    let (_, version) = name.rsplit_once(".so.")?;
    let (numbers, rest) = split_release(version);
    (!numbers.is_empty() && rest.is_empty()).then_some(numbers)
}

/// Gives a library that contains no version the version of the library in the same directory that `versioned_by` names.
fn version_by_neighbors(components: &mut [Component], catalogue: &Catalogue) {
    let neighbors: BTreeMap<(String, String), Vec<Evidence>> = components
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
        if let Some(neighbor) = row.and_then(|row| row.versioned_by.clone())
            && let Some(evidence) =
                neighbors.get(&(neighbor, directory_of(&component.path).to_owned()))
        {
            component.evidence.extend(evidence.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The catalogue knows the file names of every library that can be identified.
    #[test]
    fn the_catalogue_names_all_libraries() {
        #[derive(serde::Deserialize)]
        struct Row {
            library: String,
        }
        #[derive(serde::Deserialize)]
        struct Table {
            libraries: Vec<Row>,
        }
        let table: Table = crate::knowledge::table("libraries").unwrap();
        let catalogue = crate::knowledge::catalogue().unwrap();
        for row in table.libraries {
            let identity = Identity {
                library: row.library,
                ..Identity::default()
            };
            let known = catalogue.component(&identity.library).is_some();
            assert_eq!(known, is_copy(&identity, false), "{}", identity.library);
        }
    }

    #[test]
    fn versions_in_names() {
        assert_eq!(library_version("libcudart.so.12.8.90"), Some("12.8.90"));
        assert_eq!(library_version("libcudart-e409450e.so.11.0"), Some("11.0"));
        assert_eq!(library_version("libcudart.45e7f3ed.so.12"), Some("12"));
        assert_eq!(library_version("libtorch.so"), None);
        assert_eq!(library_version("libx.so.1.debug"), None);
    }
}
