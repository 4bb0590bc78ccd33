//! `imgcheck tree`: who loads what, from where, and why.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::images::{ReadingArguments, Unreadable, finish, targets};
use super::output::{self, OutputArguments};
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::limits::Limits;
use imgcheck::internals::report::{self, tree::TreeQuery};

/// Arguments of `imgcheck tree`.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// The image, as for `imgcheck check`
    #[arg(value_name = "IMAGE")]
    image: String,
    /// Tell all about this library: a SONAME, a file name, a path, or the beginning of a name, as in libcudnn
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
    /// A page with the graph as a picture, for a browser.
    Html,
}

/// Shows the loader model of every image that the argument names.
pub fn run(arguments: &TreeArguments) -> Result<ExitCode> {
    let images = std::slice::from_ref(&arguments.image);
    arguments.output.validate(&targets(images))?;
    let limits = arguments.reading.limits(&Limits::default());
    let (scans, unreadable) = arguments.reading.scan_all(images, true, limits)?;
    let errors = Unreadable::report(&unreadable);
    let library = arguments.library.as_deref();
    let question = |image| TreeQuery { image, library };
    let mut texts = Vec::new();
    for scan in &scans {
        let image = scan.facts.name();
        let text = report::tree::text(question(image), &scan.tree)
            .ok_or_else(|| unknown(arguments, image))?;
        texts.push(text);
    }
    output::write(&arguments.output, |format| match format {
        TreeFormat::Text => Ok(texts.join("\n")),
        TreeFormat::Json => report::json::trees(
            scans
                .iter()
                .map(|scan| (scan.facts.reference.as_deref(), &scan.tree)),
            &errors,
        ),
        TreeFormat::Dot => Ok(scans
            .iter()
            .map(|scan| report::tree::dot(question(&arguments.image), &scan.tree))
            .collect()),
        TreeFormat::Html => report::html::trees(scans.iter().map(|scan| (&scan.facts, &scan.tree)))
            .map_err(serde::ser::Error::custom),
    })?;
    Ok(finish(&unreadable, ExitCode::SUCCESS))
}

fn unknown(arguments: &TreeArguments, image: &str) -> Error {
    Error::Usage {
        problem: format!("no process of {image} loads or asks for {}", arguments.library.as_deref().unwrap_or_default()),
        help: Some("`imgcheck tree IMAGE` lists everything that is loaded; a beginning such as libcudnn is enough".to_owned()),
    }
}
