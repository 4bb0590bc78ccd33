//! Programs that have GPU code or are linked to GPU libraries, such as an inference server: each is a process of its own.

use std::collections::{HashMap, HashSet};

use super::knowledge::Knowledge;
use imgcheck_elf::ElfFacts;
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_launch::Launch;

/// The paths of the programs: the launched one first, then those in PATH, then all others.
pub(super) fn find(root: &RootFilesystem, knowledge: &Knowledge, launch: &Launch) -> Vec<String> {
    let mut programs = Vec::new();
    let is_gpu = |name: &String| knowledge.executables.libraries.is_match(name);
    let uses_gpu = |elf: &ElfFacts| elf.gpu.is_some() || elf.needed.iter().any(is_gpu);
    let mut libraries: HashMap<&str, &ElfFacts> = HashMap::new();
    // Whether a library of the image's own programs uses GPUs, by name.
    let mut own: HashMap<&str, bool> = HashMap::new();
    for node in root.walk_tree() {
        let Some(elf) = node.elf() else {
            continue;
        };
        let is_program = elf.interpreter.is_some() && elf.soname.is_none();
        if is_program {
            programs.push((node, elf));
        } else if node.name().contains(".so") {
            let path = node.path();
            let is_own = path.starts_with("/opt/") || path.starts_with("/usr/local/");
            for name in std::iter::once(node.name()).chain(elf.soname.as_deref()) {
                libraries.entry(name).or_insert(elf);
                if is_own {
                    own.entry(name).or_insert_with(|| uses_gpu(elf));
                }
            }
        }
    }
    let is_command = |path: &str| launch.executable.as_deref() == Some(path);
    let reaches = |elf: &ElfFacts| {
        let library = |name: &String| own.get(name.as_str()) == Some(&true);
        uses_gpu(elf) || elf.needed.iter().any(library)
    };
    let mut found: Vec<String> = programs
        .into_iter()
        .filter(|(node, elf)| match is_command(&node.path()) {
            true => closure(elf, &libraries).into_iter().any(uses_gpu),
            false => reaches(elf) && is_of_interest(*node, knowledge),
        })
        .map(|(node, _)| node.path())
        .collect();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, directory) in launch.directories("PATH").enumerate() {
        places.entry(directory).or_insert(place);
    }
    found.sort_by_cached_key(|path| {
        let directory = path
            .rsplit_once('/')
            .map_or("/", |(directory, _)| directory);
        let place = places.get(directory).copied();
        (!is_command(path), place.unwrap_or(usize::MAX), path.clone())
    });
    found
}

/// A program and the libraries that it needs, by name alone.
fn closure<'r>(
    program: &'r ElfFacts,
    libraries: &HashMap<&'r str, &'r ElfFacts>,
) -> Vec<&'r ElfFacts> {
    let mut found = vec![program];
    let mut names = HashSet::new();
    let mut next = 0;
    while let Some(elf) = found.get(next).copied() {
        let needed = elf.needed.iter().filter(|name| names.insert(name.as_str()));
        found.extend(needed.filter_map(|name| libraries.get(name.as_str())));
        next += 1;
    }
    found
}

/// Whether a program is neither a tool of the CUDA toolkit nor a helper within a package.
fn is_of_interest(node: Node, knowledge: &Knowledge) -> bool {
    let rules = &knowledge.executables;
    let path = node.path();
    !rules.ignored_names.is_match(node.name()) && !rules.ignored_directories.is_match(&path)
}
