//! Repositories that commands clone, and packages that are built from their directories.

use super::super::facts::Pin;
use super::super::install::{Argument, Project};
use super::super::source_builds::{is_built_from, without_git};
use super::copies::{Clone, absolute};
use super::session::Session;
use super::state::{MAX_PARTS, State};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_base::version::requirement::normalized;

/// Options of `git clone` with a value in the next word.
const VALUES: &[&str] = &[
    "--branch",
    "--config",
    "--depth",
    "--filter",
    "--jobs",
    "--origin",
    "--reference",
    "--shallow-since",
    "-b",
    "-c",
    "-j",
    "-o",
];

impl State<'_> {
    /// Handles `git clone ADDRESS [DIRECTORY]`, and commands that choose another commit.
    pub fn clone_repository(&mut self, words: &[Argument], session: &Session) {
        if let Some(directory) = moved(words) {
            let directory = absolute(self.directory(session), directory);
            let clones = self.clones.iter_mut().rev();
            let mut inside = clones.filter(|it| it.below(&directory).is_some());
            if let Some(clone) = inside.next() {
                clone.address = format!("{}@", clone.address);
            }
            return;
        }
        let mut words = words.iter().filter(|it| it.known);
        let is_clone = words.next().is_some_and(|it| name_of(&it.text) == "git")
            && words.next().is_some_and(|it| it.text == "clone");
        let (mut branch, mut places) = (None, Vec::new());
        while let Some(word) = words.next() {
            let (name, joined) = word.text.split_once('=').unwrap_or((&word.text, ""));
            if !word.text.starts_with('-') {
                places.push(word.text.as_str());
                continue;
            }
            let value = match VALUES.contains(&word.text.as_str()) {
                true => words.next().map_or("", |it| it.text.as_str()),
                false => joined,
            };
            if matches!(name, "-b" | "--branch") {
                branch = Some(value);
            }
        }
        let Some(address) = places.first().filter(|_| is_clone) else {
            return;
        };
        let address = address.trim_end_matches('/');
        let own = name_of(address).trim_end_matches(".git");
        let directory = places.get(1).copied().unwrap_or(own);
        let branch = branch.map(|it| format!("@{it}")).unwrap_or_default();
        if self.clones.len() < MAX_PARTS {
            self.clones.push(Clone {
                directory: absolute(self.directory(session), directory),
                address: format!("{address}{branch}"),
            });
        }
    }

    /// The package that a command builds from the directory of a repository, if it is one that needs PyTorch or nvcc.
    pub fn cloned(&self, package: &Argument, session: &Session) -> Result<Option<Pin>> {
        let path = &package.text;
        let is_below = path.contains('/') && !path.contains([':', '@', '=', '<', '>']);
        let project = Project::of(path);
        let project = project.or_else(|| Project::of(&format!("./{path}")).filter(|_| is_below));
        let Some(project) = project.filter(|_| package.known) else {
            return Ok(None);
        };
        let directory = absolute(self.directory(session), &project.path);
        let clones = self.clones.iter().rev();
        let mut inside = clones.filter_map(|it| Some((it, it.below(&directory)?)));
        let Some((clone, below)) = inside.next() else {
            return Ok(None);
        };
        let subdirectory = match below {
            "" => String::new(),
            below => format!("#subdirectory={below}"),
        };
        let address = format!("{}{subdirectory}", clone.address);
        let name = match below {
            "" => name_of(without_git(&clone.address)),
            below => name_of(below),
        };
        let pin = Pin {
            name: normalized(name),
            manager: "pip".to_owned(),
            specifier: format!("@ git+{address}"),
            text: match project.path.trim_end_matches('/') {
                "." => address.trim_end_matches('@').to_owned(),
                path => path.to_owned(),
            },
            ..Pin::default()
        };
        Ok(is_built_from(&pin)?.then_some(pin))
    }
}

/// The directory in which a command of Git may leave the newest commit: `git checkout v1.0`, `git -C DIRECTORY reset --hard 22.02`.
fn moved(words: &[Argument]) -> Option<&str> {
    let text = |at: usize| words.get(at).map_or("", |it| it.text.as_str());
    let (directory, verb) = match (name_of(text(0)), text(1)) {
        ("git", "-C") => (text(2), text(3)),
        ("git", verb) => ("", verb),
        _ => return None,
    };
    matches!(verb, "checkout" | "switch" | "reset").then_some(directory)
}
