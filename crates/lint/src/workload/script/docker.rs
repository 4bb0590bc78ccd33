//! `docker run` and `podman run`.

use std::collections::{BTreeMap, BTreeSet};

use super::container::{bind, command, started};
use super::options::Options;
use crate::lint::Argument;
use crate::workload::facts::{Container, GpuRequest, Variable};
use crate::workload::text::Manifest;
use imgcheck_launch::{Overlay, known_user};

/// Options without a value.
const FLAGS: [&str; 12] = [
    "-d",
    "--detach",
    "-i",
    "--interactive",
    "-t",
    "--tty",
    "--rm",
    "--init",
    "--privileged",
    "--read-only",
    "-P",
    "--no-healthcheck",
];

/// Options that bring files into the container in ways that are not read.
const BRINGS_FILES: [&str; 3] = ["--mount", "--tmpfs", "--volumes-from"];

/// `[OPTION …] IMAGE [COMMAND …]`.
pub(super) fn container(words: &[Argument], manifest: &Manifest) -> Option<Container> {
    let (mut env, mut mounts, mut entrypoint) = (Vec::new(), Vec::new(), None);
    let (mut gpu, mut directory, mut user, mut has_shm) = (None, None, None, false);
    let (mut has_files, mut has_variables) = (false, false);
    let mut options = Options {
        rest: words,
        flags: &FLAGS,
    };
    for option in options.by_ref() {
        let (value, span) = (option.value, option.span);
        match option.name {
            "-e" | "--env" => {
                let (name, value) = value
                    .split_once('=')
                    .map_or((value, None), |(name, value)| (name, Some(value)));
                env.push(Variable {
                    name: name.to_owned(),
                    value: value.filter(|it| !it.contains('$')).map(str::to_owned),
                    location: manifest.range(span),
                });
            }
            "--env-file" => has_variables = true,
            name if BRINGS_FILES.contains(&name) => has_files = true,
            "-v" | "--volume" => mounts.push(bind(value, span, manifest)),
            "--entrypoint" => entrypoint = Some(vec![value.to_owned()]),
            "-w" | "--workdir" => directory = Some(value.to_owned()),
            "-u" | "--user" => user = Some(known_user(value.to_owned())),
            "--shm-size" => has_shm = true,
            "--ipc" => has_shm |= value == "host",
            "--gpus" => {
                gpu = Some(GpuRequest {
                    resource: "--gpus".to_owned(),
                    count: value.parse().ok(),
                    location: manifest.range(span),
                });
            }
            _ => {}
        }
    }
    let paths = mounts.iter().map(|it| &it.path).chain(&directory);
    has_files |= paths.into_iter().any(|it| it.contains('$'));
    let (image, arguments) = options.rest.split_first()?;
    let known = env.iter();
    let known = known.filter_map(|it: &Variable| Some((it.name.clone(), it.value.clone()?)));
    let unknown = env.iter().filter(|it| it.value.is_none());
    let of_file = has_variables.then(|| "*".to_owned());
    let unknown: Vec<String> = unknown.map(|it| it.name.clone()).chain(of_file).collect();
    Some(Container {
        overlay: Overlay {
            other_volumes: has_files,
            other_groups: true,
            read_only: false,
            programs_known: false,
            other_search_path: unknown.iter().any(|it| it == "*" || it == "PATH"),
            other_variables: unknown,
            command: entrypoint,
            args: command(arguments),
            env: known.collect(),
            unset: BTreeSet::new(),
            working_directory: directory,
            user,
            volumes: mounts.iter().map(|it| it.path.clone()).collect(),
            config_maps: BTreeMap::new(),
        },
        command_location: arguments.first().map(|it| manifest.range(it.span.clone())),
        env,
        mounts,
        gpu,
        default_shm: !has_shm,
        ..started("docker run", &image.text, image.span.clone(), manifest)
    })
}
