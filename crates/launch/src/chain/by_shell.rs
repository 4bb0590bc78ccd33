//! Texts without a `#!` line, which Linux does not execute (`execve(2)`, ENOEXEC).

use std::rc::Rc;

use super::by_linux::EXEC_FORMAT;
use super::{Chain, Next};
use crate::failure::StartFailure;
use crate::process::Process;
use crate::shell::Outcome;
use crate::value::{Cause, Status, Value};
use imgcheck_base::lexical::name_of;
use imgcheck_image::Node;

/// What `execvp` of glibc runs such a text with (`_PATH_BSHELL`), and dash, too.
const SHELL: &str = "/bin/sh";

impl<'r> Chain<'r, '_> {
    /// Container runtimes fail with such a file; shells, and programs that call `execvp` of glibc, run it as a shell script.
    pub(super) fn execute_text(
        &mut self,
        mut process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node<'r>,
    ) -> Next {
        // Linux does not read longer `#!` lines to their end.
        let is_certain = node.text().is_some_and(is_refused);
        if is_certain && self.is_main && cause.line == 0 && process.chain.is_empty() {
            self.failure = Some(StartFailure::of_file("format", node, path, EXEC_FORMAT));
            let status = Status::Failure(Some(126));
            return Next::Ended(Outcome::known(status, String::new()));
        }
        if let Some(shell) = self.fallback(&process).filter(|_| is_certain) {
            let words = [shell.as_str(), path].map(Value::from);
            process.arguments.splice(..1, words);
            return Next::Program(process);
        }
        self.note(cause, &format!("starts {path}, which has no valid #! line"));
        Next::Ended(Outcome::unknown())
    }

    /// The shell that runs a text instead, by the program that starts it.
    fn fallback(&self, process: &Process) -> Option<String> {
        let starter = &process.chain.last()?.path;
        let node = self.root.resolve(starter).ok()?;
        if let Some(is_bash) = self.knowledge.shell(name_of(&node.path())) {
            return Some(if is_bash { starter.as_str() } else { SHELL }.to_owned());
        }
        let wrapper = self.knowledge.wrapper(name_of(starter), None)?;
        let loader = node.elf()?.interpreter.as_deref()?;
        let is_glibc = !name_of(loader).starts_with("ld-musl");
        (wrapper.execvp && is_glibc).then(|| SHELL.to_owned())
    }
}

/// Whether a text surely has no interpreter.
fn is_refused(text: &str) -> bool {
    let line = text.strip_prefix("#!").map(|it| it.lines().next());
    line.is_none_or(|it| it.unwrap_or_default().trim_matches([' ', '\t']).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_linux_does_not_execute() {
        for (text, expected) in [
            ("", true),
            ("echo\n", true),
            ("\u{feff}#!/bin/sh\n", true),
            (" #!/bin/sh\n", true),
            ("#!\necho", true),
            ("#! \t", true),
            ("#!/bin/sh", false),
        ] {
            assert_eq!(is_refused(text), expected, "{text:?}");
        }
        assert!(!is_refused(&format!("#!/{}", "x".repeat(256))));
    }
}
