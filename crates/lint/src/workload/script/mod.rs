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
use crate::lint::{Script, commands};
use options::Word;
use program::program;

/// Whether a text is a script: it begins with `#!`, and is for a shell.
pub(super) fn is_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && first.contains("sh")
}

/// The containers that a script starts, as one workload; `None` if it starts none, and nothing in it looks like one.
pub(super) fn read(manifest: &Manifest, kinds: &Kinds) -> Option<Workload> {
    let script = Script {
        text: manifest.text(),
        offset: 0,
        escape: '\\',
        instruction: false,
    };
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let job = slurm::Job::of(manifest);
    let mut containers: Vec<Container> = job.container(manifest).into_iter().collect();
    let mut others: Vec<Vec<Word>> = Vec::new();
    for command in commands(&script) {
        let value = |raw: &_| script.value(raw, &|name| values.get(name).cloned());
        let words: Vec<Word> = command
            .words
            .iter()
            .map(|word| Word {
                text: value(word).text,
                span: word.span.clone(),
            })
            .collect();
        if let Some(assigned) = program::assignments(&words) {
            values.extend(assigned);
            let runs = |it: &Word| it.text.contains("$(") || it.text.contains('`');
            if words.iter().any(runs) {
                others.push(words);
            }
            continue;
        }
        match start(program(&words), &job, manifest) {
            Some(container) => containers.push(container),
            None => others.push(words),
        }
    }
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

/// The container that a command starts, if it is one of those that are read.
fn start(words: &[Word], job: &slurm::Job, manifest: &Manifest) -> Option<Container> {
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
