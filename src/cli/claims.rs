//! `imgcheck claims`: what references promise, without any image.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use imgcheck::{Checker, Verdict, View};

use super::formats::TextOrJson;
use super::interrupt::{GRACE, Run, Stop};
use super::limits::LimitArguments;
use super::output::{self, OutputArguments};
use super::policy::{ConfigArguments, FailOnArgument, RuleArguments, today};

/// Arguments of `imgcheck claims`.
#[derive(Debug, Args)]
pub struct ClaimsArguments {
    /// Image references, such as pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
    #[arg(value_name = "REFERENCE", required = true)]
    references: Vec<String>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fail_on: FailOnArgument,
    #[command(flatten)]
    output: OutputArguments<TextOrJson>,
}

/// Reads every reference. The exit code is 1 if a finding fails one, and 2 if one is not a reference; the others are reported anyway.
pub fn run(arguments: &ClaimsArguments) -> Result<ExitCode, Stop> {
    let output = &arguments.output;
    output.validate(&[])?;
    let checker = arguments
        .limits
        .apply(Checker::builder())
        .without_baseline();
    let checker = arguments.rules.apply(arguments.config.apply(checker)?);
    let checker = Arc::new(arguments.fail_on.apply(checker).build()?);
    let run = Run::start(&checker, GRACE, || ())?;
    let report = checker.claims(&arguments.references, today());
    run.check()?;
    let report = report?;
    output::write_text(output, |format| {
        report.render(View::Claims, format, output.width())
    })?;
    let is_invalid = report.references.iter().any(|it| it.error.is_some());
    Ok(ExitCode::from(match (is_invalid, report.verdict()) {
        (true, _) => 2,
        (false, Verdict::Fail) => 1,
        (false, Verdict::Pass | Verdict::Incomplete) => 0,
    }))
}
