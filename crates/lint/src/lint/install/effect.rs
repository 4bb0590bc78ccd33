//! What a command that installs packages does.

use std::ops::Range;

use super::super::pin::Index;

/// A word of a command, without quotes and with expanded variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// The text; variables without a known value stay as written.
    pub text: String,
    /// Whether all its variables are known.
    pub known: bool,
    /// Byte range in the file.
    pub span: Range<usize>,
}

/// The effect of a command.
#[derive(Debug, Default, PartialEq)]
pub struct Install {
    /// `pip`, `conda`, `apt` or `apk`.
    pub manager: &'static str,
    /// The packages, as written.
    pub packages: Vec<Argument>,
    /// Requirements files, and whether they are only constraints.
    pub files: Vec<(Argument, bool)>,
    /// Files of requirements that uv takes as they say, whatever requires the packages.
    pub overrides: Vec<Argument>,
    /// Projects, by their directory.
    pub projects: Vec<Project>,
    /// conda environment files.
    pub environments: Vec<String>,
    /// Where Python packages come from.
    pub index: Index,
    /// conda channels.
    pub channels: Vec<String>,
    /// The environment, if it is not the default one.
    pub environment: Option<String>,
    /// `--no-deps`.
    pub alone: bool,
    /// Whether a package without a version may not be the newest release: `uv add`, `--exclude-newer`.
    pub may_be_older: bool,
    /// Whether uv installs them.
    pub uv: bool,
    /// Whether uv installs them into the virtual environment that it finds.
    pub needs_environment: bool,
    /// Whether the packages are removed instead.
    pub removes: bool,
    /// Whether installed packages are replaced by newer ones.
    pub upgrades: bool,
    /// Whether builds see the installed packages.
    pub no_build_isolation: bool,
    /// The packages whose builds see them in any case.
    pub no_build_isolation_of: Vec<String>,
    /// Variables that are set for the command alone.
    pub variables: Vec<(String, String)>,
    /// Options for the builds.
    pub build_options: Vec<String>,
}

/// A project that is installed from its directory.
#[derive(Debug, Default, PartialEq)]
pub struct Project {
    /// Directory of the project.
    pub path: String,
    /// Extras and dependency groups to install.
    pub extras: Vec<String>,
    /// Whether its lock file decides: `uv sync`, `poetry install`.
    pub locked: bool,
    /// Whether the settings of uv count.
    pub uv: bool,
}

impl Install {
    /// The same command as a removal.
    pub fn removed(self) -> Self {
        Install {
            removes: true,
            ..self
        }
    }
}

impl Project {
    /// The project that an argument of pip names: `.`, `./package[extra]`.
    pub fn of(written: &str) -> Option<Self> {
        let (path, extras) = match written.split_once('[') {
            Some((path, rest)) => (path, rest.split(']').next().unwrap_or_default()),
            None => (written, ""),
        };
        let is_file = [".whl", ".tar.gz", ".zip"]
            .iter()
            .any(|end| path.ends_with(end));
        let is_path = path == "."
            || path.starts_with("./")
            || path.starts_with("../")
            || path.starts_with('/');
        (is_path && !is_file).then(|| Project {
            path: path.to_owned(),
            extras: extras
                .split(',')
                .map(|extra| extra.trim().to_owned())
                .collect(),
            ..Project::default()
        })
    }
}
