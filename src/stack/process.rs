//! The process that the image starts: its environment variables, its command, and the Python it runs.

use std::collections::{BTreeMap, HashMap, HashSet};

use oci_spec::image::ImageConfiguration;

use super::inventory::{Inventory, directory_of, is_interpreter_name, name_of};
use super::python::Environment;
use crate::image::{Node, configuration};

/// PATH of a process whose image sets none (`DefaultPathEnv` of the container engines).
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// So many words of a command are looked at for the interpreter.
const WORDS: usize = 32;

/// The process that the image starts.
pub(super) struct Process {
    variables: BTreeMap<String, String>,
    /// Of its command; those that a shell is given in one come one by one.
    words: Vec<String>,
}

impl Process {
    pub(super) fn of(config: &ImageConfiguration) -> Self {
        let variables = configuration::environment(config);
        let process = config.config().as_ref();
        let arguments = process
            .into_iter()
            .flat_map(|it| [it.entrypoint(), it.cmd()])
            .flatten()
            .flatten();
        let words = arguments.flat_map(|it| it.split_whitespace());
        Process {
            variables,
            words: words.take(WORDS).map(str::to_owned).collect(),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The directories of a variable such as PATH, as they are in the image, each once: what comes again is not reached.
    pub(super) fn directories(&self, name: &str, inventory: &Inventory) -> Vec<String> {
        let value = self.variable(name).unwrap_or(match name {
            "PATH" => DEFAULT_PATH,
            _ => "",
        });
        let absolute = value.split(':').filter(|it| it.starts_with('/'));
        real_directories(inventory, absolute)
    }

    /// The directory that pyenv's `shims` lead to: of the version that PYENV_VERSION or the file `version` names, else of the only
    /// one that is installed (<https://github.com/pyenv/pyenv>, "Understanding Python version selection").
    fn behind_shims(&self, inventory: &Inventory, directory: &str) -> Option<String> {
        let root = directory.strip_suffix("/shims")?;
        let named = match self.variable("PYENV_VERSION") {
            Some(version) => Some(version.to_owned()),
            None => inventory
                .text(&format!("{root}/version"))
                .map(|file| file.text.to_owned()),
        };
        let version = match named {
            Some(text) => text.split([':', '\n', ' ']).next()?.trim().to_owned(),
            None => {
                let versions = inventory.root.resolve(&format!("{root}/versions")).ok()?;
                let mut names = versions.children().map(|child| child.name().to_owned());
                names.next().filter(|_| names.next().is_none())?
            }
        };
        real_directory(inventory, &format!("{root}/versions/{version}/bin"))
    }

    /// The environment of the interpreter that the command is or names (`nvidia_entrypoint.sh python3 app.py`,
    /// `sh -c "exec python3.11 app.py"`), or lies beside, or that PATH names first.
    pub(super) fn environment<'e>(
        &self,
        inventory: &Inventory,
        environments: &'e [Environment],
    ) -> Option<&'e Environment> {
        let path: Vec<String> = self
            .directories("PATH", inventory)
            .into_iter()
            .map(|directory| {
                self.behind_shims(inventory, &directory)
                    .unwrap_or(directory)
            })
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
            // Several Pythons may lie in one directory.
            let mut there = in_directory(&directory).iter().copied();
            let first = there.clone().next();
            there
                .find(|environment| Some(&environment.interpreter) == file.as_ref())
                .or(first)
        };
        let mut words = self.words.iter().enumerate();
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
}

/// The environments of each prefix, whose interpreters lie in its `bin`.
fn by_prefix(environments: &[Environment]) -> HashMap<&str, Vec<&Environment>> {
    let mut by_prefix: HashMap<&str, Vec<&Environment>> = HashMap::new();
    for environment in environments {
        let there = by_prefix.entry(&environment.prefix).or_default();
        there.push(environment);
    }
    by_prefix
}

/// The directories that paths lead to, each once: its first place counts. Many paths may lead to one.
pub(super) fn real_directories<'p>(
    inventory: &Inventory,
    paths: impl Iterator<Item = &'p str>,
) -> Vec<String> {
    let mut paths_seen = HashSet::new();
    let mut nodes_seen = HashSet::new();
    paths
        .filter(|path| paths_seen.insert(*path))
        .filter_map(|path| inventory.root.resolve(path).ok())
        .filter(|node| node.is_directory() && nodes_seen.insert(*node))
        .map(Node::path)
        .collect()
}

/// The directory that a path leads to.
pub(super) fn real_directory(inventory: &Inventory, path: &str) -> Option<String> {
    let directory = inventory.root.resolve(path).ok()?;
    directory.is_directory().then(|| directory.path())
}
