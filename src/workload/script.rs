//! Batch and shell scripts: `docker run` and `podman run`, Slurm's `--container-image` (pyxis), `apptainer exec`. Only plain commands are
//! read; a variable without a value in the script leaves the image unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::facts::{Container, GpuRequest, Mount, Variable, Workload};
use super::placement::{Placement, Toleration};
use super::text::Manifest;
use crate::launch::Overlay;
use crate::lint::{Script, commands};

/// Options of `docker run` without a value. All others have one, unless it is joined by `=`.
const FLAGS: [&str; 15] = [
    "-d",
    "--detach",
    "-i",
    "--interactive",
    "-t",
    "--tty",
    "-it",
    "-ti",
    "-dit",
    "--rm",
    "--init",
    "--privileged",
    "--read-only",
    "-P",
    "--no-healthcheck",
];
/// The same of `apptainer exec`.
const APPTAINER_FLAGS: [&str; 9] = [
    "--nv",
    "--nvccli",
    "--rocm",
    "--contain",
    "-c",
    "--containall",
    "-C",
    "--cleanenv",
    "-e",
];
const DIRECTIVE: &str = "#SBATCH";

/// Whether a text is a script: it begins with `#!`, and is for a shell.
pub(super) fn is_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && first.contains("sh")
}

/// A word of a command with its place.
struct Word {
    text: String,
    span: Range<usize>,
}

/// The containers that a script starts, as one workload.
pub(super) fn read(manifest: &Manifest) -> Option<Workload> {
    let text = manifest.text();
    let script = Script {
        text,
        offset: 0,
        escape: '\\',
        instruction: false,
    };
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut containers: Vec<Container> = directive(manifest).into_iter().collect();
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
        containers.extend(container(&words[assigned.len()..], manifest));
    }
    (!containers.is_empty()).then(|| Workload {
        file: manifest.name().to_owned(),
        kind: "script".to_owned(),
        containers,
        ..Workload::default()
    })
}

/// `#SBATCH --container-image=…`, which all steps of the job use.
fn directive(manifest: &Manifest) -> Option<Container> {
    let mut start = 0;
    for line in manifest.text().split_inclusive('\n') {
        let rest = line.strip_prefix(DIRECTIVE).map(str::trim);
        let image = rest.and_then(|it| it.strip_prefix("--container-image="));
        if let Some(image) = image {
            let at = start + line.find(image).unwrap_or_default();
            return Some(of_slurm("sbatch", image, at..at + image.len(), manifest));
        }
        start += line.len();
    }
    None
}

fn container(words: &[Word], manifest: &Manifest) -> Option<Container> {
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    match (text(0)?, text(1)) {
        ("docker" | "podman" | "nvidia-docker", Some("run")) => of_docker(&words[2..], manifest),
        ("srun", _) => {
            let option = "--container-image=";
            let word = words.iter().find(|word| word.text.starts_with(option))?;
            let image = &word.text[option.len()..];
            let end = word.span.end;
            Some(of_slurm(
                "srun",
                image,
                end.saturating_sub(image.len())..end,
                manifest,
            ))
        }
        ("apptainer" | "singularity", Some("exec" | "run")) => of_apptainer(&words[2..], manifest),
        _ => None,
    }
}

/// A container with what all have in common: nothing decides where it runs.
fn started(name: &str, image: &str, span: Range<usize>, manifest: &Manifest) -> Container {
    Container {
        name: name.to_owned(),
        image: image.to_owned(),
        location: manifest.range(span),
        placement: Arc::new(Placement {
            tolerations: vec![Toleration {
                key: None,
                value: None,
                effect: None,
            }],
            ..Placement::default()
        }),
        ..Container::default()
    }
}

/// Enroot writes `#` between registry and repository.
fn of_slurm(name: &str, image: &str, span: Range<usize>, manifest: &Manifest) -> Container {
    let image = image.trim_start_matches("docker://").replacen('#', "/", 1);
    let location = manifest.range(span.clone());
    Container {
        gpu: Some(GpuRequest {
            resource: "GPUs of the job".to_owned(),
            count: None,
            location,
        }),
        ..started(name, &image, span, manifest)
    }
}

fn of_docker(words: &[Word], manifest: &Manifest) -> Option<Container> {
    let (mut env, mut mounts, mut entrypoint) = (Vec::new(), Vec::new(), None);
    let (mut gpu, mut directory, mut has_shm) = (None, None, false);
    let mut rest = words;
    while let Some((word, after)) = rest
        .split_first()
        .filter(|(it, _)| it.text.starts_with('-'))
    {
        let (name, joined) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        rest = after;
        let value = match joined {
            Some(value) => value,
            None if FLAGS.contains(&name) => "",
            None => {
                let (value, after) = rest.split_first()?;
                rest = after;
                value.text.as_str()
            }
        };
        let location = manifest.range(word.span.clone());
        match name {
            "-e" | "--env" => {
                let (name, value) = value
                    .split_once('=')
                    .map_or((value, None), |(a, b)| (a, Some(b)));
                env.push(Variable {
                    name: name.to_owned(),
                    value: value.filter(|it| !it.contains('$')).map(str::to_owned),
                    location,
                });
            }
            "-v" | "--volume" => {
                let mut parts = value.split(':');
                let source = parts.next().unwrap_or_default();
                mounts.push(Mount {
                    path: parts
                        .next()
                        .unwrap_or(source)
                        .trim_end_matches('/')
                        .to_owned(),
                    volume: source.to_owned(),
                    kind: "bind".to_owned(),
                    location,
                });
            }
            "--entrypoint" => entrypoint = Some(vec![value.to_owned()]),
            "-w" | "--workdir" => directory = Some(value.to_owned()),
            "--shm-size" => has_shm = true,
            "--ipc" => has_shm |= value == "host",
            "--gpus" => {
                gpu = Some(GpuRequest {
                    resource: "--gpus".to_owned(),
                    count: value.parse().ok(),
                    location,
                });
            }
            _ => {}
        }
    }
    let (image, arguments) = rest.split_first()?;
    let args: Vec<String> = arguments.iter().map(|it| it.text.clone()).collect();
    let known = env.iter();
    let known = known.filter_map(|it| Some((it.name.clone(), it.value.clone()?)));
    Some(Container {
        overlay: Overlay {
            command: entrypoint,
            args: Some(args).filter(|it| !it.is_empty()),
            env: known.collect(),
            unset: BTreeSet::new(),
            working_directory: directory,
            volumes: mounts.iter().map(|it| it.path.clone()).collect(),
        },
        command_location: arguments.first().map(|it| manifest.range(it.span.clone())),
        env,
        mounts,
        gpu,
        default_shm: !has_shm,
        ..started("docker run", &image.text, image.span.clone(), manifest)
    })
}

/// `apptainer exec --nv docker://IMAGE COMMAND`; other sources than a registry are not read.
fn of_apptainer(words: &[Word], manifest: &Manifest) -> Option<Container> {
    let (mut rest, mut nv) = (words, None);
    while let Some((word, after)) = rest
        .split_first()
        .filter(|(it, _)| it.text.starts_with('-'))
    {
        rest = after;
        if word.text == "--nv" || word.text == "--nvccli" {
            nv = Some(GpuRequest {
                resource: word.text.clone(),
                count: None,
                location: manifest.range(word.span.clone()),
            });
        }
        if !APPTAINER_FLAGS.contains(&word.text.as_str()) && !word.text.contains('=') {
            rest = rest.get(1..)?;
        }
    }
    let (image, arguments) = rest.split_first()?;
    let reference = image.text.strip_prefix("docker://")?;
    let command: Vec<String> = arguments.iter().map(|it| it.text.clone()).collect();
    Some(Container {
        overlay: Overlay {
            command: Some(command).filter(|it| !it.is_empty()),
            ..Overlay::default()
        },
        command_location: arguments.first().map(|it| manifest.range(it.span.clone())),
        gpu: nv,
        ..started("apptainer", reference, image.span.clone(), manifest)
    })
}
