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

/// A variable that is about to be set.
pub struct Setting {
    variable: Variable,
    /// Whether its whole value is known.
    known: bool,
    /// Whether it goes on from the value that it had.
    keeps: bool,
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

    /// A variable that a line sets, expanded with what is known before the line; `start` is where its value begins in the file.
    pub fn variable(
        &self,
        text: &Text<'_>,
        script: &Script<'_>,
        (name, raw, start): (&str, &str, usize),
    ) -> Setting {
        let lookup = |name: &str| self.value(name);
        let expanded = unquote(raw, script.escape, &lookup, &|_| 0);
        let parts = parts(raw).take(4 * MAX_PARTS).map(|(at, part)| {
            let inner = part.trim_matches(['"', '\'']);
            let from = start + at + (part.len() - part.trim_start_matches(['"', '\'']).len());
            SearchDirectory {
                text: unquote(inner, script.escape, &lookup, &|_| 0).text,
                location: text.location(from..from + inner.len()),
            }
        });
        let parts = parts.filter(|part| !part.text.is_empty());
        Setting {
            variable: Variable {
                name: name.to_owned(),
                value: expanded.text,
                replaced: false,
                parts: parts.take(MAX_PARTS).collect(),
                location: text.location(start..start + raw.len()),
            },
            known: expanded.known,
            keeps: raw.contains(&format!("${name}")) || raw.contains(&format!("${{{name}")),
        }
    }

    /// Sets a variable.
    pub fn set(&mut self, setting: Setting) {
        let Setting {
            variable,
            known,
            keeps,
        } = setting;
        if !keeps {
            let earlier = self.stage.env.iter_mut();
            let earlier = earlier.filter(|earlier| earlier.name == variable.name);
            earlier.for_each(|earlier| earlier.replaced = true);
        }
        match known {
            true => drop(
                self.env
                    .insert(variable.name.clone(), variable.value.clone()),
            ),
            false => drop(self.env.remove(&variable.name)),
        }
        self.stage.env.push(variable);
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
