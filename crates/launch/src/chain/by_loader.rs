//! The dynamic loader as the command.

use std::rc::Rc;

use super::{Chain, Next};
use crate::failure::StartFailure;
use crate::knowledge::LoaderRow;
use crate::loader_command::{Call, LoaderCommand};
use crate::locate::{Located, absolute, locate};
use crate::process::Process;
use crate::program::Program;
use crate::shell::Outcome;
use crate::step::Step;
use crate::value::Cause;
use imgcheck_base::lexical::name_of;
use imgcheck_image::{Access, Node};

impl<'r> Chain<'r, '_> {
    /// Executes a loader.
    pub(super) fn execute_loader(
        &mut self,
        row: &LoaderRow,
        mut process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node<'r>,
    ) -> Next {
        match LoaderCommand::read(row, path, &process.arguments) {
            Call::Runs(command, arguments) => {
                process.chain.push(Rc::new(Step::of(path, cause)));
                process.arguments = arguments;
                process.loader = Some(command);
                Next::Program(process)
            }
            Call::Prints(option, said) => {
                let failure = StartFailure::of_option(node, path, option, said);
                self.prints(process, cause, path, node, failure)
            }
            Call::Unknown(problem) => {
                let problem = format!("starts another program through {path}: {problem}");
                self.note(cause, &problem);
                Next::Ended(Outcome::unknown())
            }
        }
    }

    /// Ends with a program that only prints something.
    pub(super) fn prints(
        &mut self,
        process: Process,
        cause: &Rc<Cause>,
        path: &str,
        node: Node,
        failure: StartFailure,
    ) -> Next {
        self.started.push(Program {
            path: path.to_owned(),
            executable: node.path(),
            process,
            is_main: self.is_main,
            is_harmless: true,
            failure: Some(failure),
            cause: cause.clone(),
        });
        Next::Ended(Outcome::unknown())
    }

    /// Executes the program that the dynamic loader is given as the command.
    pub(super) fn execute_by_loader(
        &mut self,
        mut process: Process,
        loader: &Rc<LoaderCommand>,
        cause: &Rc<Cause>,
    ) -> Next {
        let path = absolute(&loader.program, &process.directory);
        let Some(path) = path.filter(|it| !self.is_unknown(it)) else {
            let program = &loader.program;
            self.note(
                cause,
                &format!("starts {program}, which is not decided by the image"),
            );
            return Next::Ended(Outcome::unknown());
        };
        let node = match self.loadable(loader, &path) {
            Ok(node) => node,
            Err(failure) => {
                let file = self.root.resolve(&failure.path).unwrap_or(self.root.root());
                return self.prints(process, cause, &path, file, *failure);
            }
        };
        let executable = node.path();
        let is_shell = self.knowledge.shell(name_of(&executable)).is_some();
        let is_wrapper = self.knowledge.wrapper(name_of(&executable), None).is_some();
        // Programs that the program starts get nothing of it.
        if is_shell || is_wrapper || self.knowledge.is_multi_call(name_of(&executable)) {
            return self.execute_native(process, cause, &path, node);
        }
        if let Some(failure) = StartFailure::of_variables(node, &path, &process) {
            return self.prints(process, cause, &path, node, failure);
        }
        let named = match loader.renames() && name_of(&executable).starts_with("python") {
            true => self.named(&process, path, &executable, cause),
            false => path,
        };
        if let Err(problem) = process.apply_loader(loader) {
            self.note(
                cause,
                &format!("starts {named} by {}: {problem}", loader.loader),
            );
        }
        process.loader = Some(loader.clone());
        self.execute_program(process, cause, &named, &executable, name_of(&executable))
    }

    /// The file of the program, or what the loader says of it.
    fn loadable(&self, loader: &LoaderCommand, path: &str) -> Result<Node<'r>, Box<StartFailure>> {
        let node = self.root.resolve_as(path, &self.user.credentials).ok();
        let readable = node.filter(|it| it.allows(&self.user.credentials, Access::Read));
        if let Some(program) = readable.filter(|it| it.elf().is_some()) {
            return Ok(program);
        }
        let problem = match (readable, node) {
            (Some(_), _) => "invalid ELF header",
            (None, Some(_)) => "cannot open shared object file: Permission denied",
            (None, None) => "cannot open shared object file: No such file or directory",
        };
        let file = node.or(self.root.resolve(&loader.loader).ok());
        let file = file.unwrap_or(self.root.root());
        let said = format!("{}: {problem}", loader.program);
        let subject = loader.program.clone();
        let failure = StartFailure::of_option(file, &loader.loader, subject, said);
        Err(Box::new(failure))
    }

    /// The path by which Python finds its environment: that of `argv[0]`.
    fn named(
        &mut self,
        process: &Process,
        path: String,
        executable: &str,
        cause: &Cause,
    ) -> String {
        match self.of_files(|files| locate(files, process)) {
            Located::File(named, found) if found.path() == executable => named,
            _ => {
                let zero = process.arguments[0].known().unwrap_or_default();
                let what =
                    format!("starts {path} under the name {zero}, which does not lead to it");
                self.note(cause, &what);
                path
            }
        }
    }
}
