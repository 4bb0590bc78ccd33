//! pip and uv: what their commands install, and from where.

use super::super::pin::Index;
use super::super::requirements::{BEST_MATCH, index_option};
use super::super::variables::Values;
use super::super::words::option_and_value;
use super::effect::{Argument, Install, Project};
use super::options::{BUILD_OPTIONS, PIP_VALUES, PLACES, UPGRADES};
use imgcheck_base::lexical::name_of;
use imgcheck_base::version::requirement::normalized;

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
pub fn pip_defaults(index: &mut Index, values: Values<'_>) {
    let besides = &["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"];
    defaults(index, &["PIP_INDEX_URL"], besides, values);
}

/// Applies the environment variables of uv, which ignores those of pip.
pub fn uv_defaults(index: &mut Index, values: Values<'_>) {
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
pub fn synchronized(
    words: &[Argument],
    extra: &str,
    directory: &str,
    values: Values<'_>,
) -> Install {
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
        no_build_isolation: words.iter().any(|it| it.text == "--no-build-isolation"),
        no_build_isolation_of: after(NO_ISOLATION_OF),
        ..Install::default()
    }
}

/// The effect of a command of uv.
pub fn uv(words: &[Argument], values: Values<'_>) -> Option<Install> {
    let (first, rest) = words
        .iter()
        .position(|word| !word.text.starts_with('-'))
        .map(|at| (&words[at], &words[at + 1..]))?;
    match first.text.as_str() {
        "pip" => {
            const ELSEWHERE: [&str; 3] = ["--system", "--help", "--dry-run"];
            let is_elsewhere = |it: &Argument| ELSEWHERE.contains(&it.text.as_str()) || !it.known;
            let install = pip(rest)?;
            Some(Install {
                needs_environment: install.environment.is_none() && !words.iter().any(is_elsewhere),
                ..install
            })
        }
        // uv resolves all that the project requires.
        "add" => Some(Install {
            may_be_older: true,
            ..python_arguments(rest)
        }),
        "sync" => Some(synchronized(words, "--extra", "--directory", values)),
        _ => None,
    }
}

/// The effect of a command of pip.
pub fn pip(words: &[Argument]) -> Option<Install> {
    let at = words.iter().position(|word| !word.text.starts_with('-'))?;
    let rest = words.get(at + 1..)?;
    match words[at].text.as_str() {
        "install" => Some(python_arguments(rest)),
        "uninstall" => Some(python_arguments(rest).removed()),
        // uv pip sync FILE…
        "sync" => {
            let mut install = python_arguments(rest);
            let files = std::mem::take(&mut install.packages);
            install
                .files
                .extend(files.into_iter().map(|file| (file, false)));
            Some(install)
        }
        _ => None,
    }
}

/// Options of pip and uv that leave newer releases out.
const OLDER: [&str; 3] = [
    "--exclude-newer",
    "--exclude-newer-package",
    "--uploaded-prior-to",
];

/// The option of uv that names a package whose build sees the installed packages.
const NO_ISOLATION_OF: &str = "--no-build-isolation-package";

/// What `-e` names: an address, or a directory even without `./`.
fn editable(value: &str, word: &Argument) -> Option<Argument> {
    let is_address = value.starts_with("git+");
    let is_path = Project::of(value).is_some() || value.starts_with('/');
    let text = match is_address || is_path {
        true => value.to_owned(),
        false => format!("./{value}"),
    };
    let is_plain = !value.contains("://") || is_address;
    is_plain.then(|| Argument {
        text,
        ..word.clone()
    })
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
        let (name, joined) = option_and_value(&word.text);
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
        if matches!(name, "--no-deps" | "--no-dependencies") {
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
            let Some(word) = joined.map_or_else(|| words.next(), |_| Some(word)) else {
                break;
            };
            let value = joined.unwrap_or(&word.text);
            let file = Argument {
                text: value.to_owned(),
                ..word.clone()
            };
            if matches!(name, "--override" | "--overrides") {
                install.overrides.push(file);
            } else if OLDER.contains(&name) {
                install.may_be_older = true;
            } else if name == NO_ISOLATION_OF {
                install.no_build_isolation_of.push(normalized(value));
            } else if files.contains(&name) {
                let limits = name.trim_start_matches('-').starts_with('c');
                install.files.push((file, limits));
            } else if matches!(name, "-e" | "--editable") {
                install.projects.extend(Project::of(value));
                install.packages.extend(editable(value, word));
            } else if BUILD_OPTIONS.contains(&name) {
                install.build_options.push(value.to_owned());
            } else if PLACES.contains(&name) {
                install.environment = Some(value.to_owned());
            } else {
                index_option(&mut install.index, name, value);
            }
        }
    }
    install
}
