//! `imgcheck check`: judge images by the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::fail_on::FailOnArgument;
use super::formats::{self, CheckFormat};
use super::images::{ImageArguments, Unreadable, finish};
use super::output::{self, OutputArguments};
use crate::claims::Grammar;
use crate::error::Result;
use crate::finding::Severity;
use crate::pipeline;
use crate::policy::Policy;
use crate::reference::transport::Target;
use crate::report::{self, ImageReport, Report, Verdict};
use crate::rules::RuleSet;

/// Arguments of `imgcheck check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fail_on: FailOnArgument,
    #[command(flatten)]
    output: OutputArguments<CheckFormat>,
}

/// Where rules come from besides the built-in ones.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
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

/// Checks every image. The exit code is 1 when one fails, and 3 when one could not be read: the others are reported all
/// the same.
pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    arguments.output.validate(&arguments.image.targets())?;
    let policy = Policy {
        fail_on: arguments.fail_on.threshold(),
        ..Policy::default()
    };
    // The rules are loaded while the layers are read.
    let (scans, unreadable, rules) = std::thread::scope(|scope| -> Result<_> {
        let rules = scope.spawn(|| arguments.rules.load());
        let (scans, unreadable) = arguments.image.scan_all()?;
        let rules = rules
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((scans, unreadable, rules))
    })?;
    let reports = scans
        .into_iter()
        .map(|scan| pipeline::judge(scan, &rules, &policy))
        .collect::<Result<Vec<ImageReport>>>()?;
    let errors = Unreadable::report(&unreadable);
    let report = Report {
        images: &reports,
        files: &[],
        errors: &errors,
        rules: &rules,
    };
    formats::write(&arguments.output, &report, policy.fail_on)?;
    advise(&unreadable, &rules)?;
    let failed = reports.iter().any(|report| report.verdict == Verdict::Fail);
    Ok(finish(&unreadable, ExitCode::from(u8::from(failed))))
}

/// Where an image was named that could not be had: says so if none of that name was ever published, and which were.
fn advise(unreadable: &[Unreadable], rules: &RuleSet) -> Result<()> {
    let grammar = Grammar::builtin()?;
    for image in unreadable {
        let (Target::Reference(reference) | Target::Remote(_, reference)) = &image.target else {
            continue;
        };
        if let Ok(report) = pipeline::claims(reference, &grammar, rules)
            && report
                .findings
                .iter()
                .any(|finding| finding.severity > Severity::Note)
        {
            output::remark(&report::text::claims(&[report], None));
        }
    }
    Ok(())
}
