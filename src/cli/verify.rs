//! `imgcheck verify`: judge an image from what is attested of it.

use std::process::ExitCode;

use clap::Args;
use imgcheck::{
    Checker, Format, PublicKey, Result, Verification, VerifiedImage, VerifiedIndex, VerifyRequest,
    View,
};

use super::formats::TextOrJson;
use super::images::{ReadingArguments, finish, finish_reading};
use super::interrupt::Stop;
use super::output::{self, OutputArguments, one_line};
use super::policy::ImagePolicyArguments;

/// Arguments of `imgcheck verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Image in a registry
    #[arg(value_name = "IMAGE", required = true)]
    image: String,
    /// Public key that must have signed (ECDSA P-256, PEM): FILE, or env://NAME for a variable; repeatable
    #[arg(long, value_name = "FILE|env://NAME", env = "IMGCHECK_KEY", required = true, value_parser = PublicKey::read)]
    key: Vec<PublicKey>,
    /// Reject verdicts that are older than this many whole days
    #[arg(long, value_name = "DAYS", env = "IMGCHECK_MAX_AGE")]
    max_age: Option<u32>,
    /// Read this many layers, chosen at random, and compare them with the signed facts
    #[arg(
        long,
        value_name = "LAYERS",
        env = "IMGCHECK_SAMPLE",
        default_value_t = 0
    )]
    sample: usize,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    output: OutputArguments<TextOrJson>,
}

/// Verifies an image, and judges it by the rules of today.
pub fn run(arguments: &VerifyArguments) -> Result<ExitCode, Stop> {
    arguments.output.validate(&[])?;
    let (reading, policy) = (&arguments.reading, &arguments.policy);
    let checker = policy.apply(reading.apply(Checker::builder())?)?;
    let (checker, run, make) = reading.begin(checker, false)?;
    let request = VerifyRequest::new(make(&arguments.image), arguments.key.clone());
    let request = match arguments.max_age {
        Some(days) => request.max_age_days(days),
        None => request,
    };
    let verification = checker.verify(&request.sample(arguments.sample));
    finish_reading(&checker, &run)?;
    let verification = verification?;
    output::write_text(&arguments.output, |format| match format {
        Format::Json => verification.to_json(),
        _ => text(&verification, arguments.output.width()),
    })?;
    let code = verification.exit_code();
    finish(&verification.report, code);
    Ok(ExitCode::from(code))
}

fn text(verification: &Verification, width: Option<u16>) -> Result<String> {
    let index: String = verification.index.iter().map(attested_index).collect();
    let images: String = verification.images.iter().map(attested).collect();
    let report = &verification.report;
    let today = match report.images.is_empty() {
        true => String::new(),
        false => report.render(View::Findings, Format::Text, width)?,
    };
    Ok(format!("{index}{images}{today}"))
}

/// What is attested of an index, and what of it does not hold.
fn attested_index(index: &VerifiedIndex) -> String {
    let mut text = format!("{}  {} (index)\n", head(&index.problems), index.digest);
    text += &verdict(index.attested.as_deref(), index.judged_at.as_deref());
    text + &lines(&index.problems)
}

/// What is attested of an image, and what of it does not hold.
fn attested(image: &VerifiedImage) -> String {
    let platform = one_line(&image.platform);
    let mut text = format!("{}  {} ({platform})\n", head(&image.problems), image.digest);
    text += &verdict(image.attested.as_deref(), image.judged_at.as_deref());
    for finding in &image.suppressed {
        let (severity, rule, reason) = (&finding.severity, &finding.rule, &finding.reason);
        let suppressed = format!("not counted: {severity}[{rule}], because: {reason}");
        text += &format!("  {}\n", one_line(&suppressed));
    }
    if let Some(version) = &image.facts_by {
        text += &format!("  facts: read by imgcheck {}\n", one_line(version));
    }
    text + &lines(&image.problems)
}

fn head(problems: &[String]) -> &'static str {
    match problems {
        [] => "VERIFIED",
        _ => "NOT VERIFIED",
    }
}

fn verdict(attested: Option<&str>, judged_at: Option<&str>) -> String {
    let (Some(verdict), Some(at)) = (attested, judged_at) else {
        return String::new();
    };
    format!("  attested: {}, {}\n", one_line(verdict), one_line(at))
}

fn lines(problems: &[String]) -> String {
    let line = |problem: &String| format!("  {}\n", one_line(problem));
    problems.iter().map(line).collect()
}
