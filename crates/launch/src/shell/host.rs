//! What a shell needs of the image around it.

use std::rc::Rc;

use crate::process::Process;
use crate::user::User;
use crate::value::{Cause, Status, Value};
use imgcheck_image::{Node, RootFilesystem};

/// What a program leaves behind.
#[derive(Debug)]
pub struct Outcome {
    pub status: Status,
    /// What it writes to its standard output; `None` if that is unknown.
    pub output: Option<String>,
    /// Whether that is one whole number, where it is unknown.
    pub is_number: bool,
    /// The last command of a script.
    pub last: Option<Rc<Cause>>,
}

/// A file as a script sees it.
#[derive(Debug, Clone, Copy)]
pub enum Presence<'r> {
    Exists(Node<'r>),
    Missing,
    /// The host provides it, or the script may have changed it.
    Unknown,
}

/// A script or directory that a shell needs and that does not exist.
#[derive(Debug)]
pub struct MissingFile<'s> {
    /// As in [`StartFailure::kind`](crate::StartFailure::kind): `script`, `source`, `directory` or `file`.
    pub kind: &'static str,
    /// As the command names it.
    pub name: &'s str,
    /// Its absolute path.
    pub path: &'s str,
    /// What the shell says.
    pub message: String,
    /// The shell that is started with the script; empty for a command of a shell.
    pub shell: String,
    /// The command that needs it.
    pub cause: Rc<Cause>,
}

/// The image and the bounds of the model.
pub trait Host<'r> {
    /// The root filesystem.
    fn root(&self) -> &'r RootFilesystem<'r>;

    /// Takes steps from the budget. False if it is exhausted, which is a gap.
    fn spend(&mut self, steps: usize, cause: &dyn Fn(String) -> Rc<Cause>) -> bool;

    /// Notes that something is not understood.
    fn gap(&mut self, cause: &Cause);

    /// Whether the image certainly does not have the program of a command.
    fn is_missing(&self, command: &Cause) -> bool;

    /// A file by its absolute path.
    fn file(&self, path: &str) -> Presence<'r>;

    /// Notes a script or directory that does not exist, which fails if the shell ends with it.
    fn add_missing_file(&mut self, file: MissingFile);

    /// Notes a syntax error, which ends the script of the shell at this path.
    fn add_syntax_error(&mut self, shell: &str, cause: &Rc<Cause>);

    /// Whether the host provides a file, such as those of the driver.
    fn is_of_host(&self, path: &str) -> bool;

    /// The text of a script; the error says why it is unavailable.
    fn text(&mut self, path: &str) -> Result<(&'r str, Option<usize>), String>;

    /// Notes that a script writes a file, by its absolute path.
    fn write(&mut self, path: &Value, cause: &Rc<Cause>);

    /// Whether the user may certainly not write a file, by its absolute path, or make it.
    fn refuses_write(&self, path: &str) -> bool;

    /// Runs a program. `replaces`: instead of the shell, by `exec`.
    fn run(&mut self, process: Process, replaces: bool, cause: &Rc<Cause>) -> Outcome;

    /// Whether a script changed the permissions of a file.
    fn changes_mode(&self, path: &str) -> bool;

    /// Whether a limit, by the letter of `ulimit`, may change what a program does. The value is `None` if it is unknown.
    fn limits(&self, letter: char, value: Option<u64>) -> bool;

    /// The user that the shell runs as.
    fn user(&self) -> &User;

    /// Whether something outside of the image may set a variable.
    fn may_be_set(&self, variable: &str) -> bool;

    /// Notes that a shell ends at a command, because a variable is not set.
    fn lacks_variable(&mut self, variable: &str, cause: Rc<Cause>);

    /// Whether a variable changes how shells read scripts.
    fn is_special(&self, variable: &str) -> bool;
}
