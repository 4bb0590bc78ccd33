//! The command line: clap definitions here, and one file a command.

mod cache;
mod check;
mod claims;
mod facts;
mod fail_on;
mod output;
mod progress;
mod rules;
mod tree;

use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand};

use crate::cache::Cache;
use crate::elf::Depth;
use crate::error::{Error, Result};
use crate::pipeline::{Reading, Scan, Scanner};
use crate::reference::name::Name;
use crate::reference::transport::Target;
use crate::report::UnreadImage;
use crate::source::{Access, Selection};

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing at or above --fail-on
  1  a finding at or above --fail-on
  2  the command line or a rule file is wrong
  3  the image was not found or could not be read whole; a failed scan is never a pass";

const EXAMPLES: &str = "\
Examples:
  docker save pytorch-cuda:v2.9 -o image.tar && imgcheck image.tar
  imgcheck --as registry.example/pytorch-cuda:v2.9 oci:build/image
  imgcheck facts -f json image.tar
  imgcheck tree image.tar libcudnn
  imgcheck claims pytorch/pytorch:2.8.0-cuda11.8";

/// Proves what a GPU container image really holds, without running it, and compares that with what its labels promise.
#[derive(Debug, Parser)]
#[command(
    name = "imgcheck",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: check::CheckArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check images against what their names, labels and environment promise (the default command)
    #[command(after_long_help = EXIT_CODES)]
    Check(check::CheckArguments),
    /// Show what is in an image: every part of the GPU stack, with the evidence for its version
    Facts(facts::FactsArguments),
    /// Show what references promise, and whether such an image was ever published; no image is needed
    Claims(claims::ClaimsArguments),
    /// Show what the image's processes load: who needs it, where it was looked for, what answered and why
    Tree(tree::TreeArguments),
    /// List, show and test the rules
    Rules(rules::RulesArguments),
    /// Show and empty the cache of layer facts
    Cache(cache::CommandArguments),
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => check::run(&cli.check),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Facts(arguments)) => facts::run(&arguments),
        Some(Command::Claims(arguments)) => claims::run(&arguments),
        Some(Command::Tree(arguments)) => tree::run(&arguments),
        Some(Command::Rules(arguments)) => rules::run(&arguments),
        Some(Command::Cache(arguments)) => cache::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        output::error(&error);
        ExitCode::from(error.exit_code())
    })
}

/// The images to read, and how.
#[derive(Debug, Args)]
struct ImageArguments {
    /// Images: a path (docker archive, OCI layout or its tar, root directory; recognised by content), or
    /// docker-archive:PATH[:REF], oci:PATH[:TAG], oci-archive:PATH[:TAG], dir:PATH
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,
    #[command(flatten)]
    reading: ReadingArguments,
}

/// How images are read.
#[derive(Debug, Args)]
struct ReadingArguments {
    /// Compare with this reference in place of the one that the image records
    #[arg(long = "as", value_name = "REFERENCE", env = "IMGCHECK_AS")]
    reference: Option<String>,
    /// The platform of a multi-platform image, as in linux/arm64 [default: linux and this machine's
    /// architecture, else the only one there is]
    #[arg(
        long,
        value_name = "OS/ARCH",
        env = "IMGCHECK_PLATFORM",
        conflicts_with = "all_platforms"
    )]
    platform: Option<String>,
    /// Check every platform of a multi-platform image
    #[arg(long, env = "IMGCHECK_ALL_PLATFORMS", value_parser = BoolishValueParser::new())]
    all_platforms: bool,
    /// Also search whole sections of libraries: slower, more evidence for notes
    #[arg(long, env = "IMGCHECK_DEEP", value_parser = BoolishValueParser::new())]
    deep: bool,
    /// No progress: neither a bar on a terminal nor a line now and then elsewhere
    #[arg(long, env = "IMGCHECK_NO_PROGRESS", value_parser = BoolishValueParser::new())]
    no_progress: bool,
    #[command(flatten)]
    cache: cache::CacheArguments,
}

impl ImageArguments {
    fn targets(&self) -> Vec<Target> {
        targets(&self.images)
    }

    fn scan_all(&self) -> Result<(Vec<Scan>, Vec<Unreadable>)> {
        self.reading.scan_all(&self.images, false)
    }
}

/// The places that images are named by.
fn targets(images: &[String]) -> Vec<Target> {
    images.iter().map(|image| Target::parse(image)).collect()
}

impl ReadingArguments {
    fn reading(&self, tree: bool, cache: Cache) -> Reading {
        Reading {
            tree,
            selection: Selection {
                platform: self.platform.clone(),
                all_platforms: self.all_platforms,
            },
            depth: if self.deep {
                Depth::Deep
            } else {
                Depth::Default
            },
            reference: self.reference.clone(),
            access: Access {
                cache,
                ..Access::default()
            },
        }
    }

    /// Reads all images; those that cannot be read come back with the reason, so that the others are not lost. `tree` asks
    /// for the loader model as a tree, too.
    fn scan_all(&self, images: &[String], tree: bool) -> Result<(Vec<Scan>, Vec<Unreadable>)> {
        if let Some(reference) = &self.reference {
            reference.parse::<Name>()?;
            if images.len() > 1 {
                return Err(Error::Usage {
                    problem: "--as gives a name to one image, and several are named".to_owned(),
                    help: Some("check them one by one".to_owned()),
                });
            }
        }
        let cache = self.cache.open()?;
        let scanner = Scanner::new(self.reading(tree, cache.clone()))?;
        let progress = progress::report(self.no_progress);
        let mut scans = Vec::new();
        let mut unreadable = Vec::new();
        for (image, target) in images.iter().zip(targets(images)) {
            match scanner.scan(&target, &progress) {
                Ok(read) => scans.extend(read),
                Err(error) => unreadable.push(Unreadable {
                    image: image.clone(),
                    target,
                    error,
                }),
            }
        }
        for remark in cache.remarks() {
            output::remark(&format!("{}\n", crate::report::printable(&remark)));
        }
        Ok((scans, unreadable))
    }
}

/// What could not be read, and why.
struct Unreadable {
    image: String,
    target: Target,
    error: Error,
}

impl Unreadable {
    fn report(list: &[Unreadable]) -> Vec<UnreadImage> {
        list.iter()
            .map(|unread| UnreadImage {
                image: unread.image.clone(),
                error: unread.error.to_string(),
            })
            .collect()
    }
}

/// Tells what could not be read; the worst of its exit codes stands above that of what was read.
fn finish(unreadable: &[Unreadable], otherwise: ExitCode) -> ExitCode {
    for image in unreadable {
        output::error(&image.error);
    }
    match unreadable.iter().map(|image| image.error.exit_code()).max() {
        Some(code) => ExitCode::from(code),
        None => otherwise,
    }
}
