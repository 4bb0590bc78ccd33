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
    /// List images and write a plan: what there is to read, each image and each layer once; reads no layer
    #[command(after_help = examples::SWEEP_PLAN)]
    Plan(plan::PlanArguments),
    /// Read a shard of a plan into the store; repeat it as often as you like
    #[command(after_help = examples::SWEEP_RUN)]
    Run(run::RunArguments),
    /// Judge every reference of a plan from the store, by the rules and targets of today
    #[command(after_help = examples::SWEEP_JUDGE)]
    Judge(judge::JudgeArguments),
    /// Print what starts the workers: a Kubernetes Job, a Slurm array, a CI matrix
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
