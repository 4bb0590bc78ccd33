//! Programs that start a script with Python in several processes: `torchrun`, `accelerate launch`, `deepspeed`.

use serde::Deserialize;

use super::python_options::Options;
use imgcheck_base::lexical::name_of;

/// A launcher of `rules/knowledge/python-options.yaml`, which says what each field means.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PythonLauncher {
    names: Vec<String>,
    modules: Vec<String>,
    command: Option<String>,
    pub variables: Vec<String>,
    flags: Vec<String>,
    values: Vec<String>,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

impl PythonLauncher {
    /// The script that it starts, if these are its arguments and all its options are known.
    pub fn script<'o>(&self, options: &'o Options) -> Option<&'o str> {
        let is_listed = |list: &[String], name: &str| list.iter().any(|it| it == name);
        let is_program = match (&options.script, &options.module) {
            (Some(script), _) => is_listed(&self.names, name_of(script)),
            (None, Some(module)) => is_listed(&self.modules, module),
            (None, None) => false,
        };
        let mut words = options.rest.iter().map(String::as_str);
        let command = self.command.as_deref();
        if !is_program || command.is_some_and(|it| words.next() != Some(it)) {
            return None;
        }
        self.first_operand(words)
    }

    /// The first word that is no option, if all options before it are known.
    fn first_operand<'o>(&self, mut words: impl Iterator<Item = &'o str>) -> Option<&'o str> {
        while let Some(word) = words.next() {
            if word == "--" {
                return words.next();
            }
            if !word.starts_with('-') {
                return Some(word);
            }
            let (name, is_attached) = match word.split_once('=') {
                Some((name, _)) => (name, true),
                None => (word, false),
            };
            let name = match name.strip_prefix("--") {
                Some(name) => format!("--{}", name.replace('_', "-")),
                None => name.to_owned(),
            };
            if self.values.contains(&name) {
                // argparse takes no option for a value.
                if !is_attached && words.next()?.starts_with('-') {
                    return None;
                }
            } else if is_attached || !self.flags.contains(&name) {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::knowledge;

    fn script(command: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let options = Options::of(&words).unwrap();
        let catalogue = knowledge::catalogue().unwrap();
        let mut launchers = catalogue.settings.launchers.iter();
        launchers.find_map(|it| it.script(&options).map(str::to_owned))
    }

    #[test]
    fn launchers_start_the_first_operand() {
        for command in [
            "python /opt/conda/bin/torchrun train.py",
            "python /usr/bin/torchrun --nproc-per-node 8 train.py --nproc-per-node 2 eval.py",
            "python torchrun --nproc_per_node=8 --standalone --rdzv_backend c10d -r 3 train.py",
            "python torchrun --nnodes=2 -- train.py x.py",
            "python -u -m torch.distributed.run --nproc-per-node 8 train.py",
            "python -m torch.distributed.launch --use_env --nproc_per_node 8 train.py",
            "python /opt/bin/accelerate launch --config_file a.yaml --multi-gpu --num_processes 8 train.py",
            "python -m accelerate.commands.launch --use_fsdp train.py",
            "python accelerate-launch train.py",
            "python deepspeed --num_gpus=8 --master_port 29501 train.py --deepspeed c.json",
        ] {
            assert_eq!(script(command).as_deref(), Some("train.py"), "{command}");
        }
    }

    #[test]
    fn what_is_not_certain_is_no_script() {
        for command in [
            "python torchrun --nproc-per-node 8 -m pkg.train",
            "python torchrun --nproc-per-node 8 --module pkg.train",
            "python torchrun --no-python ./train.sh",
            "python torchrun --nproc 8 train.py",
            "python torchrun --standalone=1 train.py",
            "python torchrun --log-dir --standalone train.py",
            "python torchrun --help train.py",
            "python torchrun --new-option train.py",
            "python torchrun",
            "python accelerate config train.py",
            "python accelerate launch --tpu train.py",
            "python deepspeed --hostfile hosts train.py",
            "python deepspeed --module pkg.train",
            "python train.py torchrun x.py",
            "python -m pkg torchrun x.py",
            "python -c torchrun train.py",
        ] {
            assert_eq!(script(command), None, "{command}");
        }
    }
}
