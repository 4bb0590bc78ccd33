//! The `imgcheck` command: parse the arguments, run one command, return its exit code.

mod cli;

use std::process::ExitCode;

/// musl's allocator serves one thread at a time, and glibc's gets slower with every verdict that the gate keeps.
#[cfg(all(feature = "gate", unix))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
