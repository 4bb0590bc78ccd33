//! Findings and gaps of a container that starts nothing, or whose final program is unknown.

use super::Chain;
use crate::failure::StartFailure;
use crate::locate::absolute;
use crate::process::Process;
use crate::program::Program;
use crate::shell::Outcome;
use crate::value::Cause;
use imgcheck_base::lexical::name_of;

impl Chain<'_, '_> {
    /// Notes that the command fails before it starts a program, or that the program is given another one and may start it.
    pub fn check_end(&mut self, outcome: &Outcome, program: Option<&Program>) {
        if self.failure.is_some() {
            return;
        }
        let starts_nothing = program.is_none() && self.may_start_nothing(outcome);
        let program = program.filter(|it| !it.is_harmless);
        if program.is_none() && self.check_missing(outcome) || !self.gaps.is_empty() {
            return;
        }
        if let (Some(false), Some(last), None) =
            (outcome.status.is_success(), &outcome.last, program)
        {
            let cause = last.clone();
            let unset = self.unset.iter().find(|(at, _)| *at == cause);
            let when = unset.map(|(_, name)| format!(" if {name} is not set"));
            let when = when.unwrap_or_default();
            self.note(
                &cause,
                &format!("fails{when}, which ends the script before it starts a program"),
            );
        }
        if let Some(last) = outcome.last.as_ref().filter(|_| starts_nothing) {
            self.note(&last.clone(), "ends the script, which starts no program");
        }
        if let Some(program) = program.filter(|it| self.is_given_python(it)) {
            let cause = program.cause.clone();
            let path = &program.path;
            self.note(
                &cause,
                &format!("starts {path}, which is given Python and may start it in its own way"),
            );
        }
    }

    /// Whether a script that starts no program is unusual: a Pod may have one that only copies files.
    fn may_start_nothing(&self, outcome: &Outcome) -> bool {
        let is_of_image = self.overlay.command.is_none() && self.overlay.args.is_none();
        is_of_image && outcome.status.is_success() != Some(false)
    }

    /// Whether a program that is not Python has one in its arguments.
    fn is_given_python(&self, program: &Program) -> bool {
        let name = name_of(&program.executable);
        let is_known = name.contains("python")
            || name.contains("pypy")
            || self.knowledge.shell(name).is_some();
        let is_script = self
            .root
            .resolve(&program.executable)
            .is_ok_and(|it| it.elf().is_none());
        let mut arguments = program.process.arguments.iter().skip(1);
        !is_known && !is_script && arguments.any(|it| it.known().is_some_and(names_python))
    }

    /// Why the container's first program cannot be executed, if the image has it and the user may not.
    pub(super) fn is_not_allowed(&self, process: &Process, cause: &Cause) -> Option<StartFailure> {
        let path = process.arguments.first()?.known()?;
        if cause.line != 0 || !self.is_main || !path.contains('/') {
            return None;
        }
        let absolute = absolute(path, &process.directory)?;
        if self.is_unknown(&absolute) {
            return None;
        }
        let node = self.root.resolve(&absolute).ok()?;
        let is_file = node.content().is_some() && process.chain.is_empty();
        is_file.then(|| StartFailure::of_permissions(node, path, &self.user.written))
    }
}

/// Whether a word of a text is the name or path of a Python: `exec("python3", …)`.
fn names_python(text: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{},;|&=".contains(c);
    let mut words = text.split(ends).map(name_of);
    words.any(|word| {
        let version = word.strip_prefix("python").or(word.strip_prefix("pypy"));
        version.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit() || it == b'.'))
    })
}
