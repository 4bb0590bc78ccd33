//! `imgcheck attest`: write facts and verdicts beside an image.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use imgcheck::{AttestRequest, Attestation, Checker, Error, PublicKey, Result, Signer, Verdict};

use super::images::{ReadingArguments, finish_reading};
use super::interrupt::Stop;
use super::output::{self, one_line};
use super::policy::{ImagePolicyArguments, NOT_JUDGED};

/// Arguments of `imgcheck attest`.
#[derive(Debug, Args)]
pub struct AttestArguments {
    /// Image in a registry, with all its platforms unless --platform selects one. With --output or --dry-run, also an OCI layout
    #[arg(value_name = "IMAGE", required = true)]
    image: String,
    /// Private key to sign with (ECDSA P-256, PKCS #8, PEM): FILE, or env://NAME for a variable. With --sign-with, the public key
    #[arg(long, value_name = "FILE|env://NAME", env = "IMGCHECK_KEY")]
    key: String,
    /// Shell command that signs, for a key in hardware or in a key service: it reads data from standard input and writes the signature
    /// (ECDSA with SHA-256, DER or base64) to standard output
    #[arg(long, value_name = "COMMAND", env = "IMGCHECK_SIGN_WITH")]
    sign_with: Option<String>,
    /// Write the signed statements to a file, as Sigstore bundles, one per line, and nothing to a registry
    #[arg(long, value_name = "FILE", env = "IMGCHECK_ATTEST_OUTPUT")]
    output: Option<PathBuf>,
    /// Read, judge and sign, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Also attest a bill of materials of the GPU stack (CycloneDX)
    #[arg(long)]
    sbom: bool,
    /// Also attest what the image needs of a machine, as `imgcheck requirements` says it
    #[arg(long)]
    requirements: bool,
    /// Seconds that shared tags must stay unchanged before imgcheck reports success: the time that another program may take to update
    /// such a tag
    #[arg(long, value_name = "SECONDS", env = "IMGCHECK_SETTLE_TIME", default_value = "2", value_parser = seconds)]
    settle_time: Duration,
    /// Fail if other programs still change these tags after this many seconds
    #[arg(long, value_name = "SECONDS", env = "IMGCHECK_SETTLE_TIMEOUT", default_value = "120", value_parser = seconds)]
    settle_timeout: Duration,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
}

/// Attests an image. The exit code is that of a check.
pub fn run(arguments: &AttestArguments) -> Result<ExitCode, Stop> {
    let signer = arguments.signer()?;
    if arguments.settle_timeout < 2 * arguments.settle_time {
        let problem = "--settle-timeout must be at least twice --settle-time";
        return Err(Error::usage(problem).into());
    }
    if let Some(path) = &arguments.output {
        output::make_directory("--output", path)?;
    }
    let (reading, policy) = (&arguments.reading, &arguments.policy);
    let checker = policy.apply(reading.apply(Checker::builder())?)?;
    let (checker, run, make) = reading.begin(checker, false)?;
    let request = AttestRequest::new(make(&arguments.image))
        .all_platforms(!reading.names_a_platform())
        .dry_run(arguments.dry_run || arguments.output.is_some())
        .sbom(arguments.sbom)
        .requirements(arguments.requirements)
        .settle_time(arguments.settle_time)
        .settle_timeout(arguments.settle_timeout);
    let attestation = checker.attest(&request, &signer);
    finish_reading(&checker, &run)?;
    let attestation = attestation?;
    match &arguments.output {
        Some(path) if !arguments.dry_run => output::write_file(path, &attestation.bundles)?,
        _ => {}
    }
    output::print(&arguments.text(&attestation))?;
    let worst = attestation.images.iter().map(|it| it.verdict).max();
    Ok(ExitCode::from(match worst {
        Some(Verdict::Pass) => 0,
        Some(Verdict::Fail) => 1,
        _ => NOT_JUDGED,
    }))
}

impl AttestArguments {
    fn signer(&self) -> Result<Signer> {
        match &self.sign_with {
            Some(command) => Ok(Signer::command(command, PublicKey::read(&self.key)?)),
            None if self.key.is_empty() => Err(Error::usage("--key names no key")),
            None => Signer::key(&self.key),
        }
    }

    fn text(&self, attestation: &Attestation) -> String {
        let done = match (self.dry_run, &self.output) {
            (true, _) => "would attest",
            _ => "attested",
        };
        let lines = attestation.images.iter().map(|image| {
            let what = image.platform.as_deref().unwrap_or("index");
            let verdict = image.verdict.as_str();
            let facts = match image.facts_bytes {
                0 => String::new(),
                bytes => format!(", facts {}", indicatif::DecimalBytes(bytes as u64)),
            };
            format!(
                "{done} {verdict}  {} ({}{facts})\n",
                image.digest,
                one_line(what)
            )
        });
        lines.collect()
    }
}

/// A number of seconds, up to a day.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|it| (0.0..=86_400.0).contains(it));
    let seconds = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
    seconds.ok_or_else(|| "expected a number of seconds from 0 to 86400".to_owned())
}
