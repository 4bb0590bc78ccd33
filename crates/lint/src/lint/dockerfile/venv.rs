//! Virtual environments, and the Python of each.

use super::super::install::Argument;
use super::super::text::Text;
use super::super::words::option_and_value;
use super::copies::{absolute, place};
use super::session::Session;
use super::state::{MAX_PARTS, State};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

impl State<'_> {
    /// Handles `python3.12 -m venv DIRECTORY`, `virtualenv -p python3.12 DIRECTORY` and `uv venv --python 3.12 DIRECTORY`.
    pub fn virtual_environment(
        &mut self,
        text: &Text<'_>,
        words: &[Argument],
        session: &Session,
    ) -> Result<()> {
        let Some((program, rest)) = words.split_first().filter(|(it, _)| it.known) else {
            return Ok(());
        };
        let name = name_of(&program.text);
        let word = |at: usize| rest.get(at).map_or("", |it| it.text.as_str());
        self.has_environment |= makes_environment(name, rest);
        let (options, default) = match (name, word(0), word(1)) {
            (python, "-m", "venv" | "virtualenv") if python.starts_with("python") => {
                (rest.get(2..), version(python))
            }
            ("virtualenv", ..) => (Some(rest), Some(String::new())),
            ("uv", "venv", _) => (rest.get(1..), None),
            _ => return Ok(()),
        };
        let mut named = None;
        let mut directories = Vec::new();
        let mut options = options.unwrap_or_default().iter();
        while let Some(word) = options.next() {
            let (option, joined) = option_and_value(&word.text);
            match option {
                "-p" | "--python" => {
                    let next = || options.next().map(|it| it.text.as_str());
                    named = joined.or_else(next).map(|it| version(name_of(it)));
                }
                "--prompt" if joined.is_none() => drop(options.next()),
                _ if !word.text.starts_with('-') => directories.push(word),
                _ => {}
            }
        }
        let python = match named {
            Some(python) => python,
            None if name == "uv" => self.python_of_uv(text, session)?,
            None => default,
        };
        let (environment, is_known) = match directories.as_slice() {
            [directory] => (place(&directory.text), directory.known),
            // `uv pip` finds `.venv`.
            [] if name == "uv" && python.as_deref() != Some("") => {
                let python = python.unwrap_or_else(|| UNKNOWN.to_owned());
                self.stage.pythons.insert(String::new(), python);
                return Ok(());
            }
            _ => return Ok(()),
        };
        match python.filter(|_| is_known) {
            Some(python) if self.stage.pythons.len() < MAX_PARTS => {
                drop(self.stage.pythons.insert(environment, python));
            }
            _ => drop(self.stage.pythons.remove(&environment)),
        }
        Ok(())
    }

    /// The Python that uv takes without `--python`: that of UV_PYTHON or of `.python-version`, or else the default one; `None` if it is
    /// not known (uv, "Python versions").
    fn python_of_uv(&self, text: &Text<'_>, session: &Session) -> Result<Option<String>> {
        if let Some(named) = self.session_value("UV_PYTHON", session) {
            return Ok(version(name_of(&named)));
        }
        let pinned = absolute(self.directory(session), ".python-version");
        Ok(match self.origin(text, &pinned)? {
            Some((_, content)) => version(content.lines().next().unwrap_or_default().trim()),
            None => Some(String::new()),
        })
    }
}

/// In place of a version that is not known.
const UNKNOWN: &str = "unknown";

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
