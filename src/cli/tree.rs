//! `imgcheck tree`: what the processes of an image load, from where, and why.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use imgcheck::{Checker, Format, View};

use super::images::{ReadingArguments, finish, requests};
use super::interrupt::Stop;
use super::output::{self, OutputArguments, Rendered};

/// Arguments of `imgcheck tree`.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// Image, as for `imgcheck check`
    #[arg(value_name = "IMAGE")]
    image: String,
    /// Show only this library, with everything about it: a SONAME, a file name, a path, or the start of a name such as libcudnn
    #[arg(value_name = "LIBRARY")]
    library: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    output: OutputArguments<TreeFormat>,
}

/// A format of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TreeFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// A graph for Graphviz.
    Dot,
    /// A page with the graph, for a browser.
    Html,
}

/// Shows the loader model of every image that the argument names.
pub fn run(arguments: &TreeArguments) -> Result<ExitCode, Stop> {
    let images = std::slice::from_ref(&arguments.image);
    let (reading, output) = (&arguments.reading, &arguments.output);
    output.validate(&requests(images))?;
    let checker = Checker::builder().without_rules().loader_trees(true);
    let report = reading.start(reading.apply(checker)?, images)?.check()?;
    let view = View::Loader(arguments.library.as_deref());
    // A library that is not there is an error in every format.
    report.render(view, Format::Text, None)?;
    output::write(output, |format| {
        let format = match format {
            TreeFormat::Text => Format::Text,
            TreeFormat::Json => Format::Json,
            TreeFormat::Dot => Format::Dot,
            TreeFormat::Html => Format::Html,
        };
        report.render(view, format, None).map(Rendered::Text)
    })?;
    Ok(finish(&report, ExitCode::SUCCESS))
}
