//! Programs that are linked to GPU libraries, such as an inference server: each is a process of its own.

use std::collections::HashMap;

use super::knowledge::Knowledge;
use crate::elf::ElfFacts;
use crate::image::{Node, RootFilesystem};
use crate::launch::Launch;

/// The paths of the programs: the launched one first, then those in PATH, then all others.
pub(super) fn find(root: &RootFilesystem, knowledge: &Knowledge, launch: &Launch) -> Vec<String> {
    let mut programs = Vec::new();
    let is_gpu = |name: &String| knowledge.executables.libraries.is_match(name);
    let needs_gpu = |elf: &ElfFacts| elf.needed.iter().any(is_gpu);
    // Whether a library needs a GPU library, by name.
    let mut libraries: HashMap<&str, bool> = HashMap::new();
    for node in root.walk_tree() {
        let Some(elf) = node.elf() else {
            continue;
        };
        let is_program = elf.interpreter.is_some() && elf.soname.is_none();
        if is_program {
            programs.push((node, elf));
        } else if node.name().contains(".so") {
            let path = node.path();
            if path.starts_with("/opt/") || path.starts_with("/usr/local/") {
                let needs_gpu = needs_gpu(elf);
                libraries.entry(node.name()).or_insert(needs_gpu);
                if let Some(soname) = &elf.soname {
                    libraries.entry(soname).or_insert(needs_gpu);
                }
            }
        }
    }
    let reaches = |elf: &ElfFacts| {
        let library = |name: &String| libraries.get(name.as_str()) == Some(&true);
        elf.needed.iter().any(|name| is_gpu(name) || library(name))
    };
    let mut found: Vec<String> = programs
        .into_iter()
        .filter(|(_, elf)| reaches(elf))
        .filter(|(node, _)| is_of_interest(*node, knowledge))
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
        let is_command = launch.executable.as_deref() == Some(path.as_str());
        (!is_command, place.unwrap_or(usize::MAX), path.clone())
    });
    found
}

/// Whether a program is neither a tool of the CUDA toolkit nor a helper within a package.
fn is_of_interest(node: Node, knowledge: &Knowledge) -> bool {
    let rules = &knowledge.executables;
    let path = node.path();
    !rules.ignored_names.is_match(node.name()) && !rules.ignored_directories.is_match(&path)
}
