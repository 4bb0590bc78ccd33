//! `imgcheck check`: judge images by the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::formats::{self, CheckFormat};
use super::images::{ImageArguments, Unreadable, finish};
use super::output::{self, OutputArguments};
use super::policy::{Asked, ImagePolicyArguments, today};
use imgcheck::internals::checker::{self, Scan};
use imgcheck::internals::claims::Grammar;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::finding::{Finding, Severity};
use imgcheck::internals::limits::Limits;
use imgcheck::internals::lint::FileKind;
use imgcheck::internals::parallel;
use imgcheck::internals::policy::Config;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{self, ImageReport, Report, Verdict};
use imgcheck::internals::rules::RuleSet;

/// Arguments of `imgcheck check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    image: ImageArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    output: OutputArguments<CheckFormat>,
}

impl CheckArguments {
    /// The images as they were named.
    pub fn images(&self) -> &[String] {
        self.image.images()
    }
}

/// Where rules come from besides the built-in ones.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct RuleArguments {
    /// Add a rule file, or every rule file of a directory; several with ':' between or by repeating the option
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
        self.load_with(&Config::default())
    }

    /// The same with the rules of a configuration, which may name no rule that is not there.
    pub fn load_with(&self, config: &Config) -> Result<RuleSet> {
        let mut rules = RuleSet::builtin()?;
        config.check_rule_paths()?;
        for path in &config.rules {
            rules.add_path(path)?;
        }
        for path in &self.rules {
            if matches!(path.try_exists(), Ok(false)) {
                return Err(Error::Usage {
                    problem: format!(
                        "--rules {}: there is no such file or directory",
                        path.display()
                    ),
                    help: None,
                });
            }
            rules.add_path(path)?;
        }
        let ids: Vec<&str> = rules.rules().map(|rule| rule.id.as_str()).collect();
        config.check_rules(&ids)?;
        Ok(rules)
    }
}

/// Checks every image. The exit code is 1 when one fails, and 3 when one could not be read or judged: the others are reported
/// all the same.
pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    arguments.output.validate(&arguments.image.targets())?;
    let asked = arguments.policy.read()?;
    let limits = arguments.image.limits(asked.limits());
    let (scans, mut unreadable, rules) = scan(arguments, &asked, limits)?;
    let mut judgement = checker::judge(scans, &rules, &asked.policy, today())?;
    unreadable.extend(judgement.unjudged.drain(..).map(Unreadable::from));
    let configuration = match unreadable.as_slice() {
        [] => judgement.configuration(&rules, &asked.policy, today())?,
        // Whether an ignore is of use cannot be said where an image is missing.
        _ => None,
    };
    let errors = Unreadable::report(&unreadable);
    let report = Report {
        images: &judgement.images,
        files: configuration.as_slice(),
        errors: &errors,
        rules: &rules,
    };
    formats::write(&arguments.output, &report, asked.policy.fail_on)?;
    advise(&unreadable, &rules)?;
    let failed = report
        .subjects()
        .any(|subject| subject.verdict() == Verdict::Fail);
    let known = asked.write_baseline(findings(&judgement.images), unreadable.is_empty())?;
    let code = ExitCode::from(u8::from(failed && !known));
    Ok(finish(&unreadable, code))
}

/// Reads the images; meanwhile the rules are loaded, or before, if the configuration can be at odds with them.
fn scan(
    arguments: &CheckArguments,
    asked: &Asked,
    limits: Limits,
) -> Result<(Vec<Scan>, Vec<Unreadable>, RuleSet)> {
    let load = || arguments.policy.load_rules(asked, limits);
    let draws = arguments.output.asks_for(CheckFormat::Html);
    if asked.needs_rules() {
        let rules = load()?;
        let (scans, unreadable) = arguments.image.scan_all(draws, limits)?;
        return Ok((scans, unreadable, rules));
    }
    let (rules, read) = parallel::both(load, || arguments.image.scan_all(draws, limits));
    let (scans, unreadable) = read?;
    Ok((scans, unreadable, rules?))
}

/// All findings that count, each with the name of its image.
pub(super) fn findings(images: &[ImageReport]) -> impl Iterator<Item = (&str, &Finding)> {
    images.iter().flat_map(|image| {
        let findings = image.findings.iter();
        findings.map(|finding| (image.facts.name(), finding))
    })
}

/// Where an image was named that could not be had: says so if none of that name was ever published, and which were.
fn advise(unreadable: &[Unreadable], rules: &RuleSet) -> Result<()> {
    if unreadable.is_empty() {
        return Ok(());
    }
    let grammar = Grammar::builtin()?;
    for image in unreadable {
        let Some(target) = &image.target else {
            continue;
        };
        if let ImageReference::Path(path) = target
            && FileKind::of_name(&path.display().to_string()).is_some()
        {
            let path = report::one_line(&path.display().to_string());
            output::remark(&format!(
                "an image is built from it; this checks the file itself: imgcheck lint {path}\n"
            ));
        }
        let (ImageReference::Reference(reference) | ImageReference::Remote(_, reference)) = target
        else {
            continue;
        };
        if let Ok(report) = checker::claims(reference, &grammar, rules)
            && report
                .findings
                .iter()
                .any(|finding| finding.severity > Severity::Note)
        {
            output::styled_remark(&report::text::claims(&[report], None));
        }
    }
    Ok(())
}
