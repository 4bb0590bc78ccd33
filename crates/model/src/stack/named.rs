//! What the values of variables name in an image.

use std::collections::{BTreeMap, HashSet};

use imgcheck_image::{Node, RootFilesystem};
use imgcheck_launch::Launch;

use super::naming_variables::NamingVariables;
use super::python::Environment;

/// A file that every container has and that is no directory.
const DEVICE: &str = "/dev/null";

/// By variable, the file because of which its directory cannot be made.
pub(super) fn files_in_place(
    variables: &[String],
    root: &RootFilesystem,
    launch: &Launch,
) -> BTreeMap<String, String> {
    let set = variables.iter().filter_map(|it| {
        let value = launch.environment.get(it)?;
        value.starts_with('/').then_some((it, value))
    });
    let found = set.filter_map(|(it, value)| Some((it.clone(), file_above(value, root)?)));
    found.collect()
}

/// The longest path that Linux accepts (PATH_MAX).
const LONGEST: usize = 4096;

/// The file at a path or above it.
fn file_above(path: &str, root: &RootFilesystem) -> Option<String> {
    if path.len() > LONGEST {
        return None;
    }
    if path == DEVICE {
        return Some(DEVICE.to_owned());
    }
    let parts = path.split('/').filter(|part| !part.is_empty());
    let mut above = String::new();
    for part in parts {
        above = format!("{above}/{part}");
        let node = root.resolve(&above).ok()?;
        if node.content().is_some() {
            return Some(above);
        }
    }
    None
}

/// By variable, its words that may be modules of an environment; without the variable, any word may be one.
pub(super) fn modules(
    variables: &NamingVariables,
    root: &RootFilesystem,
    launch: &Launch,
    environment: &Environment,
) -> BTreeMap<String, Vec<String>> {
    if !environment.is_certain || has_finder(root, environment) {
        return BTreeMap::new();
    }
    let set = variables.modules.iter();
    let mut set = set
        .filter_map(|(it, others)| Some((it, others, launch.environment.get(it)?)))
        .peekable();
    if set.peek().is_none() {
        return BTreeMap::new();
    }
    let builtin = variables.builtin.iter().map(String::as_str);
    let modules: HashSet<&str> = builtin.chain(there(root, environment)).collect();
    let found = set.map(|(it, others, value)| {
        let words = value.split(',');
        let words = words.map(|it| it.trim().trim_start_matches(['+', '-']));
        let words = words.chain(others.iter().map(String::as_str));
        let words = words.filter(|it| modules.contains(it));
        (it.clone(), words.map(str::to_owned).collect())
    });
    found.collect()
}

/// The modules in the directories of the search path, by any of the names that their files may have.
fn there<'r>(
    root: &'r RootFilesystem<'r>,
    environment: &Environment,
) -> impl Iterator<Item = &'r str> {
    let files = directories(root, environment).flat_map(Node::children);
    files.filter_map(|it| it.name().split('.').next())
}

/// Whether an editable install brings modules (`setuptools/command/editable_wheel.py`).
fn has_finder(root: &RootFilesystem, environment: &Environment) -> bool {
    let mut files = directories(root, environment).flat_map(Node::children);
    files.any(|it| it.name().starts_with("__editable__"))
}

/// The directories that an environment imports from.
fn directories<'r>(
    root: &'r RootFilesystem<'r>,
    environment: &Environment,
) -> impl Iterator<Item = Node<'r>> {
    let paths = environment.sites.iter();
    let paths = paths.chain(&environment.standard_library);
    paths.filter_map(|it| root.resolve(it).ok())
}
