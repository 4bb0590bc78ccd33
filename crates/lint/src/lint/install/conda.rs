//! conda, mamba and micromamba: what their commands install.

use super::super::words::option_and_value;
use super::effect::{Argument, Install};
use super::options::{CONDA_VALUES, ENVIRONMENTS, RUN_VALUES};

/// The environment and the command of `conda run`; `None` for other commands. `conda run conda` is not followed.
pub fn run(words: &[Argument]) -> Option<(Option<String>, &[Argument])> {
    let at = words.iter().position(|word| !word.text.starts_with('-'))?;
    let mut inner = words.get(at + 1..).filter(|_| words[at].text == "run")?;
    let mut place = None;
    while let Some((word, after)) = inner
        .split_first()
        .filter(|(word, _)| word.text.starts_with('-'))
    {
        inner = after;
        let (name, joined) = option_and_value(&word.text);
        if !RUN_VALUES.contains(&name) {
            continue;
        }
        let value = joined.or_else(|| {
            let (value, after) = inner.split_first()?;
            inner = after;
            Some(value.text.as_str())
        });
        if ENVIRONMENTS.contains(&name) {
            place = value.map(str::to_owned);
        }
    }
    let program = inner.first().map(|word| word.text.as_str())?;
    let is_conda = ["conda", "mamba"].iter().any(|it| program.ends_with(it));
    (!is_conda).then_some((place, inner))
}

/// The effect of a command that changes an environment.
pub fn conda(words: &[Argument]) -> Option<Install> {
    let at = words.iter().position(|word| !word.text.starts_with('-'))?;
    let rest = words.get(at + 1..)?;
    match words[at].text.as_str() {
        "env" => {
            let verb = rest.first().map(|word| word.text.as_str());
            matches!(verb, Some("create" | "update")).then(|| conda_arguments(&rest[1..], true))
        }
        "install" | "create" | "update" => Some(conda_arguments(rest, false)),
        "remove" | "uninstall" => Some(conda_arguments(rest, false).removed()),
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
        if !word.text.starts_with('-') {
            install
                .packages
                .extend((!environment).then(|| word.clone()));
            continue;
        }
        let (name, joined) = option_and_value(&word.text);
        let mut value = || {
            let joined = joined.map(str::to_owned);
            joined.or_else(|| words.next().map(|word| word.text.clone()))
        };
        match name {
            "-c" | "--channel" => install.channels.extend(value()),
            name if ENVIRONMENTS.contains(&name) => install.environment = value(),
            "-f" | "--file" => {
                let file = value();
                let yaml = file
                    .iter()
                    .filter(|file| file.ends_with(".yml") || file.ends_with(".yaml"));
                install.environments.extend(yaml.cloned());
            }
            name if CONDA_VALUES.contains(&name) => drop(value()),
            _ => {}
        }
    }
    install
}
