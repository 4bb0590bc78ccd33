//! Programs that the image does not have.

use std::rc::Rc;

use super::Chain;
use crate::failure::{MissingProgram, StartFailure};
use crate::locate::{DEFAULT_PATH, Files, Located, absolute, locate};
use crate::process::Process;
use crate::shell::Outcome;
use crate::user::User;
use crate::value::Cause;
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_base::spelling::nearest;
use imgcheck_image::{Access, Node};

impl Chain<'_, '_> {
    /// Notes a program that is not in the image. If the command itself starts it, the container fails; a script may go on.
    pub(super) fn add_missing(&mut self, process: &Process, cause: &Rc<Cause>, name: &str) {
        let is_certain = self.gaps.is_empty() && self.is_missing(process);
        if is_certain {
            let failure = self.missing_failure(process, cause, name);
            match cause.line {
                0 if self.is_main => self.failure = Some(failure),
                _ => self.missing.push(MissingProgram {
                    name: name.to_owned(),
                    cause: cause.clone(),
                    failure,
                }),
            }
        }
        if self.is_main {
            self.note_missing(cause, name);
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
        self.note_missing(&last.cause, &last.name);
        if self.gaps.len() == 1 {
            self.failure = Some(last.failure);
        }
        true
    }

    fn note_missing(&mut self, cause: &Cause, name: &str) {
        let problem = format!("starts `{name}`, which is not in the image");
        self.note(cause, &problem);
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
        // What a manifest or a template leaves open.
        let is_open = name.contains('$') || name.contains("{{");
        let is_elsewhere =
            self.overlay.other_volumes || (self.overlay.other_search_path && !name.contains('/'));
        !is_applet
            && !is_there
            && !is_open
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
        StartFailure {
            kind: "missing".to_owned(),
            subject: name.to_owned(),
            program: match cause.line {
                0 => process
                    .chain
                    .last()
                    .map_or("", |step| &step.path)
                    .to_owned(),
                _ => String::new(),
            },
            path: cause.path.clone(),
            layer: cause.layer,
            message,
            nearest: self.nearest(process, name).unwrap_or_default(),
            ..StartFailure::default()
        }
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
                .or_else(|| nearest(name, names))
        };
        if !name.contains('/') {
            return on_path().map(str::to_owned);
        }
        let path = absolute(name, &process.directory)?;
        let directory = directory_of(&path);
        let beside = nearest(name_of(&path), self.programs(directory));
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
