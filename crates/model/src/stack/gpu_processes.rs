//! Processes that a launcher or a server starts, one for each GPU, as the options of the command say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inventory::Inventory;
use super::python_launcher::{PythonLauncher, Worker};
use super::python_options::{Options, option};
use imgcheck_base::lexical::name_of;
use imgcheck_launch::{Launch, UNKNOWN};

/// The processes that the program of a container starts on its machine, each for a GPU of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuProcesses {
    /// The name of the program or module: `torchrun`, `vllm.entrypoints.openai.api_server`.
    pub program: String,
    /// The options that say how many, as written: `--tensor-parallel-size 4`.
    pub options: String,
    /// The number of processes on one machine.
    pub count: u32,
    /// The program itself gives each process a GPU; after a launcher, the script that it starts does.
    pub assigns: bool,
}

/// A program of `rules/knowledge/python-options.yaml`, which says what each field means.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct GpuProgram {
    names: Vec<String>,
    modules: Vec<String>,
    command: Option<String>,
    counts: Vec<Vec<String>>,
    unless: Vec<String>,
    cluster_program: Option<String>,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

impl GpuProcesses {
    /// What the command of a container starts; `None` if its options do not say, or if that is unknown.
    pub(super) fn of(
        launch: &Launch,
        programs: &[GpuProgram],
        launchers: &[PythonLauncher],
        inventory: &Inventory,
    ) -> Option<Self> {
        let options = Options::of(&launch.words)?;
        let arguments =
            |it: &GpuProgram| options.arguments_of(&it.names, &it.modules, it.command.as_ref());
        let mut programs = programs.iter();
        let (program, words) = programs.find_map(|it| Some((it, arguments(it)?)))?;
        if !program.is_certain(options.program(), launch, inventory) {
            return None;
        }
        let worker = Worker::of(launch, launchers, |_| false).ok()?;
        // The arguments of a launcher end where those of its script begin.
        let of_script = worker.as_ref().map_or(0, |it| it.options.rest.len());
        let own = &words[..words.len().saturating_sub(of_script)];
        let (count, written) = program.count(own)?;
        Some(GpuProcesses {
            program: options.program().to_owned(),
            options: written,
            count,
            assigns: worker.is_none(),
        })
    }
}

impl GpuProgram {
    /// Whether the command certainly starts the program on this machine alone, and with these options.
    fn is_certain(&self, name: &str, launch: &Launch, inventory: &Inventory) -> bool {
        let script = Script::of(launch, inventory);
        let started = match &self.command {
            Some(command) => format!("{name} {command}"),
            None => name.to_owned(),
        };
        let joins = |it: &str| script.mentions(it) || script.starts_others();
        script.count(&started) <= 1
            && !self.cluster_program.as_deref().is_some_and(joins)
            && !launch.environment.contains_key("CUDA_VISIBLE_DEVICES")
    }

    /// The number of processes that its arguments say, and the options that do so.
    fn count(&self, words: &[String]) -> Option<(u32, String)> {
        let parts: Vec<_> = words.iter().map(|it| option(it)).collect();
        let mut written = Vec::new();
        let mut count = 1u32;
        for (at, (name, attached)) in parts.iter().enumerate() {
            let is_unknown = name == UNKNOWN || *attached == Some("");
            let is_elsewhere = |it: &str| self.unless.iter().any(|word| word == it);
            if is_unknown || is_elsewhere(name) || attached.is_some_and(is_elsewhere) {
                return None;
            }
            let Some(spellings) = self.counts.iter().find(|it| it.contains(name)) else {
                continue;
            };
            // The last one counts.
            if parts[at + 1..].iter().any(|(it, _)| spellings.contains(it)) {
                continue;
            }
            let own = if attached.is_some() { 1 } else { 2 };
            let own = words.get(at..at + own)?;
            let value = attached.or_else(|| own.last().map(String::as_str))?;
            count = count.checked_mul(value.parse().ok()?)?;
            written.push(own.join(" "));
        }
        (!written.is_empty()).then(|| (count, written.join(" ")))
    }
}

/// What leads to the program: the command, the names of variables, and the scripts on the way.
struct Script {
    texts: Vec<String>,
    paths: Vec<String>,
}

impl Script {
    fn of(launch: &Launch, inventory: &Inventory) -> Self {
        let variables = launch.container_environment.keys();
        let variables: Vec<&str> = variables
            .chain(launch.environment.keys())
            .map(String::as_str)
            .collect();
        let chain = launch.chain.iter();
        let scripts = chain.filter_map(|it| Some(inventory.text(&it.path)?.text.to_owned()));
        let own = [launch.command.join(" "), variables.join(" ")];
        Script {
            texts: own.into_iter().chain(scripts).collect(),
            paths: launch.chain.iter().map(|it| it.path.clone()).collect(),
        }
    }

    /// How often it has these words: another branch may start the program with other options.
    fn count(&self, words: &str) -> usize {
        let texts = self.texts.iter();
        let texts = texts.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        texts.map(|it| it.matches(words).count()).sum()
    }

    /// Whether it mentions a program.
    fn mentions(&self, program: &str) -> bool {
        let mut words = self
            .texts
            .iter()
            .flat_map(|it| it.split(|it: char| !it.is_alphanumeric()));
        words.any(|it| it.eq_ignore_ascii_case(program))
    }

    /// Whether it names a script that is not on the way, whose text is not here.
    fn starts_others(&self) -> bool {
        let mut words = self
            .texts
            .iter()
            .flat_map(|it| it.split(|it: char| it.is_whitespace() || "'\"();".contains(it)));
        words.any(|word| {
            let mut paths = self.paths.iter();
            word.ends_with(".sh") && !paths.any(|it| name_of(it) == name_of(word))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use imgcheck_image::RootFilesystem;

    use super::*;
    use crate::knowledge;

    fn shown(command: &str) -> String {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let launch = Launch {
            words,
            ..Launch::default()
        };
        let root = RootFilesystem::merge(&[]);
        let catalogue = knowledge::catalogue().unwrap();
        let inventory = Inventory::take(
            &root,
            &catalogue.toolkit,
            &catalogue.network,
            &catalogue.tools,
        );
        let found = GpuProcesses::of(
            &launch,
            &catalogue.settings.gpu_programs,
            &catalogue.settings.launchers,
            &inventory,
        );
        found.map_or_else(String::new, |it| format!("{}: {}", it.count, it.options))
    }

    #[test]
    fn options_of_a_launcher() {
        for (command, expected) in [
            (
                "torchrun --nproc_per_node=8 train.py",
                "8: --nproc_per_node=8",
            ),
            (
                "-m torch.distributed.run --nproc-per-node 2 --nnodes 4 train.py",
                "2: --nproc-per-node 2",
            ),
            (
                "torchrun --nproc-per-node 8 --nproc-per-node 2 -m train",
                "2: --nproc-per-node 2",
            ),
            (
                "torchrun --nproc-per-node 1 train.py --nproc-per-node 8",
                "1: --nproc-per-node 1",
            ),
            ("torchrun train.py --nproc_per_node=8", ""),
            ("torchrun --nproc-per-node gpu train.py", ""),
            ("torchrun --nproc-per-node= train.py", ""),
            ("torchrun --nosuch --nproc-per-node 8 train.py", ""),
            ("torchrun train.py", ""),
            ("train.py --nproc-per-node 8", ""),
        ] {
            assert_eq!(shown(&format!("python {command}")), expected, "{command}");
        }
    }

    #[test]
    fn options_of_a_server() {
        for (command, expected) in [
            (
                "vllm serve m --tensor-parallel-size 4",
                "4: --tensor-parallel-size 4",
            ),
            (
                "vllm serve m -tp 2 --pipeline_parallel_size=2",
                "4: -tp 2 --pipeline_parallel_size=2",
            ),
            (
                "vllm serve m -tp 8 --tensor-parallel-size 2",
                "2: --tensor-parallel-size 2",
            ),
            ("vllm serve m -tp 2 -dp 4", "8: -tp 2 -dp 4"),
            ("vllm serve m -tp 2 -dp 4 -dpl 1", ""),
            ("vllm bench m -tp 8", ""),
            (
                "-m vllm.entrypoints.openai.api_server --tensor-parallel-size 2",
                "2: --tensor-parallel-size 2",
            ),
            ("vllm serve m -tp 16 --distributed-executor-backend ray", ""),
            ("vllm serve m -tp 16 --distributed-executor-backend=ray", ""),
            ("vllm serve m -tp 16 --distributed-executor-backend=", ""),
            (
                "vllm serve m -tp 4 --distributed-executor-backend mp",
                "4: -tp 4",
            ),
            ("vllm serve m -tp 16 --nnodes 2", ""),
            ("vllm serve m -tp 16 --config c.yaml", ""),
            ("vllm serve m -tp", ""),
            ("vllm serve m -tp 18446744073709551615", ""),
            ("-m sglang.launch_server --tp 8 --model m", "8: --tp 8"),
            ("-m sglang.launch_server --tp-size 16 --nnodes 2", ""),
        ] {
            assert_eq!(shown(&format!("python {command}")), expected, "{command}");
        }
    }
}
