//! `imgcheck facts`: what is in an image, without any rule.

use std::process::ExitCode;

use clap::Args;

use super::formats::FactsFormat;
use super::images::{ImageArguments, Unreadable, finish};
use super::output::{self, OutputArguments};
use imgcheck::internals::error::Result;
use imgcheck::internals::limits::Limits;
use imgcheck::internals::report::Inspection;

/// Arguments of `imgcheck facts`.
#[derive(Debug, Args)]
pub struct FactsArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    output: OutputArguments<FactsFormat>,
}

/// Shows the stack of every image.
pub fn run(arguments: &FactsArguments) -> Result<ExitCode> {
    arguments.output.validate(&arguments.image.targets())?;
    let limits = arguments.image.limits(&Limits::default());
    let (scans, unreadable) = arguments.image.scan_all(false, limits)?;
    let images: Vec<Inspection> = scans.into_iter().map(|scan| scan.facts).collect();
    let errors = Unreadable::report(&unreadable);
    output::write(&arguments.output, |format: FactsFormat| {
        format.render(&images, &errors, arguments.output.width())
    })?;
    Ok(finish(&unreadable, ExitCode::SUCCESS))
}
