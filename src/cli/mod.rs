//! The command line: clap definitions here, and one file a command.

mod cache;
mod check;
mod claims;
mod completions;
mod deadline;
mod diff;
mod examples;
mod facts;
mod fail_on;
mod formats;
mod images;
mod interrupt;
mod limits;
mod lint;
mod output;
mod policy;
mod progress;
mod registry;
mod rules;
mod targets;
mod tree;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use imgcheck::internals::error::Error;
use imgcheck::internals::spelling::nearest;

/// Proves what a GPU container image really holds, without running it, and compares that with what its labels promise.
#[derive(Debug, Parser)]
#[command(
    name = "imgcheck",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = examples::CHECK, after_long_help = format!("{}\n\n{}", examples::CHECK, examples::EXIT_CODES))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: check::CheckArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check images against what their names, labels and environment promise (the default command)
    #[command(after_help = examples::CHECK, after_long_help = format!("{}\n\n{}", examples::CHECK, examples::EXIT_CODES))]
    Check(check::CheckArguments),
    /// Show what is in an image: every part of the GPU stack, with the evidence for its version
    #[command(after_help = examples::FACTS)]
    Facts(facts::FactsArguments),
    /// Show what references promise, and whether such an image was ever published; no image is needed
    #[command(after_help = examples::CLAIMS)]
    Claims(claims::ClaimsArguments),
    /// Show what changed from one image to another: stack, GPU code, driver floor, loader model, findings
    #[command(after_help = examples::DIFF)]
    Diff(diff::DiffArguments),
    /// Check the files that an image is built from: Dockerfile, requirements.txt, environment.yml, pyproject.toml
    #[command(after_help = examples::LINT, after_long_help = format!("{}\n\n{}", examples::LINT, examples::LINT_EXIT_CODES))]
    Lint(lint::LintArguments),
    /// Show what the image's processes load: who needs it, where it was looked for, what answered and why
    #[command(after_help = examples::TREE)]
    Tree(tree::TreeArguments),
    /// List, show and test the rules
    #[command(after_help = examples::RULES)]
    Rules(rules::RulesArguments),
    /// Show and empty the cache of layer facts
    #[command(after_help = examples::CACHE)]
    Cache(cache::CommandArguments),
    /// Print the completions of a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::CompletionsArguments),
    /// Write the manual pages into a directory
    Man(completions::ManArguments),
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let matches = without_empty_variables(Cli::command()).try_get_matches();
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.unwrap_or_else(|error| output::misuse(error));
    let result = match cli.command {
        None => check_by_default(&cli.check),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Facts(arguments)) => facts::run(&arguments),
        Some(Command::Claims(arguments)) => claims::run(&arguments),
        Some(Command::Diff(arguments)) => diff::run(&arguments),
        Some(Command::Lint(arguments)) => lint::run(&arguments),
        Some(Command::Tree(arguments)) => tree::run(&arguments),
        Some(Command::Rules(arguments)) => rules::run(&arguments),
        Some(Command::Cache(arguments)) => cache::run(&arguments),
        Some(Command::Completions(arguments)) => completions::completions::<Cli>(&arguments),
        Some(Command::Man(arguments)) => completions::man::<Cli>(&arguments),
    };
    result.unwrap_or_else(|error| {
        output::error(&error);
        ExitCode::from(error.exit_code())
    })
}

/// A check without the word `check`: what is named like a command was meant to be one.
fn check_by_default(
    arguments: &check::CheckArguments,
) -> imgcheck::internals::error::Result<ExitCode> {
    let command = Cli::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let images = arguments.images();
    let is_command =
        |image: &&String| names.contains(&image.as_str()) && !Path::new(image).exists();
    if let Some(name) = images.iter().find(is_command) {
        return Err(Error::Usage {
            problem: format!("`{name}` is a command and stands behind options"),
            help: Some(format!(
                "put the options behind it: imgcheck {name} …; an image of that name is `{name}:latest`"
            )),
        });
    }
    let misspelt = images
        .first()
        .filter(|first| images.len() > 1 && !first.contains(['/', ':', '.']));
    if let Some(first) = misspelt
        && let Some(name) = nearest(first, names.iter().copied())
        && !Path::new(first).exists()
    {
        return Err(Error::Usage {
            problem: format!("there is no command `{first}`"),
            help: Some(format!(
                "did you mean `{name}`? An image of that name is `{first}:latest`"
            )),
        });
    }
    check::run(arguments)
}

/// An empty variable counts as one that is not set: CI systems set those of inputs that were left out.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| match is_empty(argument.get_env()) {
            true => argument.env(None::<&str>),
            false => argument,
        })
        .mut_subcommands(without_empty_variables)
}

fn is_empty(variable: Option<&OsStr>) -> bool {
    variable
        .and_then(std::env::var_os)
        .is_some_and(|value| value.is_empty())
}
