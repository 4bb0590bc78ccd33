//! `imgcheck facts`: what is in an image, without any rule.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use imgcheck::{Checker, Error, Format, View};

use super::images::{ImageArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck facts`.
#[derive(Debug, Args)]
pub struct FactsArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    output: OutputArguments<FactsFormat>,
}

/// A format of the facts of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FactsFormat {
    /// For people
    Text,
    /// For programs: everything
    Json,
    /// CycloneDX 1.6: the GPU stack as a bill of materials
    Cyclonedx,
    /// Everything that imgcheck reads from one image, compressed (zstd); every command accepts the file as an image
    Facts,
}

/// Shows the stack of every image.
pub fn run(arguments: &FactsArguments) -> Result<ExitCode, Stop> {
    let (image, output) = (&arguments.image, &arguments.output);
    output.validate(&requests(image.images()))?;
    let checker = image.reading.apply(Checker::builder().without_rules())?;
    let reader = image.reading.start(checker, image.images(), false, &[])?;
    let saves = output.includes(FactsFormat::Facts);
    if saves && reader.requests.len() > 1 {
        let error = Error::usage("the format `facts` needs exactly one image");
        return Err(error
            .with_help("save the facts of the images one by one")
            .into());
    }
    let mut saved = Vec::new();
    let report = match reader.requests.as_slice() {
        [request] if saves => {
            let read = reader.checker.images(request);
            reader.finish()?;
            let images = read?;
            let [(facts, subject)] = images.as_slice() else {
                let problem = format!("{} contains {} images", request.name(), images.len());
                let error = Error::usage(problem)
                    .with_help("choose one with --platform, or with docker-archive:PATH:REFERENCE");
                return Err(error.into());
            };
            saved = facts.clone().named(subject.reference()).encode()?;
            reader.checker.check_facts(&images)
        }
        _ => reader.check()?,
    };
    output::write(output, |format: FactsFormat| {
        let format = match format {
            FactsFormat::Text => Format::Text,
            FactsFormat::Json => Format::Json,
            FactsFormat::Cyclonedx => Format::Cyclonedx,
            FactsFormat::Facts => return Ok(output::Rendered::Bytes(saved.clone())),
        };
        let text = report.render(View::Contents, format, output.width())?;
        Ok(output::Rendered::Text(text))
    })?;
    Ok(finish(&report, 0))
}
