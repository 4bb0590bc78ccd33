//! Why a container certainly does not run its program.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::process::Process;
use super::user::Refusal;
use super::value::Cause;
use imgcheck_base::glob::glob;
use imgcheck_image::Node;

/// Why a container of the image starts nothing, or why its program does nothing: certain failures, whatever the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartFailure {
    /// `user` or `group` (the image has none of this name), `missing` (the image does not have the program), `script` (it does not have the script that a
    /// shell runs), `source` (it does not have the script that another one reads with `.` or `source`), `directory` (it does not have the directory that a script changes to), `file` (it does not have the file or directory that
    /// a small program such as `cp` needs), `permission` (the user may not execute it), `format` (it is a text without a `#!` line), `damaged` (it is empty or cut off), `loader` (the dynamic
    /// loader that it names is not in the image), `syntax` (the shell does not
    /// understand its script), `root` (the program refuses to run as root), `variable` or `option` (the dynamic loader prints something instead of running it).
    pub kind: String,
    /// The user, the group, the program as the command names it, the path of the script, directory or file, the variable with its value, the
    /// dynamic loader, or the option.
    pub subject: String,
    /// The program that does not run; empty if the container does not start.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The file that causes it; empty for the image configuration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Layer index of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Who sets the variable, as in `launch.changes`; empty for others.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// What the container engine, the shell or the loader says, or what it does.
    pub message: String,
    /// The program of the image whose name is most similar to that of a missing one, or the `#!` line that starts it; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nearest: String,
    /// The words of a missing program that is a whole command line, without quotes; empty if a shell does more with it than to split it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// A program, script or directory of a script that the image does not have.
#[derive(Debug)]
pub(crate) struct MissingProgram {
    /// What the line does: `starts …, which is not in the image`.
    pub problem: String,
    /// The line that needs it.
    pub cause: Rc<Cause>,
    /// What fails if the script ends there.
    pub failure: StartFailure,
}

impl StartFailure {
    /// No container starts as this user.
    pub(crate) fn of_user(refusal: Refusal) -> Self {
        StartFailure {
            kind: refusal.kind.to_owned(),
            subject: refusal.name,
            message: refusal.message,
            ..StartFailure::default()
        }
    }

    /// A variable makes the loader list something instead of running a program.
    pub(crate) fn of_variables(node: Node, path: &str, process: &Process) -> Option<Self> {
        let (name, value) = printing_variable(node, process)?;
        let from = process.environment.get(name)?.from.to_string();
        let listed = match name {
            "LD_DEBUG" => "its debug options",
            _ => "the libraries of the program",
        };
        Some(StartFailure {
            kind: "variable".to_owned(),
            subject: format!("{name}={value}"),
            program: path.to_owned(),
            from,
            message: format!("the dynamic loader lists {listed}, and ends"),
            ..StartFailure::default()
        })
    }

    /// A loader that is the command prints something instead of running a program.
    pub(crate) fn of_option(loader: Node, path: &str, option: String, said: String) -> Self {
        StartFailure {
            kind: "option".to_owned(),
            subject: option,
            program: path.to_owned(),
            path: loader.path(),
            layer: loader.layer(),
            message: said,
            ..StartFailure::default()
        }
    }

    /// The user may not execute the program.
    pub(crate) fn of_permissions(node: Node, path: &str, user: &str) -> Self {
        StartFailure {
            subject: user.to_owned(),
            message: format!("exec: \"{path}\": permission denied"),
            ..Self::of_file("permission", node, path, "")
        }
    }

    /// Linux does not execute the file of the program, and says why.
    pub(crate) fn of_file(kind: &str, node: Node, path: &str, says: &str) -> Self {
        StartFailure {
            kind: kind.to_owned(),
            program: path.to_owned(),
            path: node.path(),
            layer: node.layer(),
            message: format!("exec {path}: {says}"),
            ..StartFailure::default()
        }
    }
}

/// The variable with which glibc lists the libraries of a program, or its own options, instead of running the program, with its value.
/// Any value of the first counts, an empty one too (glibc 2.36, `elf/rtld.c`: `process_envvars`, `process_dl_debug`).
fn printing_variable<'p>(node: Node, process: &'p Process) -> Option<(&'static str, &'p str)> {
    const TRACE: &str = "LD_TRACE_LOADED_OBJECTS";
    const DEBUG: &str = "LD_DEBUG";
    let interpreter = node.elf()?.interpreter.as_deref()?;
    if glob(interpreter, "*/ld-musl-*") {
        return None;
    }
    if let Some(setting) = process.environment.get(TRACE) {
        return Some((TRACE, setting.value.known().unwrap_or_default()));
    }
    let value = process.variable(DEBUG)?;
    let mut options = value.split([' ', ',', ':']);
    options.any(|it| it == "help").then_some((DEBUG, value))
}
