//! `apptainer exec` and `apptainer run` of images in a registry.

use super::container::{command, started};
use super::options::Options;
use crate::lint::Argument;
use crate::workload::facts::{Container, GpuRequest};
use crate::workload::text::Manifest;
use imgcheck_launch::Overlay;

/// Options without a value.
const FLAGS: [&str; 21] = [
    "--nv",
    "--nvccli",
    "--rocm",
    "--contain",
    "-c",
    "--containall",
    "-C",
    "--cleanenv",
    "-e",
    "--compat",
    "--fakeroot",
    "-f",
    "--ipc",
    "-i",
    "--no-home",
    "--pid",
    "-p",
    "--userns",
    "-u",
    "--writable",
    "--writable-tmpfs",
];

/// `[OPTION …] docker://IMAGE [COMMAND …]`; other sources than a registry are not read. `exec` replaces what the image starts, `run` its
/// arguments.
pub(super) fn container(verb: &str, words: &[Argument], manifest: &Manifest) -> Option<Container> {
    let mut options = Options {
        rest: words,
        flags: &FLAGS,
    };
    let (mut gpu, mut directory) = (None, None);
    for option in options.by_ref() {
        match option.name {
            "--nv" | "--nvccli" => {
                gpu = Some(GpuRequest {
                    resource: option.name.to_owned(),
                    count: None,
                    location: manifest.range(option.span),
                });
            }
            "--pwd" | "--cwd" => directory = Some(option.value.to_owned()),
            _ => {}
        }
    }
    let (image, arguments) = options.rest.split_first()?;
    let reference = image.text.strip_prefix("docker://")?;
    let words = command(arguments);
    let (replaced, args) = match verb {
        "run" => (None, words),
        _ => (words, None),
    };
    Some(Container {
        overlay: Overlay {
            other_volumes: true,
            command: replaced,
            args,
            working_directory: directory,
            // It runs as the user of the host.
            user: Some(String::new()),
            ..Overlay::default()
        },
        command_location: arguments.first().map(|it| manifest.range(it.span.clone())),
        gpu,
        ..started("apptainer", reference, image.span.clone(), manifest)
    })
}
