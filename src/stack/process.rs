//! The process that the image starts: its environment variables, its command, and the Python it runs.

use std::collections::BTreeMap;

use oci_spec::image::ImageConfiguration;

use super::inventory::{Inventory, directory_of, name_of};
use super::python::Environment;
use crate::image::configuration;

/// PATH of a process whose image sets none (`DefaultPathEnv` of the container engines).
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The process that the image starts.
pub(super) struct Process {
    variables: BTreeMap<String, String>,
    command: Option<String>,
}

impl Process {
    pub(super) fn of(config: &ImageConfiguration) -> Self {
        let variables = configuration::environment(config);
        let command = config.config().as_ref().and_then(|config| {
            let entrypoint = config.entrypoint().iter().flatten();
            entrypoint
                .chain(config.cmd().iter().flatten())
                .next()
                .cloned()
        });
        Process { variables, command }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The directories of a variable such as PATH, as they are in the image.
    pub(super) fn directories(&self, name: &str, inventory: &Inventory) -> Vec<String> {
        let value = self.variable(name).unwrap_or(match name {
            "PATH" => DEFAULT_PATH,
            _ => "",
        });
        value
            .split(':')
            .filter(|directory| directory.starts_with('/'))
            .filter_map(|directory| real_directory(inventory, directory))
            .collect()
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

    /// The environment of the interpreter that the command is, or lies beside, or that PATH names first.
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
        let of_directory = |directory: &str| {
            environments.iter().find(|environment| {
                directory
                    .strip_prefix(&environment.prefix)
                    .is_some_and(|rest| rest == "/bin")
            })
        };
        let command = self.command.as_deref().and_then(|command| {
            let directory = if command.starts_with('/') {
                real_directory(inventory, directory_of(command))
            } else {
                let holds = |directory: &&String| {
                    let path = format!("{directory}/{command}");
                    inventory.root.resolve(&path).is_ok()
                };
                path.iter().find(holds).cloned()
            };
            let environment = of_directory(&directory?)?;
            let is_python = name_of(command).starts_with("python");
            (is_python || environment.is_virtual).then_some(environment)
        });
        command.or_else(|| path.iter().find_map(|directory| of_directory(directory)))
    }
}

/// The directory that a path leads to.
pub(super) fn real_directory(inventory: &Inventory, path: &str) -> Option<String> {
    let directory = inventory.root.resolve(path).ok()?;
    directory.is_directory().then(|| directory.path())
}
