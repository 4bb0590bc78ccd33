//! The state of a stage while its instructions are read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::facts::{Base, SearchDirectory, Stage, Variable};
use super::super::install::{Argument, shell_environment};
use super::super::script::Script;
use super::super::stage::Recorder;
use super::super::text::Text;
use super::super::variables::{expression, unquote};
use super::copies::{Clone, Copy, place};
use super::programs::Programs;

/// The maximum number of directories in one search path.
pub const MAX_PARTS: usize = 64;

/// A stage that is being read.
pub struct State<'c> {
    /// The stage read so far.
    pub stage: Stage,
    /// The installed packages.
    pub recorder: Recorder<'c>,
    /// The parent stage.
    pub parent: Option<usize>,
    /// Stages that it copies files from.
    pub takes: Vec<usize>,
    /// Build arguments with a known value.
    pub arguments: BTreeMap<String, String>,
    /// Files copied from the build context.
    pub copies: Vec<Copy>,
    /// Where files are that come from other stages.
    pub foreign: Vec<String>,
    /// Repositories that commands cloned.
    pub clones: Vec<Clone>,
    /// The working directory; that of an unknown base image counts as `/`.
    pub directory: String,
    /// Whether `SHELL` sets a shell with a different syntax.
    pub foreign_shell: bool,
    /// The Python environment in which `SHELL` runs commands.
    pub shell_environment: Option<String>,
    /// Whether pip may not be that of the distribution as it is, or is judged.
    pub has_own_pip: bool,
    /// The file or variable that may name an index of pip or uv, and that imgcheck cannot read.
    pub index_from: Option<String>,
    /// Names of arguments before the first `FROM` that the stage does not repeat.
    pub unscoped: BTreeSet<String>,
    /// Whether there may be a virtual environment that uv finds.
    pub has_environment: bool,
    /// Whether packages of the distribution are installed that are not known.
    pub has_unknown_packages: bool,
    /// Whether the stage may have files that its base image lacks.
    pub has_files: bool,
    /// The programs of `ENTRYPOINT` and `CMD`.
    pub programs: Programs,
    /// Configuration files of the dynamic loader that were written, with their directories.
    pub written: Vec<(String, Vec<SearchDirectory>)>,
    env: BTreeMap<String, String>,
}

/// An assignment of a variable.
pub struct Setting {
    variable: Variable,
    /// Whether its value is completely known.
    known: bool,
    /// Whether the new value contains the old one.
    keeps: bool,
}

/// Variables that BuildKit predefines, on the most common platform.
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
    /// A stage on top of an image.
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
            foreign: Vec::new(),
            clones: Vec::new(),
            directory: "/".to_owned(),
            foreign_shell: false,
            shell_environment: None,
            has_own_pip: false,
            index_from: None,
            unscoped: BTreeSet::new(),
            has_environment: false,
            has_unknown_packages: false,
            has_files: false,
            programs: Programs::default(),
            written: Vec::new(),
            env: BTreeMap::new(),
        }
    }

    /// A stage on top of this one, with its packages, variables, shell and, as in BuildKit, arguments (Docker, "Build variables", "Scoping").
    pub fn child(&self) -> Self {
        let mut child = State::new(self.recorder.clone(), self.stage.base.clone());
        child.stage.pythons.clone_from(&self.stage.pythons);
        State {
            env: self.env.clone(),
            foreign_shell: self.foreign_shell,
            shell_environment: self.shell_environment.clone(),
            has_own_pip: self.has_own_pip,
            index_from: self.index_from.clone(),
            unscoped: self.unscoped.clone(),
            has_environment: self.has_environment,
            has_unknown_packages: self.has_unknown_packages,
            has_files: self.has_files,
            programs: self.programs.clone(),
            arguments: self.arguments.clone(),
            copies: self.copies.clone(),
            foreign: self.foreign.clone(),
            clones: self.clones.clone(),
            directory: self.directory.clone(),
            ..child
        }
    }

    /// The value of a variable or argument.
    pub fn value(&self, name: &str) -> Option<String> {
        let set = self.env.get(name).or_else(|| self.arguments.get(name));
        set.cloned().or_else(|| predefined(name))
    }

    /// An assignment, expanded with the values before its line; the range is that of the value in the instruction.
    pub fn variable(
        &self,
        text: &Text<'_>,
        (instruction, escape): (&Script<'_>, char),
        (name, value): (&str, Range<usize>),
    ) -> Setting {
        let raw = instruction.written(value.clone());
        let location = |range| text.location(instruction.span(range));
        let lookup = |name: &str| self.value(name);
        let expanded = unquote(raw, escape, &lookup);
        let parts = parts(raw).take(4 * MAX_PARTS).map(|(at, part)| {
            let inner = part.trim_matches(['"', '\'']);
            let from = value.start + at + (part.len() - part.trim_start_matches(['"', '\'']).len());
            SearchDirectory {
                text: unquote(inner, escape, &lookup).text,
                location: location(from..from + inner.len()),
            }
        });
        Setting {
            variable: Variable {
                name: name.to_owned(),
                value: expanded.text,
                replaced: false,
                parts: parts.take(MAX_PARTS).collect(),
                location: location(value.clone()),
            },
            known: expanded.known,
            keeps: raw.contains(&format!("${name}")) || raw.contains(&format!("${{{name}")),
        }
    }

    pub fn set(&mut self, setting: Setting) {
        let Setting {
            variable,
            known,
            keeps,
        } = setting;
        self.system_pip_variable(&variable.name, &variable.value);
        self.unscoped.remove(&variable.name);
        if !known {
            self.index_variable(&variable.name);
        }
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

    /// Sets a variable for all later commands; it is not a part of the image.
    pub fn configure(&mut self, name: &str, value: Option<String>) {
        match value {
            Some(value) => drop(self.env.insert(name.to_owned(), value)),
            None => drop(self.env.remove(name)),
        }
    }

    /// `SHELL`: what later commands in the shell form run in.
    pub fn shell(&mut self, words: &[Argument]) {
        let program = words.first().map(|word| word.text.to_ascii_lowercase());
        let program = program.unwrap_or_default();
        self.foreign_shell = ["cmd", "powershell", "pwsh"]
            .iter()
            .any(|name| program.contains(name));
        self.shell_environment = shell_environment(words);
        self.has_own_pip |= self.foreign_shell || self.shell_environment.is_some();
    }

    /// The Python environment of commands without a path; empty for the default one.
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

    /// The stage. One that others start from (`is_base`) gets from them what it lacks.
    pub fn finish(self, shipped: bool, is_base: bool) -> Stage {
        Stage {
            shipped,
            removed: self.recorder.removed(),
            system_python: self.uses_system_python(),
            plain_system: !is_base && !self.has_own_pip && !self.has_unknown_packages,
            program: self.programs.started().filter(|_| !is_base),
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

/// The stages, with those marked that become an image: the last one, those that no other stage uses, and their parents.
pub fn finish(states: Vec<State<'_>>) -> Vec<Stage> {
    let last = states.len().saturating_sub(1);
    let mut used = vec![false; states.len()];
    for state in &states {
        for other in state.takes.iter().chain(&state.parent) {
            if let Some(used) = used.get_mut(*other) {
                *used = true;
            }
        }
    }
    let mut shipped: Vec<bool> = used.iter().map(|used| !used).collect();
    if let Some(shipped) = shipped.get_mut(last) {
        *shipped = true;
    }
    for (index, state) in states.iter().enumerate().rev() {
        if let Some(parent) = state.parent.filter(|_| shipped[index]) {
            shipped[parent] = true;
        }
    }
    let bases: BTreeSet<usize> = states.iter().filter_map(|it| it.parent).collect();
    let stages = states.into_iter().zip(shipped).enumerate();
    stages
        .map(|(index, (state, shipped))| state.finish(shipped, bases.contains(&index)))
        .collect()
}

/// The parts of a search path as written, with their offsets; colons inside `${…}` do not separate.
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
