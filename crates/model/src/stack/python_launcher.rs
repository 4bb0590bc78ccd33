//! Programs that start a script or module with Python in several processes (`torchrun`, `accelerate launch`, `deepspeed`), and servers that
//! import an application (`uvicorn`, `gunicorn`).

use serde::Deserialize;

use super::python_options::{Options, option};
use imgcheck_launch::{Launch, UNKNOWN};

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
    /// Options whose value is a file or directory that must be there.
    paths: Vec<String>,
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
    /// What the command of a container starts by a launcher; `None` if it starts none.
    ///
    /// `is_there` says whether a path, which may be relative to the working directory, leads to a file.
    ///
    /// # Errors
    /// What is not understood of the launcher.
    pub fn of(
        launch: &Launch,
        launchers: &[PythonLauncher],
        is_there: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, String> {
        let Some(options) = Options::of(&launch.words) else {
            return Ok(None);
        };
        let found = launchers
            .iter()
            .find_map(|it| Some((it, it.arguments(&options)?)));
        let Some((launcher, arguments)) = found else {
            return Ok(None);
        };
        let program = options.program();
        let named = |problem: String| format!("{program} {problem}");
        let mut variables = launcher.variables.iter();
        if let Some(name) = variables.find(|it| launch.environment.contains_key(*it)) {
            return Err(named(format!("reads the variable {name}")));
        }
        if let Some(path) = launcher.files.iter().find(|it| is_there(it)) {
            return Err(named(format!("reads {}", launch.absolute(path))));
        }
        let worker = launcher.worker(arguments, &options, &is_there);
        worker.map(Some).map_err(named)
    }
}

impl PythonLauncher {
    /// Its arguments, if it is what Python executes.
    fn arguments<'o>(&self, options: &'o Options) -> Option<&'o [String]> {
        options.arguments_of(&self.names, &self.modules, self.command.as_ref())
    }

    /// What it starts with these arguments.
    ///
    /// # Errors
    /// What of them is not understood.
    fn worker(
        &self,
        arguments: &[String],
        options: &Options,
        is_there: &dyn Fn(&str) -> bool,
    ) -> Result<Worker, String> {
        let mut words = arguments.iter();
        let (operand, is_module) = self.first_operand(&mut words, is_there)?;
        if self.imports {
            let server = Self::server(&operand, options);
            return server.ok_or_else(|| format!("is given `{operand}`"));
        }
        let (script, module) = match is_module {
            true => (None, Some(operand)),
            false => (Some(operand), None),
        };
        Ok(Worker {
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
        is_there: &dyn Fn(&str) -> bool,
    ) -> Result<(String, bool), String> {
        let none = || "is given nothing to start".to_owned();
        let unknown = |word: &str| match word {
            UNKNOWN => "is given something that is not known".to_owned(),
            word => format!("is given `{word}`, which imgcheck does not know"),
        };
        let mut is_module = false;
        let mut operand = None;
        while let Some(word) = words.next() {
            if word == UNKNOWN {
                return Err(unknown(word));
            }
            if word == "--" && !self.imports {
                return Ok((words.next().ok_or_else(none)?.clone(), is_module));
            }
            if !word.starts_with('-') {
                match self.imports {
                    true if operand.is_none() => operand = Some(word.clone()),
                    true => return Err(unknown(word)),
                    false => return Ok((word.clone(), is_module)),
                }
                continue;
            }
            let (name, attached) = option(word);
            let is_path = self.paths.contains(&name);
            if is_path || self.values.contains(&name) {
                let value = attached.or_else(|| words.next().map(String::as_str));
                // argparse takes no option for a value.
                let is_option = |it: &str| attached.is_none() && it.starts_with('-') && it != "-";
                let value = value.filter(|it| !is_option(it));
                let value = value.ok_or_else(|| format!("is given `{word}` without a value"))?;
                let is_known = !matches!(value, "" | UNKNOWN);
                if is_path && is_known && !is_there(value) {
                    return Err(format!("reads `{value}`, which is not in the image"));
                }
            } else if attached.is_none() && self.module_flags.contains(&name) {
                is_module = true;
            } else if attached.is_some() || !self.flags.contains(&name) {
                return Err(unknown(word));
            }
        }
        Ok((operand.ok_or_else(none)?, false))
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
        launchers.find_map(|it| it.worker(it.arguments(&options)?, &options, &|_| true).ok())
    }

    #[test]
    fn launchers_start_the_first_operand() {
        for command in [
            "python /opt/conda/bin/torchrun train.py",
            "python /usr/bin/torchrun --nproc-per-node 8 train.py --nproc-per-node 2 eval.py",
            "python torchrun --nproc_per_node=8 --standalone --rdzv_backend c10d -r 3 train.py",
            "python torchrun --nnodes=2 -- train.py x.py",
            "python torchrun --node_rank= --rdzv-id \0 train.py --seed \0",
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
