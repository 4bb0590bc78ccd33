//! Processes that a launcher or a server starts, one for each GPU, as the options of the command say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inventory::Inventory;
use super::python_options::Options;
use imgcheck_base::lexical::name_of;
use imgcheck_launch::{Launch, UNKNOWN};

/// The processes that the program of a container starts on its machine, each for a GPU of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuProcesses {
    /// The program: `torchrun`, `vllm`.
    pub program: String,
    /// The options that say how many: `--tensor-parallel-size 4`.
    pub options: String,
    /// How many.
    pub count: u64,
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
    joins: Option<String>,
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
        inventory: &Inventory,
    ) -> Option<Self> {
        let options = Options::of(&launch.words)?;
        let started =
            |it: &GpuProgram| options.arguments_of(&it.names, &it.modules, it.command.as_ref());
        let mut programs = programs.iter();
        let (program, words) = programs.find_map(|it| Some((it, started(it)?)))?;
        if program
            .joins
            .iter()
            .any(|it| mentions(launch, it, inventory))
        {
            return None;
        }
        let script = options.script.as_deref().map(name_of);
        let name = script.or(options.module.as_deref()).unwrap_or_default();
        program.processes(name, words)
    }
}

impl GpuProgram {
    fn processes(&self, program: &str, words: &[String]) -> Option<GpuProcesses> {
        let has = |it: &String| self.unless.contains(it);
        if words.iter().any(|it| it == UNKNOWN || has(it)) {
            return None;
        }
        let words: Vec<(String, Option<&str>)> = words.iter().map(|it| option(it)).collect();
        let mut found = GpuProcesses {
            program: program.to_owned(),
            count: 1,
            ..GpuProcesses::default()
        };
        for (at, (name, attached)) in words.iter().enumerate() {
            if self.unless.contains(name) || attached.is_some_and(|it| has(&it.to_owned())) {
                return None;
            }
            // The last of several counts.
            let Some(spellings) = self.counts.iter().find(|it| it.contains(name)) else {
                continue;
            };
            if words[at + 1..]
                .iter()
                .any(|(name, _)| spellings.contains(name))
            {
                continue;
            }
            let next = || words.get(at + 1).map(|(word, _)| word.as_str());
            let value = attached.or_else(next)?;
            found.count = found.count.checked_mul(value.parse().ok()?)?;
            let space = if found.options.is_empty() { "" } else { " " };
            found.options += &format!("{space}{name} {value}");
        }
        (!found.options.is_empty()).then_some(found)
    }
}

/// The name of an option with `-` in place of `_`, as the programs read it, and its value if that is attached.
fn option(word: &str) -> (String, Option<&str>) {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (name, Some(value)),
        _ => (word, None),
    };
    match name.strip_prefix("--") {
        Some(long) => (format!("--{}", long.replace('_', "-")), value),
        None => (name.to_owned(), value),
    }
}

/// Whether the command, its environment or a script on the way to the program mentions a word, such as the name of another program.
fn mentions(launch: &Launch, word: &str, inventory: &Inventory) -> bool {
    let is_in = |text: &str| {
        let mut words = text.split(|it: char| !it.is_alphanumeric());
        words.any(|it| it.eq_ignore_ascii_case(word))
    };
    let texts = launch
        .chain
        .iter()
        .filter_map(|it| inventory.text(&it.path));
    let mut texts = texts.map(|it| it.text);
    let mut variables = launch
        .container_environment
        .keys()
        .chain(launch.environment.keys());
    launch.command.iter().any(|it| is_in(it)) || texts.any(is_in) || variables.any(|it| is_in(it))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::knowledge;

    fn shown(command: &str) -> String {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let options = Options::of(&words).unwrap();
        let catalogue = knowledge::catalogue().unwrap();
        let mut programs = catalogue.settings.gpu_programs.iter();
        let found = programs.find_map(|it| {
            let words = options.arguments_of(&it.names, &it.modules, it.command.as_ref())?;
            it.processes("it", words)
        });
        found.map_or_else(String::new, |it| format!("{}: {}", it.count, it.options))
    }

    #[test]
    fn options_say_how_many_processes_there_are() {
        for (command, expected) in [
            (
                "python torchrun --nproc_per_node=8 train.py",
                "8: --nproc-per-node 8",
            ),
            (
                "python -m torch.distributed.run --nproc-per-node 2 --nnodes 4 train.py",
                "2: --nproc-per-node 2",
            ),
            ("python torchrun --nproc-per-node gpu train.py", ""),
            ("python torchrun --nproc-per-node= train.py", ""),
            ("python torchrun train.py", ""),
            ("python train.py --nproc-per-node 8", ""),
            ("python deepspeed --num_gpus 4 train.py", "4: --num-gpus 4"),
            (
                "python deepspeed --num_gpus 4 --hostfile hosts train.py",
                "",
            ),
            (
                "python vllm serve m --tensor-parallel-size 4",
                "4: --tensor-parallel-size 4",
            ),
            (
                "python vllm serve m -tp 2 --pipeline_parallel_size=2",
                "4: -tp 2 --pipeline-parallel-size 2",
            ),
            (
                "python vllm serve m -tp 8 --tensor-parallel-size 2",
                "2: --tensor-parallel-size 2",
            ),
            ("python vllm bench m -tp 8", ""),
            (
                "python -m vllm.entrypoints.openai.api_server --tensor-parallel-size 2",
                "2: --tensor-parallel-size 2",
            ),
            (
                "python vllm serve m -tp 16 --distributed-executor-backend ray",
                "",
            ),
            (
                "python vllm serve m -tp 16 --distributed-executor-backend=ray",
                "",
            ),
            (
                "python vllm serve m -tp 4 --distributed-executor-backend mp",
                "4: -tp 4",
            ),
            ("python vllm serve m -tp 16 --nnodes 2", ""),
            ("python vllm serve m -tp 16 --config c.yaml", ""),
            (
                "python -m sglang.launch_server --tp 8 --model m",
                "8: --tp 8",
            ),
            ("python -m sglang.launch_server --tp-size 16 --nnodes 2", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }
}
