//! `imgcheck size`: where the bytes of an image are.

use std::process::ExitCode;

use clap::Args;
use imgcheck::{Checker, View};

use super::formats::TextOrJson;
use super::images::{ImageArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    #[command(flatten)]
    image: ImageArguments,
    /// Also show the GPU code that none of these GPUs can select, by nvidia-smi name or architecture: h100, "rtx 4090", sm_90, 9.0; repeatable,
    /// or several separated by commas
    #[arg(long, value_name = "GPU", env = "IMGCHECK_GPU", value_delimiter = ',')]
    gpu: Vec<String>,
    #[command(flatten)]
    output: OutputArguments<TextOrJson>,
}

/// Shows the sizes of every image.
pub fn run(arguments: &SizeArguments) -> Result<ExitCode, Stop> {
    let (image, output) = (&arguments.image, &arguments.output);
    output.validate(&requests(image.images()))?;
    let checker = Checker::builder().without_rules().gpus(&arguments.gpu);
    let checker = image.reading.apply(checker)?;
    let report = image
        .reading
        .start(checker, image.images(), false, &[])?
        .check()?;
    let width = output.width();
    output::write_text(output, |format| report.render(View::Sizes, format, width))?;
    Ok(finish(&report, 0))
}
