//! A program that a container starts.

use std::rc::Rc;

use super::failure::StartFailure;
use super::process::Process;
use super::value::Cause;

/// A program that is not a step on the way to another one.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The path that it is executed by.
    pub path: String,
    /// The file that the path leads to.
    pub executable: String,
    pub process: Process,
    /// Whether it replaces the container's first process.
    pub is_main: bool,
    /// Whether it does not change what runs.
    pub is_harmless: bool,
    /// Why it certainly does nothing.
    pub failure: Option<StartFailure>,
    /// The command that starts it.
    pub cause: Rc<Cause>,
}
