//! Programs, scripts and directories that the image does not have.

use std::rc::Rc;

use super::Chain;
use crate::failure::{MissingProgram, StartFailure};
use crate::interpreter_line::interpreter;
use crate::locate::{DEFAULT_PATH, Files, Located, absolute, locate};
use crate::process::Process;
use crate::shell::{Host, MissingFile, Outcome, plain_words};
use crate::user::User;
use crate::value::Cause;
use imgcheck_base::lexical::{directory_of, is_below, name_of};
use imgcheck_base::spelling::nearest;
use imgcheck_image::{Access, Node};

impl Chain<'_, '_> {
    /// Notes a program that is not in the image. If the command itself starts it, the container fails; a script may go on.
    pub(super) fn add_missing(&mut self, process: &Process, cause: &Rc<Cause>, name: &str) {
        let is_certain = self.gaps.is_empty() && self.is_missing(process);
        let failure = is_certain.then(|| self.missing_failure(process, cause, name));
        let problem = format!("starts `{name}`, which is not in the image");
        self.note_start(cause, failure, &problem);
    }

    /// Notes a program that does not run: a gap of the container's first process, whatever fails for certain.
    pub(super) fn note_start(
        &mut self,
        cause: &Rc<Cause>,
        failure: Option<StartFailure>,
        problem: &str,
    ) {
        self.note_failure(cause, failure, problem);
        if self.is_main {
            self.note(cause, problem);
        }
    }

    /// Notes a script or directory that does not exist, as [`add_missing`](Self::add_missing) does a program.
    pub(super) fn note_missing_file(&mut self, file: MissingFile) {
        let verb = match file.kind {
            "directory" => "changes to",
            "file" => "needs",
            "source" => "reads",
            _ => "runs",
        };
        let problem = format!("{verb} `{}`, which is not in the image", file.name);
        let is_certain = self.gaps.is_empty() && !self.may_exist(file.name, file.path);
        let failure = is_certain.then(|| StartFailure {
            kind: file.kind.to_owned(),
            subject: file.path.to_owned(),
            program: match file.cause.line {
                0 => file.shell.clone(),
                _ => String::new(),
            },
            path: file.cause.path.clone(),
            layer: file.cause.layer,
            message: file.message.clone(),
            ..StartFailure::default()
        });
        self.note_failure(&file.cause, failure, &problem);
        if self.is_main && matches!(file.kind, "file" | "script") {
            self.note(&file.cause, &problem);
        }
    }

    /// Whether something that is not in the image may bring a file, or another user may see it.
    pub(super) fn may_exist(&self, name: &str, path: &str) -> bool {
        let root = self.root;
        let is_below = |above: &String| is_below(path, above);
        is_open(name)
            || self.overlay.other_volumes
            || root.resolve(path).is_ok()
            || self.is_unknown(&root.destination(path))
            || self.image_volumes.iter().any(is_below)
    }

    /// Notes a syntax error. What shells other than bash and dash refuse is not known.
    pub(super) fn note_syntax_error(&mut self, shell: &str, cause: &Rc<Cause>) {
        let real = self.root.resolve(shell).map(|it| it.path());
        let is_known = real.is_ok_and(|it| matches!(name_of(&it), "bash" | "dash"));
        if !is_known {
            self.gap(cause);
            return;
        }
        let failure = self.gaps.is_empty().then(|| StartFailure {
            kind: "syntax".to_owned(),
            subject: format!("line {}", cause.line),
            program: shell.to_owned(),
            path: cause.path.clone(),
            layer: cause.layer,
            message: cause.what.clone(),
            ..StartFailure::default()
        });
        self.note_failure(cause, failure, "ends the script before it starts a program");
    }

    /// Notes a program that does nothing because root runs it.
    pub(super) fn note_refusal_of_root(&mut self, path: &str, executable: &str, cause: &Rc<Cause>) {
        let layer = self.root.resolve(executable).ok().and_then(|it| it.layer());
        let failure = self.gaps.is_empty().then(|| StartFailure {
            kind: "root".to_owned(),
            subject: cause.path.clone(),
            program: path.to_owned(),
            path: executable.to_owned(),
            layer,
            message: format!("{} has detected an attempt to run as root.", name_of(path)),
            ..StartFailure::default()
        });
        self.note_failure(
            cause,
            failure,
            &format!("starts {path}, which refuses to run as root"),
        );
    }

    fn note_failure(&mut self, cause: &Rc<Cause>, failure: Option<StartFailure>, problem: &str) {
        let Some(failure) = failure else { return };
        match cause.line {
            0 if self.is_main => self.failure = Some(failure),
            _ => self.missing.push(MissingProgram {
                problem: problem.to_owned(),
                cause: cause.clone(),
                failure,
            }),
        }
    }

    /// Whether a script ends because a program is missing, which is then the failure of the container.
    pub(super) fn check_missing(&mut self, outcome: &Outcome) -> bool {
        let (Some(false), Some(last)) = (outcome.status.is_success(), &outcome.last) else {
            return false;
        };
        let missing = std::mem::take(&mut self.missing);
        let Some(last) = missing.into_iter().find(|it| it.cause == *last) else {
            return false;
        };
        self.note(&last.cause, &last.problem);
        if self.gaps.len() == 1 {
            self.failure = Some(last.failure);
        }
        true
    }

    /// Whether nothing is there for any user. The applets of a multi-call shell need no files.
    fn is_missing(&self, process: &Process) -> bool {
        let root = User::of(self.root, "");
        let files = Files {
            root: self.root,
            user: &root,
            written: &self.written,
            is_unknown: &|path| self.is_unknown(path),
        };
        let mut steps = process.chain.iter();
        let is_applet = steps.any(|step| {
            let shell = self.root.resolve(&step.path);
            shell.is_ok_and(|it| self.knowledge.is_multi_call(name_of(&it.path())))
        });
        let name = process.arguments[0].known().unwrap_or_default();
        let path = name
            .contains('/')
            .then(|| absolute(name, &process.directory));
        let is_there =
            path.is_some_and(|path| path.is_none_or(|it| self.root.resolve(&it).is_ok()));
        let is_on_path = !name.contains('/');
        let overlay = self.overlay;
        let is_elsewhere = overlay.other_volumes && !(is_on_path && overlay.programs_known)
            || overlay.other_search_path && is_on_path;
        !is_applet
            && !is_there
            && !is_open(name)
            && !is_elsewhere
            && matches!(locate(&files, process), Located::Missing)
    }

    fn missing_failure(&self, process: &Process, cause: &Cause, name: &str) -> StartFailure {
        let message = match (process.chain.is_empty(), name.contains('/')) {
            (true, true) => format!("exec: \"{name}\": stat {name}: no such file or directory"),
            (true, false) => format!("exec: \"{name}\": executable file not found in $PATH"),
            (false, true) => format!("{name}: No such file or directory"),
            (false, false) => format!("{name}: not found"),
        };
        // The carriage return is in the script that `env` is to start a program for.
        let is_starter = |path: &str| {
            let file = self.root.resolve(path).ok();
            !name.ends_with('\r') || file.and_then(Node::text).is_some()
        };
        let mut starters = process.chain.iter().rev().map(|step| step.path.as_str());
        let starter = starters.find(|it| is_starter(it)).unwrap_or_default();
        let nearest = self.nearest(process, name).unwrap_or_default();
        let is_of_line = cause.line == 0 && self.is_interpreter(starter, name);
        StartFailure {
            kind: "missing".to_owned(),
            subject: name.to_owned(),
            program: match cause.line {
                0 => starter.to_owned(),
                _ => String::new(),
            },
            path: cause.path.clone(),
            layer: cause.layer,
            message,
            nearest: match is_of_line && !nearest.is_empty() && !nearest.contains('/') {
                true => format!("#!/usr/bin/env {nearest}"),
                false => nearest,
            },
            words: command_line(name).unwrap_or_default(),
            ..StartFailure::default()
        }
    }

    /// Whether the `#!` line of a script names a program.
    fn is_interpreter(&self, script: &str, name: &str) -> bool {
        let text = self.root.resolve(script).ok().and_then(Node::text);
        let named = text.and_then(interpreter).map(|(it, _)| it);
        named.is_some_and(|it| it == name || name.strip_prefix("./") == Some(it))
    }

    /// The program with the most similar name, in the same directory or on PATH.
    fn nearest(&self, process: &Process, name: &str) -> Option<String> {
        let search = process.variable("PATH").unwrap_or(DEFAULT_PATH);
        let on_path = || {
            let names: Vec<&str> = search.split(':').flat_map(|it| self.programs(it)).collect();
            let name = name_of(name);
            names
                .iter()
                .find(|it| **it == name)
                .copied()
                .or_else(|| similar(name, names))
        };
        if !name.contains('/') {
            return on_path().map(str::to_owned);
        }
        let path = absolute(name, &process.directory)?;
        let directory = directory_of(&path);
        let beside = similar(name_of(&path), self.programs(directory));
        let beside = beside.map(|it| format!("{}/{it}", directory.trim_end_matches('/')));
        beside.or_else(|| on_path().map(str::to_owned))
    }

    /// The names of the programs in a directory.
    fn programs(&self, directory: &str) -> impl Iterator<Item = &str> {
        let credentials = &self.user.credentials;
        let is_program = |it: &Node| {
            let file = self.root.resolve(&it.path()).ok();
            let file = file.filter(|it| it.content().is_some());
            file.is_some_and(|it| it.allows(credentials, Access::Execute))
        };
        self.root
            .read_dir(directory)
            .filter(is_program)
            .map(Node::name)
    }
}

/// The program that may be meant. With another letter, a name as short as `sh` is that of another program; only a number may follow it.
fn similar<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const SHORT: usize = 3;
    let is_number = |it: &str| it.starts_with(|c: char| c.is_ascii_digit());
    let may_be_meant =
        |it: &&str| name.len() > SHORT || it.strip_prefix(name).is_some_and(is_number);
    nearest(name, known.into_iter().filter(may_be_meant))
}

/// The words of a whole command line that was written as one word; `None` if it is not one, or needs a shell.
fn command_line(name: &str) -> Option<Vec<String>> {
    const OF_SHELL: [&str; 8] = [
        ".", "cd", "eval", "exec", "export", "set", "source", "ulimit",
    ];
    let words = name
        .contains(char::is_whitespace)
        .then(|| plain_words(name))??;
    let is_program = words
        .first()
        .is_some_and(|it| !OF_SHELL.contains(&it.as_str()));
    is_program.then_some(words)
}

/// Whether a manifest or a template leaves open what a name is.
fn is_open(name: &str) -> bool {
    name.contains('$') || name.contains("{{")
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn a_short_name_with_another_letter_is_another_program() {
        assert_eq!(similar("sh", ["sg", "ssh", "bash"]), None);
        assert_eq!(similar("pip", ["zip", "pip3"]), Some("pip3"));
        assert_eq!(similar("pyhton", ["proton", "python"]), Some("python"));
    }
}
