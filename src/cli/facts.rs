//! `imgcheck facts`: what is in an image, without any rule.

use std::process::ExitCode;

use clap::Args;

use super::output::{self, OutputArguments};
use super::{ImageArguments, progress};
use crate::error::Result;
use crate::pipeline::Scanner;
use crate::report;

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
    let scanner = Scanner::new(arguments.image.reading())?;
    let progress = progress::bar(arguments.image.no_progress);
    let mut images = Vec::new();
    for target in arguments.image.targets() {
        let scans = scanner.scan(&target, &progress)?;
        images.extend(scans.into_iter().map(|scan| scan.facts));
    }
    output::write(&arguments.output, |format| match format {
        output::Format::Text => Ok(report::text::facts(&images, arguments.output.width())),
        output::Format::Json => report::json::facts(&images),
    })?;
    Ok(ExitCode::SUCCESS)
}
