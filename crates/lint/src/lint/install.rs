//! Commands that install packages: pip, uv, conda, mamba, micromamba, apt-get, apk.

mod conda;
mod effect;
mod options;
mod pip;
mod system;

use self::conda::conda;
use self::pip::{pip, pip_defaults, synchronized, uv, uv_defaults};
pub use self::system::system;
use super::variables::Values;
use imgcheck_base::lexical::name_of;
use imgcheck_launch as launch;
use imgcheck_launch::shell::is_name;

pub use self::effect::{Argument, Install, Project};
pub use self::pip::configured;

/// Shell builtins that run the command that follows them.
const BUILTINS: &[&str] = &["command", "exec"];

/// conda and programs with the same commands.
const CONDAS: &[&str] = &["conda", "mamba", "micromamba"];

/// The maximum number of programs before a command, and of their words.
const MAX_WRAPPERS: usize = 8;
const MAX_WRAPPER_WORDS: usize = 64;

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
        "python" | "pypy" if rest.first().is_some_and(is_setup) => setup(rest)?,
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
        "conda" | "mamba" | "micromamba" => match conda::run(rest) {
            Some((place, inner)) => {
                let install = read(inner, values)?;
                Install {
                    environment: install.environment.or(place),
                    ..install
                }
            }
            None => conda(rest)?,
        },
        "apt-get" | "apt" | "aptitude" => system("apt", "install", rest)?,
        "apk" => system("apk", "add", rest)?,
        _ => return None,
    };
    if install.manager == "pip" {
        // Commands inside `conda run` were read with these already.
        if tool == "uv" {
            install.projects.iter_mut().for_each(|it| it.uv = true);
            install.uv = true;
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
        let own = own.into_iter();
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        install.variables.extend(own);
    }
    Some(install)
}

/// The environment that `SHELL` runs all commands in: `["conda", "run", "-n", "train", "/bin/bash", "-c"]`.
pub fn shell_environment(words: &[Argument]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let (place, _) = conda::run(rest).filter(|_| CONDAS.contains(&name_of(&program.text)))?;
    place
}

/// Whether a word is the `setup.py` of a project.
fn is_setup(word: &Argument) -> bool {
    name_of(&word.text) == "setup.py"
}

/// `python setup.py install`, which builds the project in the environment itself. Its requirements are not followed.
fn setup(words: &[Argument]) -> Option<Install> {
    let (script, rest) = words.split_first()?;
    let mut commands = rest.iter();
    let builds = ["install", "develop", "bdist_wheel", "build_ext", "build"];
    if !commands.any(|it| builds.contains(&it.text.as_str())) {
        return None;
    }
    let directory = script.text.strip_suffix("setup.py")?;
    let project = Argument {
        text: format!("./{directory}").replace(".//", "/"),
        ..script.clone()
    };
    Some(Install {
        manager: "pip",
        packages: vec![project],
        no_build_isolation: true,
        build_options: rest.iter().map(|it| it.text.clone()).collect(),
        ..Install::default()
    })
}

/// The words without programs that start another one and their options: `sudo -H`, `nice -n 10`, `xargs -n 1`.
pub fn unwrapped<'w>(mut words: &'w [Argument], launch: &launch::Knowledge) -> &'w [Argument] {
    for _ in 0..MAX_WRAPPERS {
        let first = words.iter().take(MAX_WRAPPER_WORDS);
        let first: Vec<&str> = first.map(|it| it.text.as_str()).collect();
        let command = match first.as_slice() {
            [builtin, next, ..] if BUILTINS.contains(builtin) && !next.starts_with('-') => Some(1),
            first => launch.wrapped_command(first),
        };
        match command {
            Some(at) => words = &words[at..],
            None => break,
        }
    }
    words
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

#[cfg(test)]
mod tests;
