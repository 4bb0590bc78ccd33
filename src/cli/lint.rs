//! `imgcheck lint`: check the files that an image is built from.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use imgcheck::{Checker, FileKind, ImageRequest, Verdict};

use super::formats::{self, LintFormat};
use super::images::finish;
use super::interrupt::{Run, Stop};
use super::limits::LimitArguments;
use super::output::OutputArguments;
use super::policy::{PolicyArguments, today};

/// Arguments of `imgcheck lint`.
#[derive(Debug, Args)]
pub struct LintArguments {
    /// Dockerfile, Containerfile, requirements.txt, environment.yml or pyproject.toml; a directory, for the files of these
    /// kinds below it; or - for standard input
    ///
    /// The kind of a file follows from its name, or else from its content. A requirements file that a Dockerfile copies from
    /// its own directory and installs is read with it.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Kind of the files, if neither name nor content shows it
    #[arg(long, value_enum, env = "IMGCHECK_KIND")]
    kind: Option<KindArgument>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    output: OutputArguments<LintFormat>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KindArgument {
    Dockerfile,
    Requirements,
    Environment,
    Pyproject,
    Lock,
    Compose,
}

impl From<KindArgument> for FileKind {
    fn from(kind: KindArgument) -> Self {
        match kind {
            KindArgument::Dockerfile => FileKind::Dockerfile,
            KindArgument::Requirements => FileKind::Requirements,
            KindArgument::Environment => FileKind::Environment,
            KindArgument::Pyproject => FileKind::Pyproject,
            KindArgument::Lock => FileKind::Lock,
            KindArgument::Compose => FileKind::Compose,
        }
    }
}

/// Checks every file. The exit code is 1 if one fails, and that of the worst error if one could not be read or parsed; the others are
/// reported anyway.
pub fn run(arguments: &LintArguments) -> Result<ExitCode, Stop> {
    let files = arguments.files.iter();
    let inputs: Vec<_> = files
        .map(|file| ImageRequest::new(file.display().to_string()))
        .collect();
    arguments.output.validate(&inputs)?;
    let checker = arguments.limits.apply(Checker::builder());
    let checker = Arc::new(arguments.policy.apply(checker)?.build()?);
    let run = Run::start(&checker, || ())?;
    let kind = arguments.kind.map(FileKind::from);
    let report = checker.lint(&arguments.files, kind, today(), &run.cancellation());
    run.check()?;
    let report = report?;
    formats::write(&arguments.output, &report)?;
    let baseline = || Ok((report.baseline()?, report.baseline_length()));
    let is_baseline = arguments
        .policy
        .write_baseline(report.errors.is_empty(), baseline)?;
    let failed = report.verdict() == Verdict::Fail && !is_baseline;
    Ok(finish(&report, ExitCode::from(u8::from(failed))))
}
