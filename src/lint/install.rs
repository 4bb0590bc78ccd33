//! Commands that install packages: pip, uv, conda, mamba, micromamba, apt-get, apk.

mod options;

use std::ops::Range;

use self::options::{CONDA_VALUES, PIP_VALUES, PLACES, PROGRAMS, UPGRADES, WRAPPERS};
use super::pin::Index;
use super::requirements::{BEST_MATCH, index_option};
use super::variables::Values;
use crate::lexical::name_of;

/// A word of a command, without quotes and with expanded variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// The text; variables without a known value stay as written.
    pub text: String,
    /// Whether all its variables are known.
    pub known: bool,
    /// Its position in the file.
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
    pub files: Vec<(String, bool)>,
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
    /// Whether the packages are removed instead.
    pub removes: bool,
    /// Whether installed packages are replaced by newer ones.
    pub upgrades: bool,
    /// Whether builds see the installed packages.
    pub no_build_isolation: bool,
}

/// A project that is installed from its directory.
#[derive(Debug, Default, PartialEq)]
pub struct Project {
    /// Its directory.
    pub path: String,
    /// Its extras and groups.
    pub extras: Vec<String>,
    /// Whether its lock file decides: `uv sync`, `poetry install`.
    pub locked: bool,
    /// Whether the settings of uv count.
    pub uv: bool,
}

impl Project {
    /// The project that an argument of pip names: `.`, `./package[extra]`.
    fn of(written: &str) -> Option<Self> {
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

/// Reads a command; `None` if it does not install or remove packages.
pub fn read(words: &[Argument], values: Values<'_>) -> Option<Install> {
    let (own, words) = assignments(words);
    let lookup = |name: &str| {
        let own = own.iter().find(|(known, _)| *known == name);
        own.map(|(_, value)| (*value).to_owned())
            .or_else(|| values(name))
    };
    let (program, rest) = words.split_first()?;
    let (directory, name) = program.text.rsplit_once('/').unwrap_or(("", &program.text));
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let place = (!matches!(directory, "" | "/usr/bin" | "/usr/local/bin" | "/bin"))
        .then(|| directory.to_owned());
    let mut tool = plain;
    let mut install = match plain {
        "pip" | "pipx" if name != "pipx" => pip(rest)?,
        "python" | "pypy" => {
            let option = rest.iter().position(|word| word.text.starts_with("-m"))?;
            // `-m pip` or `-mpip`.
            let (module, behind) = match rest[option].text.as_str() {
                "-m" => (rest.get(option + 1)?.text.as_str(), rest.get(option + 2..)?),
                joined => (&joined[2..], &rest[option + 1..]),
            };
            tool = module;
            match module {
                "pip" => pip(behind)?,
                "uv" => uv(behind, &lookup)?,
                _ => return None,
            }
        }
        "uv" => uv(rest, &lookup)?,
        "poetry" if rest.first().is_some_and(|word| word.text == "install") => {
            synchronized(rest, "--extras", "--directory", &|_| None)
        }
        "conda" | "mamba" | "micromamba" => conda(rest, values)?,
        "apt-get" | "apt" | "aptitude" => system("apt", "install", rest)?,
        "apk" => system("apk", "add", rest)?,
        _ => return None,
    };
    if install.manager == "pip" {
        // Commands inside `conda run` were read with these already.
        if tool == "uv" {
            install.projects.iter_mut().for_each(|it| it.uv = true);
        }
        match tool {
            "conda" | "mamba" | "micromamba" => {}
            "uv" => uv_defaults(&mut install.index, &lookup),
            _ => pip_defaults(&mut install.index, &lookup),
        }
        let conda_or_uv = matches!(plain, "conda" | "mamba" | "micromamba" | "uv");
        if !conda_or_uv && install.environment.is_none() {
            install.environment = place;
        }
    }
    Some(install)
}

/// The words without programs that start another one and their options: `sudo -H`, `nice -n 10`, `xargs -n 1`.
pub fn unwrapped(words: &[Argument]) -> &[Argument] {
    let name = |word: &Argument| word.text.rsplit('/').next().unwrap_or_default().to_owned();
    let Some((first, rest)) = words.split_first() else {
        return words;
    };
    if !WRAPPERS.contains(&name(first).as_str()) {
        return words;
    }
    let mut after_option = false;
    for (at, word) in rest.iter().enumerate() {
        let is_option = word.text.starts_with('-');
        let assigns = word
            .text
            .split_once('=')
            .is_some_and(|(name, _)| is_name(name));
        let is_number = word.text.starts_with(|c: char| c.is_ascii_digit());
        if !is_option && (assigns || is_program(&name(word))) {
            return unwrapped(&rest[at..]);
        }
        if !is_option && !after_option && !is_number {
            break;
        }
        after_option = is_option;
    }
    words
}

/// Whether a program is one that is read, so that it is not the value of an option.
fn is_program(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    PROGRAMS.contains(&plain) || WRAPPERS.contains(&name)
}

/// The `NAME=value` words before a program, and the rest; `env` is skipped.
fn assignments(words: &[Argument]) -> (Vec<(&str, &str)>, &[Argument]) {
    let mut own = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        match word.text.split_once('=') {
            Some((name, value)) if is_name(name) => own.push((name, value)),
            None if word.text == "env" => {}
            _ => break,
        }
        rest = after;
    }
    (own, rest)
}

/// Whether a text is a valid variable name.
pub fn is_name(text: &str) -> bool {
    let start = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    start && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The variable that has the same effect as `pip config set NAME VALUE`, and its value; `None` for `unset`.
pub fn configured(words: &[Argument]) -> Option<(&'static str, Option<String>)> {
    let text = |at: usize| {
        words
            .get(at)
            .map(|word| word.text.as_str())
            .unwrap_or_default()
    };
    let start = match (name_of(text(0)), text(1), text(2)) {
        (name, "config", _) if name.starts_with("pip") => 2,
        (name, "-m", "pip") if name.starts_with("python") && text(3) == "config" => 4,
        _ => return None,
    };
    let mut rest = words[start..]
        .iter()
        .filter(|word| !word.text.starts_with("--"));
    let verb = rest.next()?.text.as_str();
    let variable = match rest.next()?.text.rsplit('.').next()? {
        "index-url" => "PIP_INDEX_URL",
        "extra-index-url" => "PIP_EXTRA_INDEX_URL",
        "find-links" => "PIP_FIND_LINKS",
        _ => return None,
    };
    match verb {
        "set" => Some((variable, Some(rest.next()?.text.clone()))),
        "unset" => Some((variable, None)),
        _ => None,
    }
}

/// Applies the environment variables of pip.
fn pip_defaults(index: &mut Index, values: Values<'_>) {
    let besides = &["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"];
    defaults(index, &["PIP_INDEX_URL"], besides, values);
}

/// Applies the environment variables of uv, which ignores those of pip.
fn uv_defaults(index: &mut Index, values: Values<'_>) {
    let instead = &["UV_INDEX_URL", "UV_DEFAULT_INDEX"];
    let besides = &["UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_FIND_LINKS"];
    defaults(index, instead, besides, values);
    let best_match = values("UV_INDEX_STRATEGY").is_some_and(|it| it == BEST_MATCH);
    index.first_wins = !index.best_match && !best_match;
    if index.backend.is_none() {
        index.backend = values("UV_TORCH_BACKEND").filter(|value| !value.is_empty());
    }
}

fn defaults(index: &mut Index, instead: &[&str], besides: &[&str], values: Values<'_>) {
    for name in instead {
        if index.instead.is_none() {
            index.instead = values(name).filter(|value| !value.is_empty());
        }
    }
    for name in besides {
        let value = values(name).unwrap_or_default();
        index
            .besides
            .extend(value.split_whitespace().map(str::to_owned));
    }
}

/// A command that installs a project as its lock file says.
fn synchronized(words: &[Argument], extra: &str, directory: &str, values: Values<'_>) -> Install {
    let after = |option: &str| {
        let pairs = words.windows(2).filter(move |pair| pair[0].text == option);
        pairs.map(|pair| pair[1].text.clone()).collect::<Vec<_>>()
    };
    Install {
        manager: "pip",
        projects: vec![Project {
            path: after(directory).pop().unwrap_or_else(|| ".".to_owned()),
            extras: after(extra),
            locked: true,
            uv: true,
        }],
        environment: values("UV_PROJECT_ENVIRONMENT").or_else(|| Some(".venv".to_owned())),
        ..Install::default()
    }
}

fn uv(words: &[Argument], values: Values<'_>) -> Option<Install> {
    let (first, rest) = words
        .iter()
        .position(|word| !word.text.starts_with('-'))
        .map(|at| (&words[at], &words[at + 1..]))?;
    match first.text.as_str() {
        "pip" => pip(rest),
        "add" => Some(python_arguments(rest)),
        "sync" => Some(synchronized(words, "--extra", "--directory", values)),
        _ => None,
    }
}

fn pip(words: &[Argument]) -> Option<Install> {
    let at = words.iter().position(|word| !word.text.starts_with('-'))?;
    let rest = words.get(at + 1..)?;
    match words[at].text.as_str() {
        "install" => Some(python_arguments(rest)),
        "uninstall" => Some(removed(python_arguments(rest))),
        // uv pip sync FILE…
        "sync" => {
            let mut install = python_arguments(rest);
            let files = std::mem::take(&mut install.packages);
            install
                .files
                .extend(files.into_iter().map(|file| (file.text, false)));
            Some(install)
        }
        _ => None,
    }
}

fn removed(install: Install) -> Install {
    Install {
        removes: true,
        ..install
    }
}

fn python_arguments(words: &[Argument]) -> Install {
    let mut install = Install {
        manager: "pip",
        ..Install::default()
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.text.starts_with('-') {
            install.projects.extend(Project::of(&word.text));
            install.packages.push(word.clone());
            continue;
        }
        let (name, joined) = match word.text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => match word.text.split_at_checked(2) {
                Some((name, value)) if !name.starts_with("--") && !value.is_empty() => {
                    (name, Some(value))
                }
                _ => (word.text.as_str(), None),
            },
        };
        let index = [
            "--index-strategy",
            "-i",
            "-f",
            "--index-url",
            "--extra-index-url",
            "--find-links",
            "--index",
            "--default-index",
            "--torch-backend",
        ];
        let files = [
            "-r",
            "--requirement",
            "--requirements",
            "-c",
            "--constraint",
            "--constraints",
        ];
        if name == "--no-deps" {
            install.alone = true;
        } else if name == "--no-build-isolation" {
            install.no_build_isolation = true;
        } else if UPGRADES.contains(&word.text.as_str()) {
            install.upgrades = true;
        } else if index.contains(&name)
            || files.contains(&name)
            || PLACES.contains(&name)
            || PIP_VALUES.contains(&name)
        {
            let Some(value) = joined.or_else(|| words.next().map(|word| word.text.as_str())) else {
                break;
            };
            if files.contains(&name) {
                let limits = name.trim_start_matches('-').starts_with('c');
                install.files.push((value.to_owned(), limits));
            } else if matches!(name, "-e" | "--editable") {
                install.projects.extend(Project::of(value));
            } else if PLACES.contains(&name) {
                install.environment = Some(value.to_owned());
            } else {
                index_option(&mut install.index, name, value);
            }
        }
    }
    install
}

fn conda(words: &[Argument], values: Values<'_>) -> Option<Install> {
    let at = words.iter().position(|word| !word.text.starts_with('-'))?;
    let rest = words.get(at + 1..)?;
    match words[at].text.as_str() {
        "run" => {
            let mut place = None;
            let mut inner = rest;
            while let Some((word, after)) = inner
                .split_first()
                .filter(|(word, _)| word.text.starts_with('-'))
            {
                inner = after;
                if matches!(word.text.as_str(), "-n" | "--name" | "-p" | "--prefix")
                    && let Some((name, after)) = inner.split_first()
                {
                    place = Some(name.text.clone());
                    inner = after;
                }
            }
            // `conda run conda` is not followed.
            let program = inner.first().map(|word| word.text.as_str())?;
            if ["conda", "mamba", "micromamba"]
                .iter()
                .any(|name| program.ends_with(name))
            {
                return None;
            }
            let install = read(inner, values)?;
            Some(Install {
                environment: install.environment.or(place),
                ..install
            })
        }
        "env" => {
            let verb = rest.first().map(|word| word.text.as_str());
            matches!(verb, Some("create" | "update")).then(|| conda_arguments(&rest[1..], true))
        }
        "install" | "create" | "update" => Some(conda_arguments(rest, false)),
        "remove" | "uninstall" => Some(removed(conda_arguments(rest, false))),
        _ => None,
    }
}

fn conda_arguments(words: &[Argument], environment: bool) -> Install {
    let mut install = Install {
        manager: "conda",
        ..Install::default()
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, joined) = match word.text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.text.as_str(), None),
        };
        let mut value = || {
            joined
                .clone()
                .or_else(|| words.next().map(|word| word.text.clone()))
        };
        match name {
            "-c" | "--channel" => install.channels.extend(value()),
            "-n" | "--name" | "-p" | "--prefix" => install.environment = value(),
            "-f" | "--file" => {
                let file = value();
                let yaml = file
                    .iter()
                    .filter(|file| file.ends_with(".yml") || file.ends_with(".yaml"));
                install.environments.extend(yaml.cloned());
            }
            name if CONDA_VALUES.contains(&name) => drop(value()),
            name if name.starts_with('-') => {}
            _ if environment => {}
            _ => install.packages.push(word.clone()),
        }
    }
    install
}

fn system(manager: &'static str, verb: &str, words: &[Argument]) -> Option<Install> {
    let at = words.iter().position(|word| word.text == verb)?;
    let mut packages = Vec::new();
    let mut rest = words[at + 1..].iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-t" | "-o" | "--target-release" | "--virtual" | "--repository" | "-X" => {
                rest.next();
            }
            text if text.starts_with('-') => {}
            _ => packages.push(word.clone()),
        }
    }
    Some(Install {
        manager,
        packages,
        ..Install::default()
    })
}

#[cfg(test)]
mod tests;
