//! `imgcheck facts`: what is in an image, without any rule.

use std::process::ExitCode;

use clap::Args;

use super::images::{ImageArguments, Unreadable, finish};
use super::output::{self, Format, OutputArguments};
use crate::error::Result;
use crate::report::{self, ImageFacts};

/// Arguments of `imgcheck facts`.
#[derive(Debug, Args)]
pub struct FactsArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Shows the stack of every image.
pub fn run(arguments: &FactsArguments) -> Result<ExitCode> {
    arguments.output.validate(&arguments.image.targets())?;
    let (scans, unreadable) = arguments.image.scan_all()?;
    let images: Vec<ImageFacts> = scans.into_iter().map(|scan| scan.facts).collect();
    let errors = Unreadable::report(&unreadable);
    output::write(&arguments.output, |format| match format {
        Format::Text => Ok(report::text::facts(&images, arguments.output.width())),
        Format::Json => report::json::facts(&images, &errors),
    })?;
    Ok(finish(&unreadable, ExitCode::SUCCESS))
}
