//! Batch and shell scripts: `docker run` and `podman run`, Slurm's `--container-image` (pyxis), `apptainer exec`. Only plain commands are
//! read; a variable without a value in the script leaves the image unknown.

mod apptainer;
mod container;
mod docker;
mod not_understood;
mod options;
mod program;
mod slurm;

use std::collections::BTreeMap;

use super::facts::{Container, Workload};
use super::kinds::Kinds;
use super::text::Manifest;
use crate::lint::{Argument, Script, commands};
use program::program;

/// The maximum nesting of here-documents.
const MAX_DEPTH: usize = 4;

/// Whether a text is a script: it begins with `#!`, and is for a shell.
pub(super) fn is_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && first.contains("sh")
}

/// The containers that a script starts, as one workload; `None` if it starts none, and nothing in it looks like one.
pub(super) fn read(manifest: &Manifest, kinds: &Kinds) -> Option<Workload> {
    let job = slurm::Job::of(manifest);
    let mut reader = Reader {
        containers: job.container(manifest).into_iter().collect(),
        manifest,
        job,
        values: BTreeMap::new(),
        others: Vec::new(),
    };
    reader.script(&Script::new(manifest.text(), 0), 0);
    let Reader {
        mut containers,
        others,
        ..
    } = reader;
    let steps = containers.iter_mut().filter(|it| slurm::is_step(it));
    steps.for_each(|it| {
        it.overlay
            .other_variables
            .clone_from(&kinds.slurm_variables)
    });
    let not_understood = not_understood::evidence(&others, &containers, manifest, kinds);
    let is_empty = containers.is_empty() && not_understood.is_empty();
    (!is_empty).then(|| Workload {
        file: manifest.name().to_owned(),
        kind: "script".to_owned(),
        containers,
        not_understood,
        ..Workload::default()
    })
}

/// The state while a script is read.
struct Reader<'m> {
    manifest: &'m Manifest<'m>,
    job: slurm::Job,
    /// The variables of the script.
    values: BTreeMap<String, String>,
    containers: Vec<Container>,
    /// Commands that start no container.
    others: Vec<Vec<Argument>>,
}

impl Reader<'_> {
    /// Reads a script, and the here-documents in it, which may be scripts for another shell or machine.
    fn script(&mut self, script: &Script, depth: usize) {
        let parsed = script.parse().ok().filter(|_| depth < MAX_DEPTH);
        let Some(list) = parsed else {
            return self.others.push(vec![Argument {
                known: false,
                text: script.text.to_string(),
                span: script.span(0..script.text.len()),
            }]);
        };
        for command in commands(&list) {
            let values = |name: &str| self.values.get(name).cloned();
            self.command(script.arguments(&command, &values));
            if let Some(body) = script.here_document(&command) {
                self.script(&body, depth + 1);
            }
        }
    }

    fn command(&mut self, words: Vec<Argument>) {
        if let Some(assigned) = program::assignments(&words) {
            self.values.extend(assigned);
            let runs = |it: &Argument| it.text.contains("$(") || it.text.contains('`');
            if words.iter().any(runs) {
                self.others.push(words);
            }
            return;
        }
        match start(program(&words), &self.job, self.manifest) {
            Some(container) => self.containers.push(container),
            None => self.others.push(words),
        }
    }
}

/// The container that a command starts, if it is one of those that are read.
fn start(words: &[Argument], job: &slurm::Job, manifest: &Manifest) -> Option<Container> {
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    let name = text(0).unwrap_or_default();
    match (name.rsplit('/').next().unwrap_or(name), text(1)) {
        ("docker" | "podman" | "nvidia-docker", Some("run")) => {
            docker::container(&words[2..], manifest)
        }
        ("srun", _) => job.step(&words[1..], manifest),
        ("apptainer" | "singularity", Some(verb @ ("exec" | "run"))) => {
            apptainer::container(verb, &words[2..], manifest)
        }
        _ => None,
    }
}
