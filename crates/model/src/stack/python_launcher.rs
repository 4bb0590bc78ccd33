//! Programs that start a script or module with Python in several processes (`torchrun`, `accelerate launch`, `deepspeed`), and servers that
//! import an application (`uvicorn`, `gunicorn`).

use serde::Deserialize;

use super::python_options::Options;
use imgcheck_base::lexical::name_of;
use imgcheck_launch::Launch;

/// A launcher of `rules/knowledge/python-options.yaml`, which says what each field means.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct PythonLauncher {
    names: Vec<String>,
    modules: Vec<String>,
    command: Option<String>,
    variables: Vec<String>,
    /// With one of these flags, the operand is a module.
    module_flags: Vec<String>,
    flags: Vec<String>,
    values: Vec<String>,
    searches_working_directory: bool,
    /// The operand is `MODULE:ATTRIBUTE`, which it imports itself, from the working directory first. Options may follow it.
    imports: bool,
    /// Files in the working directory that may change what it does.
    files: Vec<String>,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

/// The Python that a launcher starts in each of its processes, or that a server is executed by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Worker {
    /// The module that a server imports, and the name of the application in it; empty if that is an expression.
    pub imported: Option<(String, String)>,
    /// The options of its command line. Those of the launcher's own Python are not passed on.
    pub options: Options,
    /// The launcher adds the working directory to PYTHONPATH in some of its modes.
    pub may_search_working_directory: bool,
}

impl Worker {
    /// What the command of a container starts by a launcher, if that is known.
    ///
    /// `is_there` says whether a path, which may be relative to the working directory, leads to a file.
    pub fn of(
        launch: &Launch,
        launchers: &[PythonLauncher],
        is_there: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let options = Options::of(launch.arguments.get(..launch.leading_arguments)?)?;
        let is_plain = |it: &&PythonLauncher| {
            let mut variables = it.variables.iter();
            let is_set = variables.any(|name| launch.environment.contains_key(name));
            !is_set && !it.files.iter().any(|path| is_there(path))
        };
        let mut launchers = launchers.iter().filter(is_plain);
        launchers.find_map(|it| it.worker(&options))
    }
}

impl PythonLauncher {
    /// What it starts, if these are its arguments and all its options are known.
    fn worker(&self, options: &Options) -> Option<Worker> {
        let is_listed = |list: &[String], name: &str| list.iter().any(|it| it == name);
        let is_program = match (&options.script, &options.module) {
            (Some(script), _) => is_listed(&self.names, name_of(script)),
            (None, Some(module)) => is_listed(&self.modules, module),
            (None, None) => false,
        };
        let mut words = options.rest.iter();
        let command = self.command.as_ref();
        if !is_program || command.is_some_and(|it| words.next() != Some(it)) {
            return None;
        }
        let (operand, is_module) = self.first_operand(&mut words)?;
        if self.imports {
            return Self::server(&operand, options);
        }
        let (script, module) = match is_module {
            true => (None, Some(operand)),
            false => (Some(operand), None),
        };
        Some(Worker {
            options: Options {
                script,
                module,
                rest: words.cloned().collect(),
                ..Options::default()
            },
            may_search_working_directory: self.searches_working_directory,
            imported: None,
        })
    }

    /// The Python of a server that imports `MODULE:ATTRIBUTE`.
    fn server(application: &str, options: &Options) -> Option<Worker> {
        let (module, attribute) = application.split_once(':')?;
        let name = attribute.split('.').next().unwrap_or_default();
        let is_name = |it: &str| {
            let is_word = it.chars().all(|it| it.is_alphanumeric() || it == '_');
            is_word && it.starts_with(|first: char| !first.is_numeric())
        };
        let name = if is_name(name) { name } else { "" };
        module.split('.').all(is_name).then(|| Worker {
            options: Options {
                script: None,
                module: None,
                // Its search path begins as that of `-c`.
                code: Some(String::new()),
                ..options.clone()
            },
            imported: Some((module.to_owned(), name.to_owned())),
            ..Worker::default()
        })
    }

    /// The first word that is no option, if all options before it are known (of a server all options), and whether one of them makes it a module.
    fn first_operand<'o>(
        &self,
        mut words: impl Iterator<Item = &'o String>,
    ) -> Option<(String, bool)> {
        let mut is_module = false;
        let mut operand = None;
        while let Some(word) = words.next() {
            if word == "--" && !self.imports {
                return Some((words.next()?.clone(), is_module));
            }
            if !word.starts_with('-') {
                match self.imports {
                    true if operand.is_none() => operand = Some(word.clone()),
                    true => return None,
                    false => return Some((word.clone(), is_module)),
                }
                continue;
            }
            let (name, is_attached) = match word.split_once('=') {
                Some((name, _)) => (name, true),
                None => (word.as_str(), false),
            };
            let name = match name.strip_prefix("--") {
                Some(name) => format!("--{}", name.replace('_', "-")),
                None => name.to_owned(),
            };
            if self.values.contains(&name) {
                // argparse takes no option for a value.
                let is_option = |it: &String| it.starts_with('-') && it != "-";
                if !is_attached && is_option(words.next()?) {
                    return None;
                }
            } else if !is_attached && self.module_flags.contains(&name) {
                is_module = true;
            } else if is_attached || !self.flags.contains(&name) {
                return None;
            }
        }
        Some((operand?, false))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::knowledge;

    fn worker(command: &str) -> Option<Worker> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let options = Options::of(&words).unwrap();
        let catalogue = knowledge::catalogue().unwrap();
        let mut launchers = catalogue.settings.launchers.iter();
        launchers.find_map(|it| it.worker(&options))
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
            let script = worker(command).unwrap().options.script;
            assert_eq!(script.as_deref(), Some("train.py"), "{command}");
        }
    }

    #[test]
    fn launchers_start_a_module() {
        for command in [
            "python torchrun --nproc-per-node 8 -m pkg.train --module x",
            "python torchrun --module --nproc-per-node 8 pkg.train",
            "python -m torch.distributed.run -m pkg.train",
            "python -m torch.distributed.launch --use_env -m pkg.train",
            "python accelerate launch --num_processes 8 --module pkg.train",
            "python -m accelerate.commands.launch -m pkg.train",
            "python deepspeed --module pkg.train",
        ] {
            let options = worker(command).unwrap().options;
            assert_eq!(options.module.as_deref(), Some("pkg.train"), "{command}");
            assert_eq!(options.script, None, "{command}");
        }
        let rest = worker("python -E torchrun train.py -m x").unwrap().options;
        assert_eq!(rest.rest, ["-m", "x"]);
        assert!(!rest.ignore_environment);
    }

    #[test]
    fn servers_import_an_application() {
        for command in [
            "python /usr/local/bin/uvicorn app.main:app",
            "python uvicorn --host 0.0.0.0 app.main:app --port 8000 --no-access-log --workers=2",
            "python -m uvicorn app.main:create --factory",
            "python gunicorn -k uvicorn.workers.UvicornWorker -w 4 -b :80 app.main:app --access-logfile -",
            "python -m gunicorn --preload app.main:create(x)",
        ] {
            let imported = worker(command).and_then(|it| it.imported);
            let module = imported.as_ref().map(|(module, _)| module.as_str());
            assert_eq!(module, Some("app.main"), "{command}");
            let name = imported.map(|(_, name)| name).unwrap_or_default();
            assert!(["app", "create", ""].contains(&name.as_str()), "{command}");
        }
        for command in [
            "python uvicorn app.main",
            "python uvicorn app.main:app --app-dir src",
            "python uvicorn app.main:app other",
            "python uvicorn app.main:app --port",
            "python uvicorn app/main.py:app",
            "python uvicorn --reload app.main:app",
            "python gunicorn -c gunicorn.py app.main:app",
            "python gunicorn --chdir /srv app.main:app",
            "python gunicorn --pythonpath src app.main:app",
        ] {
            assert_eq!(worker(command), None, "{command}");
        }
    }

    #[test]
    fn what_is_not_certain_is_no_worker() {
        for command in [
            "python torchrun --module=pkg.train",
            "python torchrun -m",
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
            "python deepspeed -m pkg.train",
            "python train.py torchrun x.py",
            "python -m pkg torchrun x.py",
            "python -c torchrun train.py",
        ] {
            assert_eq!(worker(command), None, "{command}");
        }
    }
}
