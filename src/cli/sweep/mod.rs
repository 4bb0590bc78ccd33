//! `imgcheck sweep`: check whole registries and clusters, on as many machines as there are.

mod judge;
mod manifests;
mod place;
mod plan;
mod run;
mod settings;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::examples;
use super::interrupt::Stop;

/// Arguments of `imgcheck sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List images and write a plan that contains each image and layer once; reads no layers
    #[command(after_help = examples::SWEEP_PLAN)]
    Plan(plan::PlanArguments),
    /// Read a shard of a plan into the store; safe to repeat
    #[command(after_help = examples::SWEEP_RUN)]
    Run(run::RunArguments),
    /// Judge every reference of a plan by today's rules and targets, with facts from the store
    #[command(after_help = examples::SWEEP_JUDGE)]
    Judge(judge::JudgeArguments),
    /// Print a manifest that starts the workers: a Kubernetes Job, a Slurm array, a CI matrix
    #[command(after_help = examples::SWEEP_MANIFESTS)]
    Manifests(manifests::ManifestsArguments),
}

/// Runs one part of a sweep.
pub fn run(arguments: &SweepArguments) -> Result<ExitCode, Stop> {
    match &arguments.command {
        Command::Plan(arguments) => plan::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Judge(arguments) => judge::run(arguments),
        Command::Manifests(arguments) => manifests::run(arguments),
    }
}
