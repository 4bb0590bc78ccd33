//! The table of what wrappers, shells and small tools do: `rules/knowledge/launch.yaml`.

mod harmless;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::options::Options;
use super::value::Value;
pub(crate) use harmless::{Changes, Harmless, Needs, Writes};
use imgcheck_base::glob::{glob, matches_any};

/// What is known of programs that containers start on the way to theirs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Knowledge {
    relevant_variables: Vec<String>,
    shells: Vec<ShellRow>,
    multi_call: Vec<String>,
    host_files: Vec<String>,
    data_files: Vec<String>,
    data_names: Vec<String>,
    special_variables: Vec<String>,
    wrappers: Vec<Wrapper>,
    loaders: Vec<LoaderRow>,
    limits: Vec<Limit>,
    shortest_timeout: f64,
    harmless: Vec<Harmless>,
    harmless_scripts: Vec<String>,
    numbers: Vec<NumberRow>,
    installers: Vec<Installer>,
    console_scripts: ConsoleScripts,
}

/// Programs that are scripts of Python, which are known by what they consist of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsoleScripts {
    /// The line of each that imports it, by its name.
    imports: BTreeMap<String, Vec<String>>,
    /// The other lines that such a script may have.
    lines: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellRow {
    names: Vec<String>,
    #[serde(default)]
    bash: bool,
    /// What it refuses to do is not modeled.
    #[serde(default)]
    restricted: bool,
}

/// A dynamic loader as the command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoaderRow {
    /// Patterns of the names of its file.
    names: Vec<String>,
    /// Options without a value.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Options with a value.
    pub values: Vec<String>,
    /// Options with which it starts no program.
    pub prints: Vec<String>,
    /// Options whose effect is not modeled.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// It reads options as musl does: values may follow a `=`, `--` ends them, and `--preload` replaces LD_PRELOAD.
    #[serde(default)]
    pub musl: bool,
    /// Where this is documented.
    #[serde(rename = "source")]
    _source: String,
}

/// A resource limit of a process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Limit {
    /// Its letter, an option of `ulimit` and `prlimit`.
    letter: char,
    /// The long option of `prlimit`.
    name: String,
    /// From this value on, in the unit of `setrlimit`, no program of the GPU stack notices. Without it, any limit may end or refuse something.
    at_least: Option<u64>,
    /// The unit of `ulimit`, in that of `setrlimit`.
    #[serde(default = "one")]
    unit: u64,
}

fn one() -> u64 {
    1
}

/// A program that writes one whole number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NumberRow {
    name: String,
    /// The arguments with which it does, as a pattern.
    with: String,
}

/// Programs that install packages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Installer {
    /// Patterns of their names.
    names: Vec<String>,
    /// Patterns of arguments with which they change what is installed.
    with: Vec<String>,
}

/// A program that starts another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wrapper {
    names: Vec<String>,
    /// The first argument that makes it one.
    subcommand: Option<String>,
    #[serde(default)]
    pub options: Options,
    /// The number of operands before the command.
    #[serde(default)]
    pub operands: usize,
    /// A CPU mask comes before the command unless an option gives it.
    #[serde(default)]
    pub mask: bool,
    #[serde(default)]
    pub effect: Effect,
    /// The library that it preloads.
    #[serde(default)]
    pub library: String,
    /// It starts its command with `execvp`, that of glibc or musl.
    #[serde(default)]
    pub execvp: bool,
    /// It changes the environment in ways that are not modeled. Without options, where its command begins is unknown, too.
    #[serde(default)]
    pub unknown: bool,
    /// Where this is documented.
    #[serde(rename = "source")]
    _source: String,
}

/// What a wrapper does besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Effect {
    #[default]
    None,
    /// `env`: assignments and options change the environment.
    Env,
    /// The operand is the user; HOME is that user's.
    User,
    /// The operand, or the option `--reuid`, is the user; HOME stays.
    Identity,
    /// It sets LD_PRELOAD.
    Preload,
    /// It activates a conda environment.
    Conda,
    /// `uv run`, `poetry run` and `pipenv run` use the environment of the project in the working directory.
    Uv,
    Poetry,
    Pipenv,
    /// The policy of sudo says which variables stay.
    Sudo,
    /// An option names the program.
    Daemon,
    /// `xargs`: what it reads becomes further arguments.
    Xargs,
    /// `timeout`: the operand is a duration.
    Timeout,
    /// `prlimit`: options limit resources.
    Limits,
    /// `mpirun` of Open MPI: options set variables and the working directory.
    Mpi,
}

impl Knowledge {
    /// Whether the value of a variable decides what runs.
    pub fn is_relevant(&self, variable: &str) -> bool {
        matches_any(variable, &self.relevant_variables)
    }

    /// Whether the host decides about a file.
    pub(crate) fn is_of_host(&self, path: &str) -> bool {
        matches_any(path, &self.host_files)
    }

    /// Whether a file is data from which no code is run.
    pub(crate) fn is_data(&self, path: &str) -> bool {
        matches_any(path, &self.data_files) || self.has_data_name(path)
    }

    /// Whether a file is data by its name, in whichever directory it is.
    pub(crate) fn has_data_name(&self, path: &str) -> bool {
        matches_any(path, &self.data_names)
    }

    /// Whether a variable changes how shells read scripts.
    pub(crate) fn is_special(&self, variable: &str) -> bool {
        matches_any(variable, &self.special_variables)
    }

    /// Whether a program of this name is a shell that is understood, and then whether it is bash.
    pub(crate) fn shell(&self, name: &str) -> Option<bool> {
        let has_name = |row: &&ShellRow| row.names.iter().any(|it| it == name);
        self.shells.iter().find(has_name).map(|row| row.bash)
    }

    /// Whether a shell of this name is a restricted one.
    pub(crate) fn is_restricted(&self, name: &str) -> bool {
        let mut shells = self.shells.iter();
        shells.any(|row| row.restricted && row.names.iter().any(|it| it == name))
    }

    /// The row of a dynamic loader.
    pub(crate) fn loader(&self, name: &str) -> Option<&LoaderRow> {
        let mut loaders = self.loaders.iter();
        loaders.find(|row| matches_any(name, &row.names))
    }

    /// Whether a limit may change what a program does, by the letter of `ulimit` or the long option of `prlimit`. `value` is the number as it
    /// is given, `None` for one that is unknown.
    pub(crate) fn limits(&self, name: &str, value: Option<u64>, is_ulimit: bool) -> bool {
        let is_it = |it: &&Limit| it.name == name || name.chars().eq([it.letter]);
        let Some(limit) = self.limits.iter().find(is_it) else {
            return true;
        };
        let unit = if is_ulimit { limit.unit } else { 1 };
        let value = value.map(|it| it.saturating_mul(unit));
        // A script that computes the number of files raises it as a rule.
        limit
            .at_least
            .is_none_or(|least| value.is_some_and(|it| it < least))
    }

    /// Below this many seconds, `timeout` may end a program before it works.
    pub(crate) fn shortest_timeout(&self) -> f64 {
        self.shortest_timeout
    }

    /// Whether what a program does follows from the name that it is started by.
    pub(crate) fn is_multi_call(&self, name: &str) -> bool {
        self.multi_call.iter().any(|it| it == name)
    }

    /// Whether a program writes one whole number.
    pub(crate) fn writes_number(&self, name: &str, arguments: &[Value]) -> bool {
        let arguments: Option<Vec<&str>> = arguments.iter().skip(1).map(Value::known).collect();
        let Some(arguments) = arguments.map(|it| it.join(" ")) else {
            return false;
        };
        let fits = |row: &NumberRow| row.name == name && glob(&arguments, &row.with);
        self.numbers.iter().any(fits)
    }

    /// Whether a program installs packages: by its name, or as a module that Python runs.
    pub(crate) fn is_installer(&self, name: &str, arguments: &[Value]) -> bool {
        let mut arguments = arguments.iter().skip(1).map(Value::known);
        let mut name = name;
        if name.starts_with("python") {
            // `-m`, `-um`
            let is_option =
                |it: &str| it.starts_with('-') && !it.starts_with("--") && it.ends_with('m');
            arguments.find(|it| it.is_some_and(is_option));
            name = arguments.next().flatten().unwrap_or_default();
        } else if self
            .wrapper(name, arguments.clone().next().flatten())
            .is_some()
        {
            return false;
        }
        let row = self
            .installers
            .iter()
            .find(|row| matches_any(name, &row.names));
        row.is_some_and(|row| {
            arguments.any(|it| it.is_none_or(|argument| matches_any(argument, &row.with)))
        })
    }

    /// Whether a script is the program that is known by its name: it has no other line than such scripts have. `None` if no program is
    /// known by the name.
    pub(crate) fn is_console_script(&self, name: &str, text: &str) -> Option<bool> {
        let imports = self.console_scripts.imports.get(name)?;
        let lines = || text.lines().skip(1).map(str::trim);
        let is_import = |line: &str| imports.iter().any(|it| it == line);
        let is_known = |line: &str| {
            line.is_empty() || line.starts_with('#') || self.console_scripts.lines.contains(line)
        };
        Some(lines().any(is_import) && lines().all(|line| is_import(line) || is_known(line)))
    }

    pub(crate) fn wrapper(&self, name: &str, first: Option<&str>) -> Option<&Wrapper> {
        self.wrappers.iter().find(|row| {
            let is_subcommand = |it: &String| Some(it.as_str()) == first;
            matches_any(name, &row.names) && row.subcommand.as_ref().is_none_or(is_subcommand)
        })
    }

    /// Whether a script with this file name is a harmless program.
    pub(crate) fn is_harmless_script(&self, name: &str) -> bool {
        self.harmless_scripts.iter().any(|it| it == name)
    }

    pub(crate) fn harmless(&self, name: &str) -> Option<&Harmless> {
        self.harmless.iter().find(|row| row.is_called(name))
    }
}

impl Wrapper {
    /// Whether the first argument is part of its name.
    pub fn has_subcommand(&self) -> bool {
        self.subcommand.is_some()
    }
}
