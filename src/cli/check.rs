//! `imgcheck check`: judge images by the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::output::{self, OutputArguments};
use super::{ImageArguments, progress};
use crate::error::Result;
use crate::finding::Severity;
use crate::pipeline::{self, Scanner};
use crate::report::{self, ImageReport, Verdict};
use crate::rules::RuleSet;

/// Arguments of `imgcheck check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    output: OutputArguments,
    /// The least severity that makes the exit code 1
    #[arg(
        long,
        value_enum,
        default_value = "error",
        value_name = "SEVERITY",
        env = "IMGCHECK_FAIL_ON"
    )]
    fail_on: FailOn,
}

/// Where rules come from besides the built-in ones.
#[derive(Debug, Args)]
pub struct RuleArguments {
    /// Add a rule file, or every rule file of a directory
    #[arg(
        long,
        value_name = "PATH",
        env = "IMGCHECK_RULES",
        value_delimiter = ':'
    )]
    rules: Vec<PathBuf>,
}

impl RuleArguments {
    /// The built-in rules and the added ones.
    pub fn load(&self) -> Result<RuleSet> {
        let mut rules = RuleSet::builtin()?;
        for path in &self.rules {
            rules.add_path(path)?;
        }
        Ok(rules)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

impl FailOn {
    fn threshold(self) -> Option<Severity> {
        match self {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Note => Some(Severity::Note),
            FailOn::Never => None,
        }
    }
}

/// Checks every image; the exit code is 1 when one fails.
pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let threshold = arguments.fail_on.threshold();
    let targets = arguments.image.targets();
    let progress = progress::bar(arguments.image.no_progress);
    // The rules are compiled while the layers are read.
    let reports = std::thread::scope(|scope| -> Result<Vec<ImageReport>> {
        let rules = scope.spawn(|| arguments.rules.load());
        let scanner = Scanner::new(arguments.image.reading())?;
        let mut scans = Vec::new();
        for target in &targets {
            scans.extend(scanner.scan(target, &progress)?);
        }
        let rules = rules
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        scans
            .into_iter()
            .map(|scan| pipeline::judge(scan, &rules, threshold))
            .collect()
    })?;
    output::write(&arguments.output, |format| match format {
        output::Format::Text => Ok(report::text::report(&reports, arguments.output.width())),
        output::Format::Json => report::json::report(&reports),
    })?;
    let failed = reports.iter().any(|report| report.verdict == Verdict::Fail);
    Ok(ExitCode::from(u8::from(failed)))
}
