//! Slurm jobs and steps in containers, by the options of the plugin pyxis (NVIDIA/pyxis, "Usage").

use std::ops::Range;
use std::sync::Arc;

use super::container::{bind, command, started};
use super::options::{CommandOption, Options};
use crate::lint::Argument;
use crate::workload::facts::{Container, GpuRequest, Mount};
use crate::workload::placement::Placement;
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

/// The names of the containers of a batch script and of its steps.
const BATCH: &str = "sbatch";
const STEP: &str = "srun";

/// Whether Slurm starts a container.
pub(super) fn is_step(container: &Container) -> bool {
    [BATCH, STEP].contains(&container.name.as_str())
}

/// What the options of a job or of a step say about its container.
#[derive(Default, Clone)]
pub(super) struct Job {
    image: Option<(String, Range<usize>)>,
    mounts: Vec<(String, Range<usize>)>,
    directory: Option<String>,
    /// Whether the step starts with the entrypoint of the image; pyxis does not, unless it is told to.
    runs_entrypoint: bool,
    gpu: Option<(GpuCount, Range<usize>)>,
    /// The type of the GPUs: `h100` of `gpu:h100:8`.
    gpu_type: Option<String>,
    /// Alternatives of features that nodes have.
    constraint: Vec<Vec<String>>,
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
                self.gpu_type = gpu_type(&value);
                self.gpu = Some((number(&value), span));
            }
            "--gres" => {
                let mut resources = value.split(',');
                let gpu = resources.find(|it| it.split(':').next() == Some("gpu"));
                if let Some(gpu) = gpu {
                    self.gpu_type = gpu.strip_prefix("gpu:").and_then(gpu_type);
                    self.gpu = Some((number(gpu), span));
                }
            }
            "--constraint" | "-C" => self.constraint = features(&value),
            _ => {}
        }
    }

    /// The container in which the batch script itself runs.
    pub fn container(&self, manifest: &Manifest) -> Option<Container> {
        self.started(BATCH, manifest)
    }

    /// The container of `srun [OPTION …] COMMAND …`, if it names an image.
    pub fn step(&self, words: &[Argument], manifest: &Manifest) -> Option<Container> {
        let mut step = Job {
            gpu: self.gpu.clone(),
            gpu_type: self.gpu_type.clone(),
            constraint: self.constraint.clone(),
            ..Job::default()
        };
        let mut options = Options {
            rest: words,
            flags: &FLAGS,
        };
        options.by_ref().for_each(|option| step.set(option));
        let mut container = step.started(STEP, manifest)?;
        let words = options.rest;
        let overlay = &mut container.overlay;
        match step.runs_entrypoint {
            true => overlay.args = command(words),
            false => overlay.command = command(words),
        }
        container.command_location = words.first().map(|it| manifest.range(it.span.clone()));
        Some(container)
    }

    /// Enroot writes `#` between registry and repository. A path is a squash file on the nodes.
    fn started(&self, name: &str, manifest: &Manifest) -> Option<Container> {
        let (text, span) = self.image.clone()?;
        let ends = [".sqsh", ".squashfs"];
        let is_file = text.starts_with(['/', '.']) || ends.iter().any(|it| text.ends_with(it));
        let (image, decided_by) = match is_file {
            true => (String::new(), text),
            false => {
                let image = text.trim_start_matches("docker://");
                (image.replacen('#', "/", 1), String::new())
            }
        };
        let mounts = self.mounts.iter();
        let mounts: Vec<Mount> = mounts
            .map(|(text, span)| bind(text, span.clone(), manifest))
            .collect();
        let gpu = self.gpu.as_ref().map(|(count, span)| GpuRequest {
            resource: "GPUs of the job".to_owned(),
            count: *count,
            location: manifest.range(span.clone()),
        });
        let container = started(name, &image, span, manifest);
        Some(Container {
            decided_by,
            placement: Arc::new(Placement {
                features: self.features(),
                ..(*container.placement).clone()
            }),
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
            ..container
        })
    }

    /// The alternatives of features, each with the type of the GPUs.
    fn features(&self) -> Vec<Vec<String>> {
        let mut alternatives = self.constraint.clone();
        if let Some(gpu_type) = &self.gpu_type {
            if alternatives.is_empty() {
                alternatives.push(Vec::new());
            }
            let all = alternatives.iter_mut();
            all.for_each(|it| it.push(gpu_type.clone()));
        }
        alternatives
    }
}

/// The alternatives of `--constraint=a&b|c`; none if it counts nodes or groups features, because then nodes differ.
fn features(constraint: &str) -> Vec<Vec<String>> {
    if constraint.contains(['[', '(', '*', '$']) {
        return Vec::new();
    }
    let alternatives = constraint.split('|');
    let all = |it: &str| it.split(['&', ',']).map(str::to_owned).collect();
    alternatives.map(all).collect()
}

/// The type in `h100:4` or `h100`; `None` if there is only a number, or several types.
fn gpu_type(text: &str) -> Option<String> {
    let first = text.split([':', '(']).next()?;
    let is_type = !text.contains(',') && first.parse::<u64>().is_err() && !first.contains('$');
    (is_type && !first.is_empty()).then(|| first.to_owned())
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
