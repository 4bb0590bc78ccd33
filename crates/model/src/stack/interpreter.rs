//! The Python environment that the launched command uses.

use std::collections::{HashMap, HashSet};

use super::inventory::{Inventory, is_interpreter_name};
use super::python::Environment;
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_image::Node;
use imgcheck_launch::Launch;

/// The environment of the command's interpreter: of the command itself, of the Python that it names
/// (`nvidia_entrypoint.sh python3 app.py`, `sh -c "exec python3.11 app.py"`), or of the virtual environment whose `bin` contains the
/// command; otherwise the first environment in PATH.
pub(super) fn environment<'e>(
    launch: &Launch,
    inventory: &Inventory,
    environments: &'e [Environment],
) -> Option<&'e Environment> {
    let path: Vec<String> = directories(launch, "PATH", inventory)
        .into_iter()
        .map(|it| behind_shims(launch, inventory, &it).unwrap_or(it))
        .collect();
    let by_prefix = by_prefix(environments);
    let in_directory = |directory: &str| {
        let prefix = directory.strip_suffix("/bin");
        let found = prefix.and_then(|prefix| by_prefix.get(prefix));
        found.map_or(&[][..], Vec::as_slice)
    };
    let located = |word: &str| {
        let directory = match word.starts_with('/') {
            true => real_directory(inventory, directory_of(word)),
            false => {
                let holds = |directory: &&String| {
                    let path = format!("{directory}/{word}");
                    inventory.root.resolve(&path).is_ok()
                };
                path.iter().find(holds).cloned()
            }
        }?;
        let file = format!("{directory}/{}", name_of(word));
        let file = inventory.root.resolve(&file).ok().map(Node::path);
        // One directory may contain several Pythons.
        let candidates = in_directory(&directory);
        let is_same = |environment: &&&Environment| Some(&environment.interpreter) == file.as_ref();
        let linked = || {
            let own = file.as_ref().map(|file| directory_of(file))?;
            in_directory(own).iter().find(is_same)
        };
        let found = candidates.iter().find(is_same);
        found.or_else(linked).or(candidates.first()).copied()
    };
    let mut words = launch.words().enumerate();
    let of_command = words.find_map(|(index, word)| {
        let is_python = is_interpreter_name(name_of(word));
        let environment = (is_python || index == 0).then(|| located(word))??;
        (is_python || environment.is_virtual).then_some(environment)
    });
    of_command.or_else(|| {
        let mut first = path.iter().map(|directory| in_directory(directory).first());
        first.find_map(|environment| environment.copied())
    })
}

/// The existing directories of a variable such as PATH, with links resolved, without duplicates.
pub(super) fn directories(launch: &Launch, variable: &str, inventory: &Inventory) -> Vec<String> {
    let mut paths_seen = HashSet::new();
    let mut nodes_seen = HashSet::new();
    launch
        .directories(variable)
        .filter(|path| paths_seen.insert(*path))
        .filter_map(|path| inventory.root.resolve(path).ok())
        .filter(|node| node.is_directory() && nodes_seen.insert(*node))
        .map(Node::path)
        .collect()
}

/// The directory that a path resolves to.
pub(super) fn real_directory(inventory: &Inventory, path: &str) -> Option<String> {
    let directory = inventory.root.resolve(path).ok()?;
    directory.is_directory().then(|| directory.path())
}

/// The directory that pyenv's `shims` stand for: the `bin` of the version in PYENV_VERSION or in the file `version`, otherwise of the only
/// installed version (<https://github.com/pyenv/pyenv>, "Understanding Python version selection").
fn behind_shims(launch: &Launch, inventory: &Inventory, directory: &str) -> Option<String> {
    let root = directory.strip_suffix("/shims")?;
    let named = match launch.variable("PYENV_VERSION") {
        "" => inventory
            .text(&format!("{root}/version"))
            .map(|file| file.text),
        version => Some(version),
    };
    let version = match named {
        Some(text) => text.split([':', '\n', ' ']).next()?.trim(),
        None => {
            let versions = inventory.root.resolve(&format!("{root}/versions")).ok()?;
            let mut names = versions.children().map(|child| child.name());
            names.next().filter(|_| names.next().is_none())?
        }
    };
    real_directory(inventory, &format!("{root}/versions/{version}/bin"))
}

/// The environments of each prefix.
fn by_prefix(environments: &[Environment]) -> HashMap<&str, Vec<&Environment>> {
    let mut by_prefix: HashMap<&str, Vec<&Environment>> = HashMap::new();
    for environment in environments {
        let there = by_prefix.entry(&environment.prefix).or_default();
        there.push(environment);
    }
    by_prefix
}
