//! `imgcheck knowledge`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use imgcheck::{Format, KnowledgeStatus};

use super::formats::TextOrJson;
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck knowledge`.
#[derive(Debug, Args)]
pub struct KnowledgeArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show when the tables were last compared with published releases, and the newest releases they contain
    Status {
        #[command(flatten)]
        output: OutputArguments<TextOrJson>,
    },
}

/// Runs one of the commands.
pub fn run(arguments: &KnowledgeArguments) -> Result<ExitCode, Stop> {
    let Command::Status { output } = &arguments.command;
    let status = KnowledgeStatus::read()?;
    output::write_text(output, |format| match format {
        Format::Json => status.to_json(),
        _ => Ok(text(&status)),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn text(status: &KnowledgeStatus) -> String {
    let tables = status.tables.iter();
    let tables = tables.map(|it| format!("{:<24}  {}\n", it.name, it.date));
    let releases = status.releases.iter();
    let releases =
        releases.map(|it| format!("{:<24}  {:<12}  {}\n", it.project, it.newest, it.released));
    format!(
        "tables of {}\n\n{:<24}  COMPARED\n{}\n{:<24}  NEWEST        RELEASED\n{}",
        status.date,
        "TABLE",
        tables.collect::<String>(),
        "PROJECT",
        releases.collect::<String>(),
    )
}
