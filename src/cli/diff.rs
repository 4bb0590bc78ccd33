//! `imgcheck diff`: what changed from one image to another.

use std::process::ExitCode;

use clap::Args;
use clap::builder::BoolishValueParser;
use imgcheck::{Checker, Comparison, Error, Format, Verdict};

use super::formats::DiffFormat;
use super::images::{ReadingArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};
use super::policy::{ImagePolicyArguments, NOT_JUDGED, WriteBaselineArgument};

/// Arguments of `imgcheck diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// Old image, as for `imgcheck check`
    #[arg(value_name = "A")]
    from: String,
    /// New image
    #[arg(value_name = "B")]
    to: String,
    /// Show only problems: no progress, and nothing unless B fails or is incomplete
    #[arg(short, long, env = "IMGCHECK_QUIET", value_parser = BoolishValueParser::new())]
    quiet: bool,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    write_baseline: WriteBaselineArgument,
    #[command(flatten)]
    output: OutputArguments<DiffFormat>,
}

/// Compares two images. The exit code is 1 if B has a finding at or above `--fail-on` that A does not have, and 3 if something
/// that matters in B could not be judged.
pub fn run(arguments: &DiffArguments) -> Result<ExitCode, Stop> {
    let names = [arguments.from.clone(), arguments.to.clone()];
    let (reading, policy, output) = (&arguments.reading, &arguments.policy, &arguments.output);
    output.validate(&requests(&names))?;
    let checker = policy.apply(reading.apply(Checker::builder())?)?;
    let checker = arguments.write_baseline.apply(checker);
    let reader = reading.start(checker, &names, arguments.quiet, &[])?;
    let mut images = Vec::new();
    for request in &reader.requests {
        // One by one, because their versions need not agree.
        let mut report = reader.checker.check(std::slice::from_ref(request));
        reader.finish()?;
        if !report.errors.is_empty() {
            return Ok(finish(&report, 0));
        }
        match (report.images.pop(), report.images.len()) {
            (Some(image), 0) => images.push(image),
            (_, others) => {
                let problem = format!("{} contains {} images", request.name(), others + 1);
                let help = "choose one with --platform, or with docker-archive:PATH:REFERENCE";
                return Err(Error::usage(problem).with_help(help).into());
            }
        }
    }
    let [from, to] = images.as_slice() else {
        return Ok(ExitCode::SUCCESS);
    };
    let comparison = Comparison::between((&arguments.from, from), (&arguments.to, to));
    let failed = reader.checker.verdict(comparison.new_findings()) == Verdict::Fail;
    let is_problem = failed || to.verdict == Verdict::Incomplete;
    output::write_text(output, |format| match format {
        Format::Text if arguments.quiet && !is_problem => Ok(String::new()),
        format => comparison.render(format, output.width()),
    })?;
    arguments
        .write_baseline
        .write(true, arguments.quiet, || comparison.baseline())?;
    Ok(ExitCode::from(match to.verdict {
        Verdict::Incomplete => NOT_JUDGED,
        _ => u8::from(failed),
    }))
}
