//! What is known of a stage while its instructions are read.

use std::collections::BTreeMap;

use super::super::shell::Script;
use super::super::stage::Recorder;
use super::super::text::Text;
use super::super::variables::{expression, unquote};
use super::super::{Base, SearchDirectory, Stage, Variable};

/// How many directories of one search path are looked at.
pub const MAX_PARTS: usize = 64;

/// A stage that is being read.
pub struct State<'c> {
    /// What was found.
    pub stage: Stage,
    /// What is installed.
    pub recorder: Recorder<'c>,
    /// The stage it stands on.
    pub parent: Option<usize>,
    /// Stages whose files it takes.
    pub takes: Vec<usize>,
    /// Build arguments with a known value.
    pub arguments: BTreeMap<String, String>,
    /// What is copied from beside the file, and to where.
    pub copies: Vec<(String, String)>,
    /// Whether `SHELL` names one whose words are others.
    pub foreign_shell: bool,
    /// Files of the dynamic loader's configuration, with the directories written into them.
    pub written: Vec<(String, Vec<SearchDirectory>)>,
    env: BTreeMap<String, String>,
}

/// The values that BuildKit gives without being asked, on the machine that most have.
pub fn predefined(name: &str) -> Option<String> {
    let value = match name {
        "TARGETPLATFORM" | "BUILDPLATFORM" => "linux/amd64",
        "TARGETOS" | "BUILDOS" => "linux",
        "TARGETARCH" | "BUILDARCH" => "amd64",
        _ => return None,
    };
    Some(value.to_owned())
}

impl<'c> State<'c> {
    /// A stage upon an image.
    pub fn new(recorder: Recorder<'c>, base: Option<Base>) -> Self {
        State {
            stage: Stage {
                base,
                ..Stage::default()
            },
            recorder,
            parent: None,
            takes: Vec::new(),
            arguments: BTreeMap::new(),
            copies: Vec::new(),
            foreign_shell: false,
            written: Vec::new(),
            env: BTreeMap::new(),
        }
    }

    /// A stage upon this one: with its packages, variables and shell, without its arguments.
    pub fn child(&self) -> Self {
        State {
            env: self.env.clone(),
            foreign_shell: self.foreign_shell,
            copies: self.copies.clone(),
            ..State::new(self.recorder.clone(), self.stage.base.clone())
        }
    }

    /// The value of a variable or argument.
    pub fn value(&self, name: &str) -> Option<String> {
        let set = self.env.get(name).or_else(|| self.arguments.get(name));
        set.cloned().or_else(|| predefined(name))
    }

    /// The values of all variables and arguments.
    pub fn clone_values(&self) -> BTreeMap<String, String> {
        let mut values = self.arguments.clone();
        values.extend(self.env.clone());
        values
    }

    /// Sets a variable; `start` is where its value begins in the file.
    pub fn set(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        name: &str,
        raw: &str,
        start: usize,
    ) {
        let values = self.clone_values();
        self.set_with(&values, text, script, (name, raw, start));
    }

    /// Sets a variable to a text that is expanded with some values.
    pub fn set_with(
        &mut self,
        values: &BTreeMap<String, String>,
        text: &Text<'_>,
        script: &Script<'_>,
        (name, raw, start): (&str, &str, usize),
    ) {
        let lookup = |name: &str| values.get(name).cloned().or_else(|| predefined(name));
        let expanded = unquote(raw, script.escape, &lookup, &|_| 0);
        let keeps = raw.contains(&format!("${name}")) || raw.contains(&format!("${{{name}"));
        if !keeps {
            let earlier = self
                .stage
                .env
                .iter_mut()
                .filter(|earlier| earlier.name == name);
            earlier.for_each(|earlier| earlier.replaced = true);
        }
        let parts = parts(raw).take(4 * MAX_PARTS).map(|(at, part)| {
            let inner = part.trim_matches(['"', '\'']);
            let from = start + at + (part.len() - part.trim_start_matches(['"', '\'']).len());
            SearchDirectory {
                text: unquote(inner, script.escape, &lookup, &|_| 0).text,
                location: text.location(from..from + inner.len()),
            }
        });
        self.stage.env.push(Variable {
            name: name.to_owned(),
            value: expanded.text.clone(),
            replaced: false,
            parts: parts
                .filter(|part| !part.text.is_empty())
                .take(MAX_PARTS)
                .collect(),
            location: text.location(start..start + raw.len()),
        });
        match expanded.known {
            true => drop(self.env.insert(name.to_owned(), expanded.text)),
            false => drop(self.env.remove(name)),
        }
    }

    /// The Python environment that a command without a path of its own uses: empty for the usual one.
    pub fn environment(&self) -> String {
        let own = ["venv", "conda", "mamba", "virtualenv", "pyenv", "/envs/"];
        let path = self
            .stage
            .env
            .iter()
            .rev()
            .filter(|variable| variable.name == "PATH");
        let mut directories = path
            .flat_map(|variable| &variable.parts)
            .map(|part| part.text.as_str());
        let on_path = directories.find(|directory| own.iter().any(|word| directory.contains(word)));
        let named = self.value("VIRTUAL_ENV");
        place(
            &named
                .or_else(|| on_path.map(str::to_owned))
                .unwrap_or_default(),
        )
    }

    /// What the stage holds.
    pub fn finish(self, shipped: bool) -> Stage {
        Stage {
            shipped,
            pins: self.recorder.finish(),
            search_directories: self
                .written
                .into_iter()
                .flat_map(|(_, directories)| directories)
                .collect(),
            ..self.stage
        }
    }
}

/// An environment by its directory, however a command names it.
pub fn place(directory: &str) -> String {
    let directory = directory.trim_end_matches('/');
    let program = directory.rsplit('/').next().unwrap_or_default();
    let directory = match program.starts_with("python") || program.starts_with("pip") {
        true => directory
            .strip_suffix(program)
            .unwrap_or_default()
            .trim_end_matches('/'),
        false => directory,
    };
    directory
        .strip_suffix("/bin")
        .unwrap_or(directory)
        .to_owned()
}

/// The parts of a search path as it is written, with their places in it; a colon inside `${…}` divides nothing.
fn parts(raw: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut divided = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(c) = raw[at..].chars().next() {
        match c {
            '$' => {
                at += expression(&raw[at..]);
                continue;
            }
            ':' => {
                divided.push((start, &raw[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    divided.push((start, &raw[start..]));
    divided.into_iter()
}
