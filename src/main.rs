//! The `imgcheck` command: parse the arguments, run one command, return its exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
