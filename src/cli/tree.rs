//! `imgcheck tree`: what the processes of an image load, from where, and why.

use std::process::ExitCode;

use clap::Args;
use imgcheck::{Checker, Error, Format, Result, View};

use super::formats::TreeFormat;
use super::images::{ReadingArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments};

/// Arguments of `imgcheck tree`.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// Image, as for `imgcheck check`
    #[arg(value_name = "IMAGE", required_unless_present = "python")]
    image: Option<String>,
    /// Show only this library, in detail: a SONAME, a file name, a path, or the start of a name such as libcudnn
    #[arg(value_name = "LIBRARY")]
    library: Option<String>,
    /// Show which Python modules the image's program and the packages that imgcheck knows import, or only MODULE, and what raises
    #[arg(long, value_name = "MODULE", num_args = 0..=1, conflicts_with = "library")]
    python: Option<Option<String>>,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    output: OutputArguments<TreeFormat>,
}

impl TreeArguments {
    /// The image, and the module that `--python` names. `tree --python IMAGE` names no module: the only value is the image.
    ///
    /// # Errors
    /// There is no image.
    fn image_and_module(&self) -> Result<(&str, Option<String>)> {
        match (&self.image, &self.python) {
            (Some(image), python) => Ok((image, python.clone().flatten())),
            (None, Some(Some(image))) => Ok((image, None)),
            (None, _) => Err(Error::usage("`imgcheck tree` needs an image")
                .with_help("use: imgcheck tree IMAGE --python [MODULE]")),
        }
    }
}

/// Shows the loader model of every image that the argument names.
pub fn run(arguments: &TreeArguments) -> Result<ExitCode, Stop> {
    let (image, module) = arguments.image_and_module()?;
    let images = &[image.to_owned()];
    let (reading, output) = (&arguments.reading, &arguments.output);
    output.validate(&requests(images))?;
    let checker = Checker::builder().without_rules().loader_trees(true);
    let checker = checker.python_module(module);
    let report = reading
        .start(reading.apply(checker)?, images, false, &[])?
        .check()?;
    let view = match arguments.python {
        Some(_) => View::Imports,
        None => View::Loader(arguments.library.as_deref()),
    };
    // A library that is not there is an error in every format.
    report.render(view, Format::Text, None)?;
    output::write_text(output, |format| report.render(view, format, None))?;
    Ok(finish(&report, 0))
}
