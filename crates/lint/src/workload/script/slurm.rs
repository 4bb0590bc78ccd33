//! Slurm jobs and steps in containers, by the options of the plugin pyxis (NVIDIA/pyxis, "Usage").

use std::ops::Range;

use super::container::{bind, command, started};
use super::options::{CommandOption, Options};
use crate::lint::Argument;
use crate::workload::facts::{Container, GpuRequest, Mount};
use crate::workload::text::Manifest;
use imgcheck_launch::Overlay;

const DIRECTIVE: &str = "#SBATCH";

/// Options of srun and sbatch without a value, and of pyxis (`srun --help`). A value that may be left out is joined by `=`.
const FLAGS: [&str; 55] = [
    "--compress",
    "--container-entrypoint",
    "--container-mount-home",
    "--container-readonly",
    "--container-remap-root",
    "--container-writable",
    "--contiguous",
    "--disable-status",
    "-X",
    "--exact",
    "--exclusive",
    "--get-user-env",
    "--hold",
    "-H",
    "--ignore-pbs",
    "--immediate",
    "-I",
    "--interactive",
    "--kill-on-bad-exit",
    "-K",
    "--label",
    "-l",
    "--multi-prog",
    "--nice",
    "--no-allocate",
    "-Z",
    "--no-container-entrypoint",
    "--no-container-mount-home",
    "--no-container-remap-root",
    "--no-kill",
    "-k",
    "--no-requeue",
    "--overcommit",
    "-O",
    "--overlap",
    "--oversubscribe",
    "-s",
    "--parsable",
    "--preserve-env",
    "-E",
    "--propagate",
    "--pty",
    "--quiet",
    "-Q",
    "--quit-on-interrupt",
    "--reboot",
    "--requeue",
    "--resv-ports",
    "--send-libs",
    "--spread-job",
    "--unbuffered",
    "-u",
    "--use-min-nodes",
    "--verbose",
    "-v",
];

/// What the options of a job or of a step say about its container.
#[derive(Default, Clone)]
pub(super) struct Job {
    image: Option<(String, Range<usize>)>,
    mounts: Vec<(String, Range<usize>)>,
    directory: Option<String>,
    /// Whether the step starts with the entrypoint of the image; pyxis does not, unless it is told to.
    runs_entrypoint: bool,
    gpu: Option<(GpuCount, Range<usize>)>,
}

/// How many GPUs; `None` if the option does not say a plain number.
type GpuCount = Option<u64>;

impl Job {
    /// What the `#SBATCH` lines of a script say.
    pub fn of(manifest: &Manifest) -> Self {
        let (mut job, mut start) = (Job::default(), 0);
        for line in manifest.text().split_inclusive('\n') {
            if let Some(rest) = line.strip_prefix(DIRECTIVE) {
                let words = words(rest, start + DIRECTIVE.len());
                let options = Options {
                    rest: &words,
                    flags: &FLAGS,
                };
                options.for_each(|option| job.set(option));
            }
            start += line.len();
        }
        job
    }

    fn set(&mut self, option: CommandOption) {
        let value = option.value.to_owned();
        let value_span = option.value_span();
        let span = option.span;
        match option.name {
            "--container-image" => self.image = Some((value, value_span)),
            "--container-mounts" => {
                let each = value.split(',');
                let each = each.map(|it| (it.to_owned(), span.clone()));
                self.mounts = each.collect();
            }
            "--container-workdir" => self.directory = Some(value),
            "--container-entrypoint" => self.runs_entrypoint = true,
            "--gpus" | "-G" | "--gpus-per-node" | "--gpus-per-task" => {
                self.gpu = Some((number(&value), span));
            }
            "--gres" => {
                let mut resources = value.split(',');
                let gpu = resources.find(|it| it.split(':').next() == Some("gpu"));
                self.gpu = gpu.map(|it| (number(it), span)).or(self.gpu.take());
            }
            _ => {}
        }
    }

    /// The container in which the batch script itself runs.
    pub fn container(&self, manifest: &Manifest) -> Option<Container> {
        self.started("sbatch", manifest)
    }

    /// The container of `srun [OPTION …] COMMAND …`, if it names an image.
    pub fn step(&self, words: &[Argument], manifest: &Manifest) -> Option<Container> {
        let mut step = Job {
            gpu: self.gpu.clone(),
            ..Job::default()
        };
        let mut options = Options {
            rest: words,
            flags: &FLAGS,
        };
        options.by_ref().for_each(|option| step.set(option));
        let mut container = step.started("srun", manifest)?;
        let words = options.rest;
        let overlay = &mut container.overlay;
        match step.runs_entrypoint {
            true => overlay.args = command(words),
            false => overlay.command = command(words),
        }
        container.command_location = words.first().map(|it| manifest.range(it.span.clone()));
        Some(container)
    }

    /// Enroot writes `#` between registry and repository.
    fn started(&self, name: &str, manifest: &Manifest) -> Option<Container> {
        let (image, span) = self.image.clone()?;
        let image = image.trim_start_matches("docker://").replacen('#', "/", 1);
        let mounts = self.mounts.iter();
        let mounts: Vec<Mount> = mounts
            .map(|(text, span)| bind(text, span.clone(), manifest))
            .collect();
        let gpu = self.gpu.as_ref().map(|(count, span)| GpuRequest {
            resource: "GPUs of the job".to_owned(),
            count: *count,
            location: manifest.range(span.clone()),
        });
        Some(Container {
            overlay: Overlay {
                other_volumes: true,
                // What an administrator mounts are data and home directories. The PATH of the image counts more than that of the job.
                programs_known: self.mounts.iter().all(|(text, _)| !text.contains('$')),
                working_directory: self.directory.clone(),
                // Enroot does not look up the user of the image.
                user: Some(String::new()),
                volumes: mounts.iter().map(|it| it.path.clone()).collect(),
                ..Overlay::default()
            },
            mounts,
            gpu,
            ..started(name, &image, span, manifest)
        })
    }
}

/// The number at the end of `gpu:h100:4` or `4`; an option with a type only asks for one, several types for an unknown number.
fn number(text: &str) -> GpuCount {
    let last = text.rsplit(':').next().unwrap_or_default();
    match last
        .split_once('(')
        .map_or(last, |(count, _)| count)
        .parse()
    {
        Ok(count) => Some(count),
        Err(_) => (!text.contains(',')).then_some(1),
    }
}

/// The words of a line until a comment. Slurm removes quotes.
fn words(line: &str, offset: usize) -> Vec<Argument> {
    let mut words = Vec::new();
    let mut at = 0;
    for text in line.split_ascii_whitespace() {
        if text.starts_with('#') {
            break;
        }
        let start = at + line[at..].find(text).unwrap_or_default();
        at = start + text.len();
        words.push(Argument {
            known: true,
            text: text.replace(['"', '\''], ""),
            span: offset + start..offset + at,
        });
    }
    words
}
