//! `imgcheck diff`: what changed from one image to another.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::check::findings;
use super::images::{ReadingArguments, Unreadable, finish, targets};
use super::output::{self, OutputArguments};
use super::policy::{ImagePolicyArguments, today};
use imgcheck::internals::checker::{self, Scan};
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::report::difference::{self, Difference};
use imgcheck::internals::report::{self, Verdict};

/// Arguments of `imgcheck diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The image before, as for `imgcheck check`
    #[arg(value_name = "A")]
    from: String,
    /// The image after
    #[arg(value_name = "B")]
    to: String,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    output: OutputArguments<DiffFormat>,
}

/// A format of the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people
    Text,
    /// For programs: everything
    Json,
    /// A comment on a pull request
    Markdown,
}

/// Compares the two images. The exit code is 1 when B has a finding at or above `--fail-on` that A has not.
pub fn run(arguments: &DiffArguments) -> Result<ExitCode> {
    let images = [arguments.from.clone(), arguments.to.clone()];
    arguments.output.validate(&targets(&images))?;
    let asked = arguments.policy.read()?;
    let limits = arguments.reading.limits(asked.limits());
    let rules = arguments.policy.load_rules(&asked, limits)?;
    let reader = arguments.reading.reader(false, limits)?;
    let mut reports = Vec::new();
    for image in &images {
        let (scans, unreadable) = reader.scan(std::slice::from_ref(image));
        if !unreadable.is_empty() {
            return Ok(finish(&unreadable, ExitCode::SUCCESS));
        }
        // One by one, for they need not agree with each other.
        let scan = vec![only(image, scans)?];
        let judgement = checker::judge(scan, &rules, &asked.policy, today())?;
        reports.extend(judgement.images);
        let unjudged: Vec<Unreadable> = judgement
            .unjudged
            .into_iter()
            .map(Unreadable::from)
            .collect();
        if !unjudged.is_empty() {
            return Ok(finish(&unjudged, ExitCode::SUCCESS));
        }
    }
    let [from, to] = reports.as_slice() else {
        return Ok(ExitCode::SUCCESS);
    };
    let difference = Difference::between((&arguments.from, from), (&arguments.to, to));
    output::write(&arguments.output, |format| match format {
        DiffFormat::Text => Ok(difference::text::render(
            &difference,
            arguments.output.width(),
        )),
        DiffFormat::Markdown => Ok(report::markdown::difference(&difference)),
        DiffFormat::Json => report::json::difference(&difference),
    })?;
    let verdict = Verdict::of(&difference.findings.new, asked.policy.fail_on);
    let known = asked.write_baseline(findings(&reports), true)?;
    Ok(ExitCode::from(u8::from(verdict == Verdict::Fail && !known)))
}

/// The only image of a scan: two can be compared, not more.
fn only(name: &str, scans: Vec<Scan>) -> Result<Scan> {
    let found = scans.len();
    let mut scans = scans.into_iter();
    match (scans.next(), scans.next()) {
        (Some(scan), None) => Ok(scan),
        _ => Err(Error::Usage {
            problem: format!("{name} holds {found} images, and two are compared at a time"),
            help: Some(
                "pick one, as in docker-archive:PATH:REFERENCE or with --platform".to_owned(),
            ),
        }),
    }
}
