//! `imgcheck explain`: what a rule or a code of a report means.

use std::process::ExitCode;

use clap::Args;
use imgcheck::Checker;

use super::interrupt::Stop;
use super::output;
use super::policy::{ConfigArguments, RuleArguments};

/// Arguments of `imgcheck explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// ID of a rule, or code of a gap or error, as in a report: claim-torch-version, launch-not-understood, unauthorized
    #[arg(value_name = "RULE")]
    name: String,
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    rules: RuleArguments,
}

/// Prints the explanation.
pub fn run(arguments: &ExplainArguments) -> Result<ExitCode, Stop> {
    let checker = arguments.config.apply(Checker::builder())?;
    let checker = arguments.rules.apply(checker).build()?;
    output::print(&checker.explain(&arguments.name, output::width())?)?;
    Ok(ExitCode::SUCCESS)
}
