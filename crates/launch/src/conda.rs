//! What conda, mamba and micromamba print for shells: the text of `conda shell.bash hook`, and that of `conda shell.posix activate NAME`,
//! which exports PATH and `CONDA_*`, and sources the scripts in `etc/conda/activate.d` (`conda/activate.py` of conda 25,
//! `libmamba/src/core/activation.cpp` of mamba 2).

use super::process::Process;
use super::value::Value;
use imgcheck_base::lexical::name_of;
use imgcheck_image::{Node, RootFilesystem};

/// Variables that name more directories with environments.
const DIRECTORIES: [&str; 3] = ["CONDA_ENVS_PATH", "CONDA_ENVS_DIRS", "MAMBA_ENVS_DIRS"];

/// What such a program does.
pub(crate) enum Answer {
    /// It writes this.
    Text(String),
    /// It writes nothing, and fails.
    Fails,
    /// This is not understood.
    Unknown(String),
}

/// A call of conda with its arguments.
pub(crate) struct Conda<'c, 'r> {
    pub process: &'c Process,
    pub root: &'r RootFilesystem<'r>,
    /// Its file, without symbolic links.
    pub executable: &'c str,
    /// Whether a script may have changed a file.
    pub is_unknown: &'c dyn Fn(&str) -> bool,
}

impl Conda<'_, '_> {
    /// What it prints for a shell; `None` for other arguments.
    pub fn answer(&self) -> Option<Answer> {
        let texts: Option<Vec<&str>> = self.process.arguments[1..]
            .iter()
            .map(Value::known)
            .collect();
        let texts = texts?;
        let asked = match texts.split_first()? {
            (&("shell.posix" | "shell.bash" | "shell.dash"), rest) if !self.is_mamba() => {
                rest.to_vec()
            }
            (&"shell", rest) if self.is_mamba() => without_shell(rest)?,
            // The functions that the hook defines do that.
            (&("activate" | "deactivate"), _) => return Some(Answer::Fails),
            _ => return None,
        };
        let answer = match asked.as_slice() {
            ["hook"] => self.hook(),
            ["activate"] => self.activate("base"),
            ["activate", name] if !name.starts_with('-') => self.activate(name),
            _ => Err(format!("`{}`", texts.join(" "))),
        };
        Some(match answer {
            Ok(text) => Answer::Text(text),
            Err(problem) => Answer::Unknown(problem),
        })
    }

    /// Whether it is mamba 2 or micromamba.
    fn is_mamba(&self) -> bool {
        name_of(self.executable) != "conda"
    }

    /// The prefix of the installation.
    fn base(&self) -> Option<&str> {
        match self.process.environment.get("MAMBA_ROOT_PREFIX") {
            Some(setting) if self.is_mamba() => setting.value.known(),
            _ => installation(self.executable),
        }
    }

    /// The functions that activate environments.
    fn hook(&self) -> Result<String, String> {
        let base = self.base().ok_or("the directory of its installation")?;
        let path = self.executable;
        let name = name_of(path);
        quotable(&[path, base])?;
        let (variable, own) = match self.is_mamba() {
            true => ("MAMBA_EXE", "shell \"$@\" --shell bash"),
            false => ("CONDA_EXE", "shell.posix \"$@\""),
        };
        let exports = match self.is_mamba() {
            true => format!("export MAMBA_EXE='{path}' MAMBA_ROOT_PREFIX='{base}'"),
            false => format!(
                "export CONDA_EXE='{path}' _CE_M='' _CE_CONDA='' CONDA_PYTHON_EXE='{base}/bin/python'"
            ),
        };
        let activates = !self.is_mamba() && self.activates_base(base)?;
        let last = if activates {
            "conda activate base\n"
        } else {
            ""
        };
        Ok(format!(
            "{exports}
{name}() {{
    case \"${{1-}}\" in
        activate|deactivate|reactivate)
            local asked
            asked=\"$(\"${variable}\" {own})\" || return
            eval \"$asked\"
            ;;
        *) \"${variable}\" \"$@\" ;;
    esac
}}
if [ -z \"${{CONDA_SHLVL+x}}\" ]; then
    export CONDA_SHLVL=0
    export PATH='{base}/condabin'\"${{PATH:+:$PATH}}\"
fi
{last}"
        ))
    }

    /// Whether the hook activates the environment `base`: `auto_activate` or `auto_activate_base` of the configuration.
    fn activates_base(&self, base: &str) -> Result<bool, String> {
        for variable in ["CONDA_AUTO_ACTIVATE_BASE", "CONDA_AUTO_ACTIVATE"] {
            if let Some(value) = self.process.variable(variable) {
                return Ok(!matches!(
                    value.to_lowercase().as_str(),
                    "false" | "no" | "0" | "off"
                ));
            }
        }
        let home = self.process.variable("HOME").unwrap_or("/root");
        let directories = ["/etc/conda", base, home, &format!("{home}/.conda")].map(str::to_owned);
        let files = directories
            .iter()
            .flat_map(|it| [format!("{it}/.condarc"), format!("{it}/condarc")]);
        for file in files.filter(|it| self.root.resolve(it).is_ok()) {
            let text = self.root.resolve(&file).ok().and_then(Node::text);
            let text = text.filter(|_| !(self.is_unknown)(&file));
            let text = text.ok_or_else(|| format!("{file}, whose content was not read"))?;
            let is_off = |line: &str| {
                let (key, value) = line.split_once(':').unwrap_or_default();
                matches!(key.trim(), "auto_activate" | "auto_activate_base")
                    && matches!(value.trim().to_lowercase().as_str(), "false" | "no" | "off")
            };
            if text.lines().any(is_off) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The commands that activate an environment.
    fn activate(&self, name: &str) -> Result<String, String> {
        let base = self.base().ok_or("the directory of its installation")?;
        let prefix = self.prefix(base, name)?;
        let variables = [
            format!("{prefix}/conda-meta/state"),
            format!("{prefix}/etc/conda/env_vars.d"),
        ];
        if let Some(file) = variables.iter().find(|it| self.root.resolve(it).is_ok()) {
            return Err(format!("the variables in {file}"));
        }
        let variable = |name: &str| self.process.variable(name).unwrap_or_default();
        let level: usize = variable("CONDA_SHLVL").trim().parse().unwrap_or(0);
        let old = Some(variable("CONDA_PREFIX")).filter(|it| level > 0 && !it.is_empty());
        let path = self
            .process
            .environment
            .get("PATH")
            .map(|it| it.value.known());
        let path = path.unwrap_or(Some("")).ok_or("PATH is unknown")?;
        let path = new_path(path, base, &prefix, old);
        let is_again = old == Some(prefix.as_str());
        let default = match prefix.strip_prefix(&format!("{base}/envs/")) {
            _ if prefix == base => "base",
            Some(name) if !name.contains('/') => name,
            _ => &prefix,
        };
        let mut lines = Vec::new();
        if let Some(old) = old {
            lines.extend(self.scripts(old, "deactivate.d")?.into_iter().rev());
        }
        lines.push(export("PATH", &path)?);
        if !is_again {
            if let Some(old) = old {
                lines.push(export(&format!("CONDA_PREFIX_{level}"), old)?);
            }
            lines.push(export("CONDA_PREFIX", &prefix)?);
            lines.push(export("CONDA_SHLVL", &(level + 1).to_string())?);
            lines.push(export("CONDA_DEFAULT_ENV", default)?);
        }
        lines.push(export("CONDA_PROMPT_MODIFIER", &format!("({default}) "))?);
        lines.extend(self.scripts(&prefix, "activate.d")?);
        Ok(lines.join("\n") + "\n")
    }

    /// The commands that source the scripts of an environment, in their order.
    fn scripts(&self, prefix: &str, directory: &str) -> Result<Vec<String>, String> {
        let directory = format!("{prefix}/etc/conda/{directory}");
        if (self.is_unknown)(&directory) {
            return Err(format!("the scripts in {directory}"));
        }
        let names = self
            .root
            .read_dir(&directory)
            .map(|it| it.name().to_owned());
        let mut names: Vec<String> = names.filter(|it| it.ends_with(".sh")).collect();
        names.sort();
        let paths = names.into_iter().map(|name| format!("{directory}/{name}"));
        paths
            .map(|path| quotable(&[&path]).map(|()| format!(". '{path}'")))
            .collect()
    }

    /// The prefix of an environment that is named, or given by its path. One that is not found may be mounted.
    fn prefix(&self, base: &str, name: &str) -> Result<String, String> {
        let prefix = match name {
            "base" | "root" => base.to_owned(),
            name if name.starts_with('/') => name.trim_end_matches('/').to_owned(),
            name if name.contains('/') => {
                let directory = self.process.directory.known();
                let directory = directory.ok_or("the working directory is unknown")?;
                format!("{}/{name}", directory.trim_end_matches('/'))
            }
            name => {
                let is_set = |it: &&&str| self.process.environment.contains_key(**it);
                if let Some(variable) = DIRECTORIES.iter().find(is_set) {
                    return Err(format!("the directories in {variable}"));
                }
                let home = self.process.variable("HOME").unwrap_or("/root");
                let places = [
                    format!("{base}/envs/{name}"),
                    format!("{home}/.conda/envs/{name}"),
                ];
                let found = places.into_iter().find(|it| self.is_environment(it));
                found.ok_or_else(|| format!("the environment {name} was not found"))?
            }
        };
        match self.is_environment(&prefix) {
            true => Ok(prefix),
            false => Err(format!("the environment {prefix} was not found")),
        }
    }

    fn is_environment(&self, prefix: &str) -> bool {
        self.root.resolve(&format!("{prefix}/conda-meta")).is_ok()
    }
}

/// PATH with the environment in it: in place of the old one, else in front.
fn new_path(path: &str, base: &str, prefix: &str, old: Option<&str>) -> String {
    let mut entries: Vec<String> = path.split(':').map(str::to_owned).collect();
    let own = format!("{prefix}/bin");
    match old.map(|old| format!("{old}/bin")) {
        Some(old) => {
            let at = entries.iter().position(|it| *it == old);
            entries.retain(|it| *it != old);
            entries.insert(at.unwrap_or(0), own);
        }
        None => {
            if !entries.iter().any(|it| it.ends_with("condabin")) {
                entries.insert(0, format!("{base}/condabin"));
            }
            entries.insert(0, own);
        }
    }
    entries.join(":")
}

/// The prefix that a program of conda belongs to.
fn installation(path: &str) -> Option<&str> {
    [
        "/bin/conda",
        "/condabin/conda",
        "/bin/mamba",
        "/condabin/mamba",
    ]
    .iter()
    .find_map(|it| path.strip_suffix(it))
}

/// The script of `conda run` and `micromamba run` (`wrap_subprocess_call` of `conda/utils.py`), which gets the command as its
/// parameters.
pub(crate) fn run_script(
    executable: &str,
    process: &Process,
    environment: Option<&str>,
) -> Result<String, String> {
    let name = environment.or(process.variable("CONDA_PREFIX"));
    let name = name.ok_or("no environment is named")?;
    quotable(&[executable, name])?;
    Ok(match name_of(executable) {
        "conda" => format!(
            "eval \"$('{executable}' shell.posix hook)\"\nconda activate '{name}' || exit\nexec \"$@\""
        ),
        _ => format!(
            "asked=\"$('{executable}' shell activate '{name}' --shell bash)\" || exit\neval \"$asked\"\nunset asked\nexec \"$@\""
        ),
    })
}

/// The words of `micromamba shell` without the shell that is named.
fn without_shell<'t>(words: &[&'t str]) -> Option<Vec<&'t str>> {
    let mut rest = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let shell = match *word {
            "--shell" | "-s" => words.next().copied()?,
            word if word.starts_with("--shell=") => &word["--shell=".len()..],
            word => {
                rest.push(word);
                continue;
            }
        };
        matches!(shell, "bash" | "posix" | "dash").then_some(())?;
    }
    Some(rest)
}

fn export(name: &str, value: &str) -> Result<String, String> {
    quotable(&[value])?;
    Ok(format!("export {name}='{value}'"))
}

/// Whether texts may stand between single quotes.
fn quotable(texts: &[&str]) -> Result<(), String> {
    match texts.iter().find(|it| it.contains('\'')) {
        None => Ok(()),
        Some(text) => Err(format!("the name {text}")),
    }
}
