//! The command line: clap definitions here, and one file a command.

mod cache;
mod check;
mod claims;
mod facts;
mod fail_on;
mod images;
mod interrupt;
mod lint;
mod output;
mod progress;
mod registry;
mod rules;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing at or above --fail-on
  1  a finding at or above --fail-on
  2  the command line or a rule file is wrong
  3  the image was not found or could not be read whole; a failed scan is never a pass";

const EXAMPLES: &str = "\
Examples:
  imgcheck pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
  docker save pytorch-cuda:v2.9 | imgcheck -
  imgcheck --as registry.example/pytorch-cuda:v2.9 oci:build/image
  imgcheck facts -f json image.tar
  imgcheck tree image.tar libcudnn
  imgcheck claims pytorch/pytorch:2.8.0-cuda11.8
  imgcheck lint Dockerfile requirements.txt";

/// Proves what a GPU container image really holds, without running it, and compares that with what its labels promise.
#[derive(Debug, Parser)]
#[command(
    name = "imgcheck",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: check::CheckArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check images against what their names, labels and environment promise (the default command)
    #[command(after_long_help = EXIT_CODES)]
    Check(check::CheckArguments),
    /// Show what is in an image: every part of the GPU stack, with the evidence for its version
    Facts(facts::FactsArguments),
    /// Show what references promise, and whether such an image was ever published; no image is needed
    Claims(claims::ClaimsArguments),
    /// Check the files that an image is built from: Dockerfile, requirements.txt, environment.yml, pyproject.toml
    #[command(after_help = lint::EXAMPLES, after_long_help = lint::EXAMPLES)]
    Lint(lint::LintArguments),
    /// Show what the image's processes load: who needs it, where it was looked for, what answered and why
    Tree(tree::TreeArguments),
    /// List, show and test the rules
    Rules(rules::RulesArguments),
    /// Show and empty the cache of layer facts
    Cache(cache::CommandArguments),
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => check::run(&cli.check),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Facts(arguments)) => facts::run(&arguments),
        Some(Command::Claims(arguments)) => claims::run(&arguments),
        Some(Command::Lint(arguments)) => lint::run(&arguments),
        Some(Command::Tree(arguments)) => tree::run(&arguments),
        Some(Command::Rules(arguments)) => rules::run(&arguments),
        Some(Command::Cache(arguments)) => cache::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        output::error(&error);
        ExitCode::from(error.exit_code())
    })
}
