//! The command line: clap definitions here, and one file a command.

mod attest;
mod cache;
mod check;
mod claims;
mod completions;
mod diff;
mod examples;
mod explain;
mod facts;
mod formats;
mod help;
mod images;
mod init;
mod interrupt;
mod knowledge;
mod limits;
mod lint;
mod names;
mod output;
mod plugin;
mod policy;
mod preflight;
mod progress;
mod registry;
mod requirements;
mod rules;
#[cfg_attr(not(feature = "gate"), path = "serve_unsupported.rs")]
mod serve;
mod size;
mod sweep;
mod tree;
mod verify;
mod view;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use imgcheck::Error;
use interrupt::Stop;

/// Check, without running it, that a GPU image holds the PyTorch, CUDA, cuDNN and Python it promises
#[derive(Debug, Parser)]
#[command(
    name = "imgcheck",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = examples::PROGRAM_SHORT, after_long_help = format!("{}\n\n{}\n\n{}", examples::CHECK, examples::EXIT_CODES, help::VARIABLES))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: check::CheckArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check images against what they promise (default command)
    ///
    /// imgcheck compares the tag, the labels and the environment with what the image contains, and asks whether it will run.
    #[command(after_help = examples::CHECK_SHORT, after_long_help = format!("{}\n\n{}\n\n{}", examples::CHECK, examples::EXIT_CODES, help::VARIABLES))]
    Check(check::CheckArguments),
    /// List an image's GPU stack, with the evidence for each version
    #[command(after_help = examples::FACTS)]
    Facts(facts::FactsArguments),
    /// Show what a tag promises, and whether it was ever published
    #[command(after_help = examples::CLAIMS)]
    Claims(claims::ClaimsArguments),
    /// Show what changed between two images
    #[command(after_help = examples::DIFF)]
    Diff(diff::DiffArguments),
    /// Check Dockerfiles, requirements.txt and other build files
    #[command(after_help = examples::LINT, after_long_help = format!("{}\n\n{}", examples::LINT, examples::LINT_EXIT_CODES))]
    Lint(lint::LintArguments),
    /// Check whether images run as manifests deploy them
    ///
    /// Does each image run on the nodes it can land on, as its container starts it?
    #[command(after_help = examples::PREFLIGHT, after_long_help = format!("{}\n\n{}", examples::PREFLIGHT, examples::PREFLIGHT_EXIT_CODES))]
    Preflight(preflight::PreflightArguments),
    /// Run an admission webhook for Kubernetes, and a REST service
    ///
    /// It answers one question: may this image run here?
    #[cfg_attr(feature = "gate", command(after_help = examples::SERVE))]
    #[cfg_attr(not(feature = "gate"), command(about = serve::ABSENT, long_about = format!("{}: {}", serve::ABSENT, serve::HELP)))]
    Serve(serve::ServeArguments),
    /// Sign an image's facts and verdict, and store them beside it
    #[command(after_help = examples::ATTEST)]
    Attest(attest::AttestArguments),
    /// Judge an image by its signed facts, without reading its layers
    #[command(after_help = examples::VERIFY)]
    Verify(verify::VerifyArguments),
    /// Check whole registries and clusters, on one machine or many
    #[command(after_help = examples::SWEEP)]
    Sweep(sweep::SweepArguments),
    /// Show which libraries an image's processes load, and why
    ///
    /// The tree names the files that need a library and where the loader finds it; --python shows modules.
    #[command(after_help = examples::TREE, override_usage = "imgcheck tree [OPTIONS] <IMAGE> [LIBRARY]")]
    Tree(tree::TreeArguments),
    /// Show where an image's bytes are, and which are not needed
    ///
    /// Sizes are those of the files, not compressed: by cause, layer and package.
    #[command(after_help = examples::SIZE)]
    Size(size::SizeArguments),
    /// Show the GPUs, driver and architecture that an image needs
    ///
    /// imgcheck judges the image on every GPU that it knows.
    #[command(after_help = examples::REQUIREMENTS)]
    Requirements(requirements::RequirementsArguments),
    /// Explain a rule, or the code of a gap or error
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArguments),
    /// Write .imgcheck.yaml and a CI job; keeps existing files
    #[command(after_help = examples::INIT)]
    Init(init::InitArguments),
    /// List, show and test rules
    #[command(after_help = examples::RULES)]
    Rules(rules::RulesArguments),
    /// Show or empty the cache of layer facts
    #[command(after_help = examples::CACHE)]
    Cache(cache::CommandArguments),
    /// Show how current the knowledge tables are
    #[command(after_help = examples::KNOWLEDGE)]
    Knowledge(knowledge::KnowledgeArguments),
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::CompletionsArguments),
    /// Write manual pages to a directory
    #[command(hide = true)]
    Man(completions::ManArguments),
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    match plugin::start(std::env::args_os().collect()) {
        Ok(plugin::Start::Run(arguments)) => exit_code(run_command(arguments)),
        Ok(plugin::Start::Describe(plugin)) => exit_code(described(&plugin)),
        Err(error) => exit_code(Err(error.into())),
    }
}

fn described(plugin: &str) -> Result<ExitCode, Stop> {
    output::print(plugin)?;
    Ok(ExitCode::SUCCESS)
}

fn run_command(arguments: Vec<OsString>) -> Result<ExitCode, Stop> {
    let command = help::shorten(without_empty_variables(Cli::command()));
    let matches = command.try_get_matches_from(arguments);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.unwrap_or_else(|error| output::misuse(names::with_what_there_is(error)));
    match cli.command {
        None => check_by_default(&cli.check),
        Some(Command::Check(arguments)) => check::run(&arguments, &[]),
        Some(Command::Facts(arguments)) => facts::run(&arguments),
        Some(Command::Claims(arguments)) => claims::run(&arguments),
        Some(Command::Diff(arguments)) => diff::run(&arguments),
        Some(Command::Lint(arguments)) => lint::run(&arguments),
        Some(Command::Preflight(arguments)) => preflight::run(&arguments),
        Some(Command::Serve(arguments)) => serve::run(&arguments),
        Some(Command::Attest(arguments)) => attest::run(&arguments),
        Some(Command::Verify(arguments)) => verify::run(&arguments),
        Some(Command::Sweep(arguments)) => sweep::run(&arguments),
        Some(Command::Tree(arguments)) => tree::run(&arguments),
        Some(Command::Size(arguments)) => size::run(&arguments),
        Some(Command::Requirements(arguments)) => requirements::run(&arguments),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Init(arguments)) => init::run(&arguments),
        Some(Command::Rules(arguments)) => rules::run(&arguments),
        Some(Command::Cache(arguments)) => cache::run(&arguments),
        Some(Command::Knowledge(arguments)) => knowledge::run(&arguments),
        Some(Command::Completions(arguments)) => completions::completions::<Cli>(&arguments),
        Some(Command::Man(arguments)) => completions::man::<Cli>(&arguments),
    }
}

fn exit_code(result: Result<ExitCode, Stop>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(Stop::Error(error)) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
        // What a shell reports for a program that a signal ended.
        Err(Stop::Signal(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
    }
}

/// A check without the word `check`: an image that has the name of a command is probably a mistake.
fn check_by_default(arguments: &check::CheckArguments) -> Result<ExitCode, Stop> {
    let command = Cli::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let images = arguments.images();
    if let Some(error) = names::of_other_tool(images) {
        return Err(error.into());
    }
    let is_command =
        |image: &&String| names.contains(&image.as_str()) && !Path::new(image).exists();
    if let Some(name) = images.iter().find(is_command) {
        let error = Error::usage(format!("`{name}` is a command: put it before the options"));
        return Err(error
            .with_help(format!(
                "use: imgcheck {name} …; for an image of that name write `{name}:latest`"
            ))
            .into());
    }
    let misspelled = images
        .first()
        .filter(|first| images.len() > 1 && !first.contains(['/', ':', '.']));
    if let Some(first) = misspelled
        && let Some(name) = names::near(first, names.iter().copied())
        && !Path::new(first).exists()
    {
        let error = Error::usage(format!("unknown command `{first}`"));
        return Err(error
            .with_help(format!(
                "did you mean `{name}`? For an image of that name write `{first}:latest`"
            ))
            .into());
    }
    check::run(arguments, &names)
}

/// Treats an empty variable like one that is not set: CI systems set empty variables for inputs that are left out.
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
