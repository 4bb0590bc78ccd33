//! What a container of an image starts: its command with the environment, working directory and user that the command gets.
//!
//! The image configuration gives the defaults (OCI image specification, `config.md`). An [`Overlay`] replaces parts of it, as a
//! Pod's `command`, `args` and `env` do, and the entrypoint script may set LD_LIBRARY_PATH.

mod overlay;
mod script;

use std::collections::BTreeMap;

use oci_spec::image::ImageConfiguration;

use crate::image::{Node, RootFilesystem, configuration};

pub use overlay::Overlay;
use script::LIBRARY_PATH;

/// The PATH that container engines set where the image sets none (`DefaultPathEnv` of runc and Moby).
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The script must be among the first words of the command: `/entrypoint.sh …`, `bash /start.sh`, `tini -- /run.sh`.
const SCRIPT_WORDS: usize = 4;
/// Words of the command that may name the Python interpreter.
const COMMAND_WORDS: usize = 32;

/// What a container of an image starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// Entry point and arguments.
    pub arguments: Vec<String>,
    /// The environment, LD_LIBRARY_PATH as the entrypoint script leaves it.
    pub environment: BTreeMap<String, String>,
    /// Who sets LD_LIBRARY_PATH: `image`, `overlay`, or the path of the entrypoint script; empty if it is not set.
    pub library_path_from: String,
    /// The working directory, an absolute path.
    pub working_directory: String,
    /// User and group as the image configuration writes them; empty for root.
    pub user: String,
    /// The file that the first argument leads to.
    pub executable: Option<String>,
}

impl Launch {
    /// What a container of the image starts when its caller replaces what `overlay` says.
    pub fn of(root: &RootFilesystem, config: &ImageConfiguration, overlay: &Overlay) -> Self {
        let process = config.config().as_ref();
        let text = |field: Option<&Option<String>>| field.cloned().flatten().unwrap_or_default();
        let entrypoint = process.and_then(|it| it.entrypoint().as_deref());
        let command = process.and_then(|it| it.cmd().as_deref());
        let mut launch = Launch {
            arguments: overlay.arguments(entrypoint, command),
            environment: overlay.environment(configuration::environment(config)),
            library_path_from: String::new(),
            working_directory: overlay
                .working_directory
                .clone()
                .unwrap_or_else(|| text(process.map(|it| it.working_dir()))),
            user: text(process.map(|it| it.user())),
            executable: None,
        };
        if !launch.working_directory.starts_with('/') {
            launch.working_directory = "/".to_owned();
        }
        if !launch.variable(LIBRARY_PATH).is_empty() {
            let is_overlaid = overlay.env.contains_key(LIBRARY_PATH);
            launch.library_path_from = if is_overlaid { "overlay" } else { "image" }.to_owned();
        }
        let first = launch.arguments.first();
        let executable = first.and_then(|word| launch.file_of(root, word));
        launch.executable = executable.map(Node::path);
        launch.follow_script(root);
        launch
    }

    /// A variable of the environment; empty if it is not set.
    pub fn variable(&self, name: &str) -> &str {
        self.environment.get(name).map_or("", String::as_str)
    }

    /// PATH, or the default of container engines.
    fn path(&self) -> &str {
        self.environment
            .get("PATH")
            .map_or(DEFAULT_PATH, String::as_str)
    }

    /// The absolute directories of a variable such as PATH or PYTHONPATH.
    pub fn directories(&self, variable: &str) -> impl Iterator<Item = &str> {
        let list = match variable {
            "PATH" => self.path(),
            other => self.variable(other),
        };
        list.split(':').filter(|it| it.starts_with('/'))
    }

    /// The words of the command; the words of a script on the command line (`sh -c "exec python app.py"`) are separate.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.arguments.iter().flat_map(|it| it.split_whitespace());
        words.take(COMMAND_WORDS)
    }

    /// The file that a command word names, which is looked up in PATH unless it contains a slash.
    fn file_of<'r>(&self, root: &'r RootFilesystem<'r>, word: &str) -> Option<Node<'r>> {
        let file = |path: &str| root.resolve(path).ok().filter(|it| it.content().is_some());
        match word.contains('/') {
            true => file(word),
            false => {
                let mut directories = self.path().split(':');
                directories.find_map(|directory| file(&format!("{directory}/{word}")))
            }
        }
    }

    /// Takes over what the entrypoint script sets LD_LIBRARY_PATH to.
    fn follow_script(&mut self, root: &RootFilesystem) {
        let words = self.arguments.iter().take(SCRIPT_WORDS);
        let mut files = words.filter_map(|word| self.file_of(root, word));
        let Some((node, text)) = files.find_map(|node| Some((node, node.text()?))) else {
            return;
        };
        if let Some(value) = script::library_path(text, self.variable(LIBRARY_PATH)) {
            self.environment.insert(LIBRARY_PATH.to_owned(), value);
            self.library_path_from = node.path();
        }
    }
}

#[cfg(test)]
mod tests;
