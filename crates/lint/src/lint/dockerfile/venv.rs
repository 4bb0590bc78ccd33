//! Virtual environments, and the Python of each.

use super::super::install::Argument;
use super::super::words::option_and_value;
use super::copies::place;
use super::state::{MAX_PARTS, State};
use imgcheck_base::lexical::name_of;

impl State<'_> {
    /// Handles `python3.12 -m venv DIRECTORY`, `virtualenv -p python3.12 DIRECTORY` and `uv venv --python 3.12 DIRECTORY`.
    pub fn virtual_environment(&mut self, words: &[Argument]) {
        let Some((program, rest)) = words.split_first().filter(|(it, _)| it.known) else {
            return;
        };
        let name = name_of(&program.text);
        let text = |at: usize| rest.get(at).map_or("", |it| it.text.as_str());
        self.has_environment |= makes_environment(name, rest);
        let (options, default) = match (name, text(0), text(1)) {
            (python, "-m", "venv" | "virtualenv") if python.starts_with("python") => {
                (rest.get(2..), version(python))
            }
            ("virtualenv", ..) => (Some(rest), Some(String::new())),
            ("uv", "venv", _) => (rest.get(1..), Some(String::new())),
            _ => return,
        };
        let mut python = default;
        let mut directories = Vec::new();
        let mut options = options.unwrap_or_default().iter();
        while let Some(word) = options.next() {
            let (option, joined) = option_and_value(&word.text);
            match option {
                "-p" | "--python" => {
                    let next = || options.next().map(|it| it.text.as_str());
                    python = joined.or_else(next).and_then(|it| version(name_of(it)));
                }
                "--prompt" if joined.is_none() => drop(options.next()),
                _ if !word.text.starts_with('-') => directories.push(word),
                _ => {}
            }
        }
        let [directory] = directories.as_slice() else {
            return;
        };
        let environment = place(&directory.text);
        match python.filter(|_| directory.known) {
            Some(python) if self.stage.pythons.len() < MAX_PARTS => {
                drop(self.stage.pythons.insert(environment, python));
            }
            _ => drop(self.stage.pythons.remove(&environment)),
        }
    }
}

/// Whether a command may make a virtual environment: by the name of a program or of a verb.
fn makes_environment(name: &str, words: &[Argument]) -> bool {
    const PROGRAMS: [&str; 14] = [
        "conda",
        "hatch",
        "just",
        "make",
        "mamba",
        "micromamba",
        "nox",
        "pdm",
        "pipenv",
        "pixi",
        "poetry",
        "rye",
        "tox",
        "virtualenv",
    ];
    const VERBS: [&str; 6] = ["add", "init", "run", "sync", "venv", "virtualenv"];
    let is_python = name == "uv" || name.starts_with("python");
    let mut verbs = words.iter().map(|it| it.text.as_str());
    PROGRAMS.contains(&name) || is_python && verbs.any(|it| VERBS.contains(&it))
}

/// The version in `python3.12` or `3.12`; empty for `python3`, which is the default one, and `None` for anything else.
fn version(name: &str) -> Option<String> {
    let version = name.strip_prefix("python").unwrap_or(name);
    let is_version = version.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    is_version.then(|| match version {
        "" | "3" => String::new(),
        version => version.to_owned(),
    })
}
