//! `imgcheck check`: judge images by the rules.

use std::process::ExitCode;

use clap::Args;
use imgcheck::{Checker, ImageReport, Verdict};

use super::formats::{self, CheckFormat};
use super::images::{ImageArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};
use super::policy::{ImagePolicyArguments, NOT_JUDGED, WriteBaselineArgument};
use super::view::ViewArguments;

/// Arguments of `imgcheck check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    write_baseline: WriteBaselineArgument,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    output: OutputArguments<CheckFormat>,
}

impl CheckArguments {
    /// The images as they were named.
    pub fn images(&self) -> &[String] {
        self.image.images()
    }
}

/// Checks every image. The exit code is 1 if one fails, and 3 if one could not be read or judged; the others are reported anyway.
/// `commands` are those that a misspelled image may mean.
pub fn run(arguments: &CheckArguments, commands: &[&str]) -> Result<ExitCode, Stop> {
    let (image, policy) = (&arguments.image, &arguments.policy);
    arguments.output.validate(&requests(image.images()))?;
    let checker = Checker::builder()
        .loader_trees(arguments.output.includes(CheckFormat::Html))
        .skipped_rules(arguments.view.is_verbose());
    let checker = policy.apply(image.reading.apply(checker)?)?;
    let checker = arguments.write_baseline.apply(checker);
    let is_quiet = arguments.view.is_quiet();
    let reader = image
        .reading
        .start(checker, image.images(), is_quiet, commands)?;
    let report = reader.check()?;
    formats::write(&arguments.output, &arguments.view, &report)?;
    if !is_quiet {
        for advice in reader.checker.advice(&report) {
            output::styled_remark(&advice);
        }
    }
    let baseline = || Ok((report.baseline()?, report.baseline_length()));
    arguments
        .write_baseline
        .write(report.errors.is_empty(), is_quiet, baseline)?;
    let incomplete = |image: &ImageReport| image.verdict == Verdict::Incomplete;
    let code = match report.verdict() {
        _ if report.images.iter().any(incomplete) => NOT_JUDGED,
        Verdict::Fail => 1,
        _ => 0,
    };
    Ok(finish(&report, code))
}
