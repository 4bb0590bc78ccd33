//! Batch and shell scripts: `docker run` and `podman run`, Slurm's `--container-image` (pyxis), `apptainer exec`. Only plain commands are
//! read; a variable without a value in the script leaves the image unknown.

mod apptainer;
mod container;
mod docker;
mod options;
mod slurm;

use std::collections::BTreeMap;

use super::facts::{Container, Workload};
use super::text::Manifest;
use crate::lint::{Script, commands};
use options::Word;

/// Whether a text is a script: it begins with `#!`, and is for a shell.
pub(super) fn is_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && first.contains("sh")
}

/// The containers that a script starts, as one workload.
pub(super) fn read(manifest: &Manifest) -> Option<Workload> {
    let script = Script {
        text: manifest.text(),
        offset: 0,
        escape: '\\',
        instruction: false,
    };
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let job = slurm::Job::of(manifest);
    let mut containers: Vec<Container> = job.container(manifest).into_iter().collect();
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
        let assigned = words.iter().map_while(|word| word.text.split_once('='));
        let assigned: Vec<(String, String)> = assigned
            .filter(|(name, _)| !name.starts_with('-'))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if assigned.len() == words.len() {
            values.extend(assigned);
            continue;
        }
        let words = &words[assigned.len()..];
        let text = |at: usize| words.get(at).map(|word| word.text.as_str());
        containers.extend(match (text(0).unwrap_or_default(), text(1)) {
            ("docker" | "podman" | "nvidia-docker", Some("run")) => {
                docker::container(&words[2..], manifest)
            }
            ("srun", _) => job.step(&words[1..], manifest),
            ("apptainer" | "singularity", Some(verb @ ("exec" | "run"))) => {
                apptainer::container(verb, &words[2..], manifest)
            }
            _ => None,
        });
    }
    (!containers.is_empty()).then(|| Workload {
        file: manifest.name().to_owned(),
        kind: "script".to_owned(),
        containers,
        ..Workload::default()
    })
}
