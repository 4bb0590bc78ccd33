//! `imgcheck lint`: check the files that an image is built from.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use imgcheck::{Checker, FileKind, ImageRequest, LintRequest, Verdict};

use super::formats::{self, LintFormat};
use super::images::finish;
use super::interrupt::{GRACE, Run, Stop};
use super::limits::LimitArguments;
use super::output::OutputArguments;
use super::policy::{PolicyArguments, WriteBaselineArgument, today};
use super::view::ViewArguments;

/// Arguments of `imgcheck lint`.
#[derive(Debug, Args)]
pub struct LintArguments {
    /// Dockerfile, requirements.txt, environment.yml, pyproject.toml, a lock file or another of the kinds below; a directory to search
    /// for such files; or - for standard input
    ///
    /// imgcheck recognizes a file by its name, then by its content. With a Dockerfile, it also reads requirements, projects and scripts
    /// that the Dockerfile copies from its build context and uses.
    #[arg(value_name = "FILE", default_value = ".")]
    files: Vec<PathBuf>,
    /// Kind of the files, instead of the one that name or content shows
    #[arg(long, value_enum, env = "IMGCHECK_KIND")]
    kind: Option<KindArgument>,
    /// Build context of the Dockerfiles
    ///
    /// By default, imgcheck looks for files that a Dockerfile copies in the directory of the Dockerfile and in up to three parent
    /// directories within the working directory.
    #[arg(long, value_name = "DIR", env = "IMGCHECK_CONTEXT")]
    context: Option<PathBuf>,
    /// Also check the Dockerfiles, Compose files and bake files below the working directory that use one of the files
    #[arg(long, env = "IMGCHECK_PARTNERS")]
    partners: bool,
    /// Report only findings of these rules
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        env = "IMGCHECK_SELECT"
    )]
    select: Vec<String>,
    /// Leave out findings of these rules, in this call; an entry in the configuration has a reason and is checked
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        env = "IMGCHECK_IGNORE"
    )]
    ignore: Vec<String>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    write_baseline: WriteBaselineArgument,
    #[command(flatten)]
    view: ViewArguments,
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
    Bake,
    Pixi,
    Setup,
    Cog,
    Bento,
    Skypilot,
    Dstack,
    Devcontainer,
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
            KindArgument::Bake => FileKind::Bake,
            KindArgument::Pixi => FileKind::Pixi,
            KindArgument::Setup => FileKind::Setup,
            KindArgument::Cog => FileKind::Cog,
            KindArgument::Bento => FileKind::Bento,
            KindArgument::Skypilot => FileKind::Skypilot,
            KindArgument::Dstack => FileKind::Dstack,
            KindArgument::Devcontainer => FileKind::Devcontainer,
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
    let checker = arguments.policy.apply(checker)?;
    let checker = Arc::new(arguments.write_baseline.apply(checker).build()?);
    let run = Run::start(&checker, GRACE, || ())?;
    let report = checker.lint(&request(arguments), today(), &run.cancellation());
    run.check()?;
    let report = report?;
    formats::write(&arguments.output, &arguments.view, &report)?;
    let baseline = || Ok((report.baseline()?, report.baseline_length()));
    arguments.write_baseline.write(
        report.errors.is_empty(),
        arguments.view.is_quiet(),
        baseline,
    )?;
    let failed = report.verdict() == Verdict::Fail;
    Ok(finish(&report, u8::from(failed)))
}

fn request(arguments: &LintArguments) -> LintRequest {
    let request = LintRequest::new(&arguments.files);
    let mut request = request.select(&arguments.select).ignore(&arguments.ignore);
    if let Some(kind) = arguments.kind {
        request = request.kind(kind.into());
    }
    if let Some(context) = &arguments.context {
        request = request.context(context);
    }
    if arguments.partners {
        request = request.with_partners();
    }
    request
}
