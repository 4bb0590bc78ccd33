//! Side effects of programs that start no other program: files they write, text they print.

use std::rc::Rc;

use super::chain::Chain;
use super::conda::{Answer, Conda};
use super::knowledge::Harmless;
use super::process::Process;
use super::shell::Outcome;
use super::value::{Cause, Status, Value};
use crate::gap::{Gap, GapCode};

impl Chain<'_, '_> {
    /// What a program of conda answers a shell.
    pub fn ask_conda(
        &mut self,
        process: &Process,
        cause: &Rc<Cause>,
        path: &str,
        executable: &str,
        name: &str,
    ) -> Option<Outcome> {
        if !matches!(name, "conda" | "mamba" | "micromamba") {
            return None;
        }
        let conda = Conda {
            process,
            root: self.root,
            executable,
            is_unknown: &|path| self.is_unknown(path),
        };
        Some(match conda.answer()? {
            Answer::Text(text) => Outcome {
                status: Status::Success,
                output: Some(text),
            },
            Answer::Fails => Outcome {
                status: Status::Failure(Some(1)),
                output: Some(String::new()),
            },
            Answer::Unknown(problem) => {
                self.note(
                    cause,
                    &format!("asks {path} about what is not understood: {problem}"),
                );
                Outcome::unknown()
            }
        })
    }

    /// Whether a harmless program is one with these arguments. Notes the files that it writes.
    pub fn stays_harmless(&mut self, row: &Harmless, process: &Process, cause: &Rc<Cause>) -> bool {
        let arguments = &process.arguments[1..];
        let does_more = |value: &Value| {
            value
                .known()
                .map_or(row.has_exceptions(), |it| row.does_more(it))
        };
        let first = arguments.first().and_then(Value::known);
        if arguments.iter().any(does_more) || !row.is_harmless_with(first) {
            return false;
        }
        let is_option = |it: &&Value| it.known().is_some_and(|it| it.starts_with('-'));
        let operands: Vec<&Value> = arguments.iter().filter(|it| !is_option(it)).collect();
        if row.refreshes_cache && self.user.id.is_none_or(|id| id == 0) {
            let gap = Gap {
                code: GapCode::LaunchNotUnderstood,
                message: format!(
                    "line {}, {}, changes the cache of the loader",
                    cause.line, cause.what
                ),
                path: Some(cause.path.clone()).filter(|path| !path.is_empty()),
                layer: cause.layer,
            };
            self.refreshes_cache.get_or_insert(gap);
        }
        for operand in row.written(&operands) {
            let path = operand.known();
            match path.and_then(|it| super::locate::absolute(it, &process.directory)) {
                Some(path) => self.write_path(&path, row.makes_directories(), cause),
                None => self.note(cause, "writes files whose names are unknown"),
            }
        }
        true
    }

    pub fn write_path(&mut self, path: &str, is_directory: bool, cause: &Rc<Cause>) {
        let real = self.written.real(self.root, path);
        if !is_directory && !self.knowledge.is_data(&real) {
            self.note(cause, &format!("writes {real}"));
        }
        self.written.add(&real, is_directory, cause);
        if real != path {
            self.written.add(path, is_directory, cause);
        }
    }
}
