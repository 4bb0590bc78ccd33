//! The command line: clap definitions, and one file a command.

use std::process::ExitCode;

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    ExitCode::SUCCESS
}
