//! `uv run`, `poetry run` and `pipenv run`: programs that run a command in the environment of a project.

use super::options::Given;
use super::process::Process;
use super::value::Value;
use imgcheck_image::{Node, RootFilesystem};

/// Variables of poetry that do not decide which environment it uses.
const WITHOUT_EFFECT: [&str; 5] = [
    "POETRY_VIRTUALENVS_CREATE",
    "POETRY_VERSION",
    "POETRY_HOME",
    "POETRY_CACHE_DIR",
    "POETRY_NO_INTERACTION",
];

/// The environment that a project's command runs in.
pub(crate) enum ProjectEnvironment {
    /// This virtual environment.
    Virtual(String),
    /// That of the caller.
    Own,
}

/// `uv run`: the environment `.venv` of the project, or that in UV_PROJECT_ENVIRONMENT.
pub(crate) fn uv(process: &Process, root: &RootFilesystem) -> Result<ProjectEnvironment, String> {
    let path = process
        .variable("UV_PROJECT_ENVIRONMENT")
        .filter(|it| !it.is_empty());
    let path = path.unwrap_or(".venv");
    let prefix = super::locate::absolute(path, &process.directory);
    let prefix = prefix.ok_or("the working directory is unknown")?;
    virtual_environment(root, prefix)
}

/// The words with which `uv run` starts its target, if that is no program: a module, or a file or directory that Python executes (`RunCommand` in
/// `crates/uv/src/commands/project/run.rs`).
///
/// # Errors
/// The script may have an environment of its own.
pub(crate) fn uv_target(
    given: &Given,
    words: &[Value],
    process: &Process,
    root: &RootFilesystem,
) -> Result<&'static [&'static str], String> {
    const SCRIPT: &[&str] = &["python"];
    if given.has(&["-m", "--module"]) {
        return Ok(&["python", "-m"]);
    }
    let name = words.first().and_then(Value::known).unwrap_or_default();
    let path = super::locate::absolute(name, &process.directory);
    let node = path.and_then(|path| root.resolve(&path).ok());
    let Some(node) = node else {
        return Ok(&[]);
    };
    let lower = name.to_ascii_lowercase();
    let is_script =
        given.has(&["-s", "--script"]) || lower.ends_with(".py") || lower.ends_with(".pyc");
    let text = node.text().unwrap_or_default();
    if is_script && text.lines().any(|line| line.trim_end() == "# /// script") {
        return Err(format!(
            "{name} names its own requirements, for which uv makes an environment"
        ));
    }
    let is_package = root
        .resolve(&format!("{}/__main__.py", node.path()))
        .is_ok();
    Ok(match is_script || is_package {
        true => SCRIPT,
        false => &[],
    })
}

/// `poetry run` (`poetry/utils/env/env_manager.py`): the active environment, `.venv` of the project, or none if it may not create one.
pub(crate) fn poetry(
    process: &Process,
    root: &RootFilesystem,
    command: &str,
) -> Result<ProjectEnvironment, String> {
    let (directory, text) = project(process, root, "pyproject.toml")?;
    let is_script = |line: &str| {
        let (name, _) = line.split_once('=').unwrap_or_default();
        name.trim().trim_matches('"') == command
    };
    if text.contains("scripts") && text.lines().any(is_script) {
        return Err(format!(
            "`{command}` is a script of {directory}/pyproject.toml"
        ));
    }
    let configuration = format!("{directory}/poetry.toml");
    if root.resolve(&configuration).is_ok() {
        return Err(format!("its configuration {configuration}"));
    }
    let decides = |it: &str| {
        it == "CONDA_PREFIX" || (it.starts_with("POETRY_") && !WITHOUT_EFFECT.contains(&it))
    };
    if let Some(name) = process.environment.keys().find(|it| decides(it)) {
        return Err(format!("the variable {name}"));
    }
    let own = format!("{directory}/.venv");
    match (
        process.variable("VIRTUAL_ENV"),
        process.variable("POETRY_VIRTUALENVS_CREATE"),
    ) {
        (Some(active), _) if !active.is_empty() => virtual_environment(root, active.to_owned()),
        _ if root.resolve(&own).is_ok() => virtual_environment(root, own),
        (_, Some("false" | "0")) => Ok(ProjectEnvironment::Own),
        _ => Err(format!(
            "{own} is not in the image, so the environment is one whose name is not known"
        )),
    }
}

/// `pipenv run` (`pipenv/routines/shell.py`, `pipenv/project.py`): the active environment, or `.venv` of the project.
pub(crate) fn pipenv(
    process: &Process,
    root: &RootFilesystem,
) -> Result<ProjectEnvironment, String> {
    let (directory, text) = project(process, root, "Pipfile")?;
    if text.lines().any(|line| line.trim() == "[scripts]") {
        return Err(format!("the scripts of {directory}/Pipfile"));
    }
    let variables = format!("{directory}/.env");
    if root.resolve(&variables).is_ok() {
        return Err(format!("it sets the variables in {variables}"));
    }
    let mut names = process.environment.keys();
    if let Some(name) = names.find(|it| it.starts_with("PIPENV_")) {
        return Err(format!("the variable {name}"));
    }
    let own = format!("{directory}/.venv");
    match process.variable("VIRTUAL_ENV").filter(|it| !it.is_empty()) {
        Some(active) => virtual_environment(root, active.to_owned()),
        None => virtual_environment(root, own),
    }
}

/// The directory of the project around the working directory, and the text of its file.
fn project<'r>(
    process: &Process,
    root: &'r RootFilesystem<'r>,
    name: &str,
) -> Result<(String, &'r str), String> {
    let directory = process
        .directory
        .known()
        .ok_or("the working directory is unknown")?;
    let mut directory = directory.trim_end_matches('/');
    loop {
        let path = format!("{directory}/{name}");
        if let Ok(node) = root.resolve(&path) {
            let text = Node::text(node).ok_or_else(|| format!("{path} was not read"))?;
            return Ok((directory.to_owned(), text));
        }
        match directory.rsplit_once('/') {
            Some((above, _)) => directory = above,
            None => return Err(format!("there is no {name} in the working directory")),
        }
    }
}

fn virtual_environment(
    root: &RootFilesystem,
    prefix: String,
) -> Result<ProjectEnvironment, String> {
    match root.resolve(&format!("{prefix}/pyvenv.cfg")) {
        Ok(_) => Ok(ProjectEnvironment::Virtual(prefix)),
        Err(_) => Err(format!("the environment {prefix} is not in the image")),
    }
}
