//! `imgcheck requirements`: what an image needs of a machine.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use imgcheck::{Checker, Format, View};

use super::images::{ImageArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck requirements`.
#[derive(Debug, Args)]
pub struct RequirementsArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    output: OutputArguments<RequirementsFormat>,
}

/// A format of requirements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RequirementsFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A node affinity for the labels of GPU Feature Discovery: a part of the `spec` of a Pod
    Kubernetes,
}

impl From<RequirementsFormat> for Format {
    fn from(format: RequirementsFormat) -> Self {
        match format {
            RequirementsFormat::Text => Format::Text,
            RequirementsFormat::Json => Format::Json,
            RequirementsFormat::Kubernetes => Format::Kubernetes,
        }
    }
}

/// Shows what every image needs.
pub fn run(arguments: &RequirementsArguments) -> Result<ExitCode, Stop> {
    let (image, output) = (&arguments.image, &arguments.output);
    output.validate(&requests(image.images()))?;
    let checker = image
        .reading
        .apply(Checker::builder().without_rules().all_gpus())?;
    let report = image.reading.start(checker, image.images(), &[])?.check()?;
    let width = output.width();
    output::write_text(output, |format| {
        report.render(View::Requirements, format, width)
    })?;
    Ok(finish(&report, 0))
}
