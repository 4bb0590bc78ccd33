//! The `imgcheck` command: parse the arguments, run one command, return its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    imgcheck::internals::cli::run()
}
