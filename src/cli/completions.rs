//! `imgcheck completions` and `imgcheck man`: the command line for shells and as manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::interrupt::Stop;
use super::output;
use imgcheck::Error;

/// Arguments of `imgcheck completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// Shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `imgcheck man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Existing directory for the pages, such as /usr/local/share/man/man1
    directory: PathBuf,
}

/// Prints the completions of a shell.
pub fn completions<C: CommandFactory>(arguments: &CompletionsArguments) -> Result<ExitCode, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "imgcheck", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for imgcheck and one for each of its commands.
pub fn man<C: CommandFactory>(arguments: &ManArguments) -> Result<ExitCode, Stop> {
    clap_mangen::generate_to(C::command(), &arguments.directory)
        .map_err(|error| Error::output(arguments.directory.display().to_string(), error))?;
    Ok(ExitCode::SUCCESS)
}
