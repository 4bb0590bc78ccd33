//! What the values of variables name in an image.

use std::collections::BTreeMap;

use imgcheck_image::{Node, RootFilesystem};
use imgcheck_launch::Launch;

use super::python::Environment;

/// The variables whose values name something in the image.
#[derive(Debug, Clone, Default)]
pub struct NamingVariables {
    /// Those that name a directory, which their package makes.
    pub directories: Vec<String>,
    /// Those that are lists of words, among which are modules.
    pub modules: Vec<String>,
    /// The modules that an interpreter contains.
    pub builtin: Vec<String>,
}

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

/// The file at a path or above it.
fn file_above(path: &str, root: &RootFilesystem) -> Option<String> {
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
    if !environment.gaps.is_empty() || has_finder(root, environment) {
        return BTreeMap::new();
    }
    let set = variables.modules.iter();
    let set = set.filter_map(|it| Some((it, launch.environment.get(it)?)));
    let found = set.map(|(it, value)| {
        let words = value
            .split(',')
            .map(|it| it.trim().trim_start_matches(['+', '-']));
        let is_module = |word: &&str| {
            variables.builtin.iter().any(|it| it == word) || is_there(word, root, environment)
        };
        let modules = words.filter(is_module).map(str::to_owned);
        (it.clone(), modules.collect())
    });
    found.collect()
}

/// The directories that an environment imports from.
fn directories<'r>(
    root: &'r RootFilesystem<'r>,
    environment: &Environment,
) -> impl Iterator<Item = Node<'r>> {
    let paths = environment
        .sites
        .iter()
        .chain(&environment.standard_library);
    paths.filter_map(|it| root.resolve(it).ok())
}

/// Whether a directory of the search path has a module, by any of the names that it may have.
fn is_there(word: &str, root: &RootFilesystem, environment: &Environment) -> bool {
    let is_module = |node: Node| node.name().split('.').next() == Some(word);
    directories(root, environment).any(|it| it.children().any(is_module))
}

/// Whether an editable install brings modules (`setuptools/command/editable_wheel.py`).
fn has_finder(root: &RootFilesystem, environment: &Environment) -> bool {
    let is_finder = |node: Node| node.name().starts_with("__editable__");
    directories(root, environment).any(|it| it.children().any(is_finder))
}
