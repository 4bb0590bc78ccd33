//! `imgcheck requirements`: what an image needs of a machine.

use std::process::ExitCode;

use clap::Args;
use imgcheck::{Checker, View};

use super::formats::RequirementsFormat;
use super::images::{ImageArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck requirements`.
#[derive(Debug, Args)]
pub struct RequirementsArguments {
    /// With --format slurm: the features of the nodes, as `sinfo -h -o %f` prints them. Only those that name GPUs count
    #[arg(long, value_name = "FEATURES", required_if_eq("format", "slurm"))]
    features: Option<String>,
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    output: OutputArguments<RequirementsFormat>,
}

/// Shows what every image needs.
pub fn run(arguments: &RequirementsArguments) -> Result<ExitCode, Stop> {
    let (image, output) = (&arguments.image, &arguments.output);
    output.validate(&requests(image.images()))?;
    let checker = image
        .reading
        .apply(Checker::builder().without_rules().all_gpus())?;
    let report = image
        .reading
        .start(checker, image.images(), false, &[])?
        .check()?;
    let (width, features) = (output.width(), arguments.features.as_deref());
    output::write_text(output, |format| {
        report.render(View::Requirements(features), format, width)
    })?;
    Ok(finish(&report, 0))
}
