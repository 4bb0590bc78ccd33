//! `imgcheck claims`: what references promise, without any image.

use std::process::ExitCode;

use clap::Args;

use super::check::RuleArguments;
use super::deadline;
use super::fail_on::FailOnArgument;
use super::limits::LimitArguments;
use super::output::{self, Format, OutputArguments};
use super::policy::{ConfigArguments, today};
use imgcheck::internals::checker;
use imgcheck::internals::claims::Grammar;
use imgcheck::internals::error::Result;
use imgcheck::internals::report::{self, ReferenceReport, Verdict};

/// Arguments of `imgcheck claims`.
#[derive(Debug, Args)]
pub struct ClaimsArguments {
    /// Image references, as in pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
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
    output: OutputArguments,
}

/// Reads every reference. The exit code is 1 when a finding fails one, and 2 when one is no
/// reference: the others are reported all the same.
pub fn run(arguments: &ClaimsArguments) -> Result<ExitCode> {
    arguments.output.validate(&[])?;
    let grammar = Grammar::builtin()?;
    let config = arguments.config.load()?;
    let limits = arguments.limits.above(&config.limits);
    deadline::watch(limits, || ())?;
    let rules = arguments.rules.load_with(&config)?.within(limits);
    let reports = arguments
        .references
        .iter()
        .map(|written| {
            let report = checker::claims(without_transport(written), &grammar, &rules)?;
            let judged = config.policy.apply(report.findings, written, today());
            Ok(ReferenceReport {
                reference: written.clone(),
                findings: judged.findings,
                ignored: judged.ignored,
                ..report
            })
        })
        .collect::<Result<Vec<ReferenceReport>>>()?;
    output::write(&arguments.output, |format| match format {
        Format::Text => Ok(report::text::claims(&reports, arguments.output.width())),
        Format::Json => report::json::claims(&reports),
    })?;
    let unreadable = reports.iter().any(|report| report.error.is_some());
    let threshold = arguments.fail_on.threshold(config.policy.fail_on);
    let failed = reports
        .iter()
        .any(|report| Verdict::of(&report.findings, threshold) == Verdict::Fail);
    Ok(ExitCode::from(match (unreadable, failed) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }))
}

/// `docker://…` is how skopeo and Singularity write a reference.
fn without_transport(reference: &str) -> &str {
    reference.strip_prefix("docker://").unwrap_or(reference)
}
