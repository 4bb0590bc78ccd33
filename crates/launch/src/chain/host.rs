//! What a chain of programs answers the shell.

use std::rc::Rc;

use super::{Chain, MAX_NESTING, MAX_SCRIPT, MAX_STEPS, is_text_unknown};
use crate::process::Process;
use crate::shell::{Host, MissingFile, Outcome, Presence};
use crate::user::User;
use crate::value::{Cause, Value};
use imgcheck_image::{Access, RootFilesystem};

impl<'r> Host<'r> for Chain<'r, '_> {
    fn root(&self) -> &'r RootFilesystem<'r> {
        self.root
    }

    fn spend(&mut self, steps: usize, cause: &dyn Fn(String) -> Rc<Cause>) -> bool {
        if self.steps == 0 {
            return false;
        }
        self.steps = self.steps.saturating_sub(steps);
        if self.steps == 0 {
            self.gap(&cause(format!("a script of more than {MAX_STEPS} steps")));
        }
        self.steps > 0
    }

    fn gap(&mut self, cause: &Cause) {
        let message = match cause.line {
            0 => format!("{} is not understood", cause.what),
            line => format!("line {line}: {} is not understood", cause.what),
        };
        self.push_gap(message, cause);
    }

    fn is_missing(&self, command: &Cause) -> bool {
        self.missing.iter().any(|it| *it.cause == *command)
    }

    fn file(&self, path: &str) -> Presence<'r> {
        if self.is_unknown(path) {
            return Presence::Unknown;
        }
        match self.root.resolve_as(path, &self.user.credentials) {
            Ok(node) if self.is_unknown(&node.path()) => Presence::Unknown,
            Ok(node) => Presence::Exists(node),
            Err(_) if self.is_made(path) => Presence::Unknown,
            Err(_) => Presence::Missing,
        }
    }

    fn text(&mut self, path: &str) -> Result<(&'r str, Option<usize>), String> {
        let node = match self.file(path) {
            Presence::Exists(node) => node,
            Presence::Missing => return Err("which does not exist".to_owned()),
            Presence::Unknown => return Err("which the image does not decide".to_owned()),
        };
        if !node.allows(&self.user.credentials, Access::Read) {
            return Err("which the user may not read".to_owned());
        }
        match node.text() {
            Some(text) if text.len() > MAX_SCRIPT => {
                Err(format!("which has more than {MAX_SCRIPT} bytes"))
            }
            Some(text) => Ok((text, node.layer())),
            None => {
                if is_text_unknown(node) {
                    self.missing_texts.insert(node.path());
                }
                Err("whose content was not read".to_owned())
            }
        }
    }

    fn write(&mut self, path: &Value, cause: &Rc<Cause>) {
        match path.known() {
            Some(path) => self.write_path(path, false, cause),
            None => self.note(cause, "writes a file whose name is unknown"),
        }
    }

    fn refuses_write(&self, path: &str) -> bool {
        Chain::refuses_write(self, path)
    }

    fn run(&mut self, process: Process, replaces: bool, cause: &Rc<Cause>) -> Outcome {
        if self.nesting >= MAX_NESTING {
            self.note(
                cause,
                "starts programs that start programs, too many of them",
            );
            return Outcome::unknown();
        }
        self.nesting += 1;
        let user = self.user.clone();
        let outer = self.is_main;
        self.is_main &= replaces;
        let outcome = self.follow(process, cause);
        self.is_main = outer;
        self.user = user;
        self.nesting -= 1;
        outcome
    }

    fn add_missing_file(&mut self, file: MissingFile) {
        self.note_missing_file(file);
    }

    fn add_syntax_error(&mut self, shell: &str, cause: &Rc<Cause>) {
        self.note_syntax_error(shell, cause);
    }

    fn is_of_host(&self, path: &str) -> bool {
        self.knowledge.is_of_host(path)
    }

    fn changes_mode(&self, path: &str) -> bool {
        self.written.changes_mode(path)
    }

    fn limits(&self, letter: char, value: Option<u64>) -> bool {
        let letter = letter.to_string();
        self.knowledge.limits(&letter, value, true)
    }

    fn user(&self) -> &User {
        &self.user
    }

    fn may_be_set(&self, variable: &str) -> bool {
        self.overlay.may_set(variable)
    }

    fn lacks_variable(&mut self, variable: &str, cause: Rc<Cause>) {
        self.unset.push((cause, variable.to_owned()));
    }

    fn is_special(&self, variable: &str) -> bool {
        self.knowledge.is_special(variable)
    }
}
