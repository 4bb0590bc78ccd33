//! Finds the file that a process executes (`execvp(3)`).

use super::process::Process;
use super::user::User;
use super::value::Value;
use super::written::Written;
use imgcheck_image::{Access, Node, RootFilesystem};

/// The PATH that container engines set where the image sets none (`DefaultPathEnv` of runc and Moby).
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a command leads to.
#[derive(Debug)]
pub(crate) enum Located<'r> {
    /// This file, by the path that it is executed by.
    File(String, Node<'r>),
    /// A file that the host provides or the script may have changed, if it exists.
    Unknown(String),
    /// No file that can be executed.
    Missing,
}

/// The files of an image, as a user sees them after what scripts did.
pub(crate) struct Files<'r, 'c> {
    pub root: &'r RootFilesystem<'r>,
    pub user: &'c User,
    pub written: &'c Written,
    /// Of which paths it is unknown whether they exist.
    pub is_unknown: &'c dyn Fn(&str) -> bool,
}

/// The file that the first argument of a process names.
pub(crate) fn locate<'r>(files: &Files<'r, '_>, process: &Process) -> Located<'r> {
    let Some(name) = process.arguments.first().and_then(Value::known) else {
        return Located::Missing;
    };
    let search = match process.environment.get("PATH") {
        None => Some(DEFAULT_PATH),
        Some(setting) => setting.value.known(),
    };
    let directories: Vec<&str> = match (name.contains('/'), search) {
        (true, _) => vec![""],
        (false, Some(search)) => search.split(':').collect(),
        (false, None) => return Located::Unknown(name.to_owned()),
    };
    for directory in directories {
        let path = match (name.contains('/'), directory) {
            (true, _) => name.to_owned(),
            (false, "") => format!("./{name}"),
            (false, directory) => format!("{}/{name}", directory.trim_end_matches('/')),
        };
        let Some(path) = absolute(&path, &process.directory) else {
            return Located::Unknown(path);
        };
        // A link of the image may lead to a volume.
        let destination = files.root.destination(&path);
        if (files.is_unknown)(&path) || (files.is_unknown)(&destination) {
            return Located::Unknown(path);
        }
        let Ok(node) = files.root.resolve_as(&path, &files.user.credentials) else {
            continue;
        };
        if node.content().is_none() {
            continue;
        }
        let is_changed = files.written.changes_mode(&node.path());
        match node.allows(&files.user.credentials, Access::Execute) {
            // A shell may have looked it up before its mode changed.
            _ if is_changed && !name.contains('/') => return Located::Unknown(path),
            false if !is_changed => {}
            _ => return Located::File(path, node),
        }
    }
    Located::Missing
}

/// An absolute path; `None` if it is relative and the working directory is unknown.
pub(crate) fn absolute(path: &str, directory: &Value) -> Option<String> {
    match path.starts_with('/') {
        true => Some(path.to_owned()),
        false => {
            let path = path.trim_start_matches("./");
            let directory = directory.known()?.trim_end_matches('/');
            Some(format!("{directory}/{path}"))
        }
    }
}
