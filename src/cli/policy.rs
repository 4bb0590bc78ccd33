//! What findings are judged by: the configuration file, and what the command line and the environment say above it.

use std::env;
use std::path::PathBuf;

use chrono::{NaiveDate, Utc};
use clap::Args;
use clap::builder::BoolishValueParser;

use super::check::RuleArguments;
use super::fail_on::FailOnArgument;
use super::output;
use super::targets::TargetArguments;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::finding::Finding;
use imgcheck::internals::limits::Limits;
use imgcheck::internals::policy::{Baseline, Config, Expectation, Policy, discover};
use imgcheck::internals::report::{one_line, safe_json};
use imgcheck::internals::rules::RuleSet;

const CONFIG: &str = "IMGCHECK_CONFIG";
const NO_CONFIG: &str = "IMGCHECK_NO_CONFIG";

/// The configuration file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub(super) struct ConfigArguments {
    /// Read this configuration file [default: .imgcheck.yaml here or above, up to the root of the repository, else
    /// imgcheck/config.yaml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE", env = CONFIG)]
    config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long, env = NO_CONFIG, value_parser = BoolishValueParser::new())]
    no_config: bool,
}

impl ConfigArguments {
    /// Reads the file that is named, or the one that is found; nothing is asked for where there is none.
    pub fn load(&self) -> Result<Config> {
        match self.path()? {
            Some(path) if matches!(path.try_exists(), Ok(false)) => Err(Error::Usage {
                problem: format!("--config {}: there is no such file", path.display()),
                help: None,
            }),
            Some(path) => Config::load(&path),
            None => Ok(Config::default()),
        }
    }

    fn path(&self) -> Result<Option<PathBuf>> {
        let Some(config) = &self.config else {
            let found = || discover::find(&env::current_dir().ok()?);
            return Ok(if self.no_config { None } else { found() });
        };
        if !self.no_config {
            return Ok(Some(config.clone()));
        }
        // Both are given. A flag stands above the environment.
        let config_from_environment = env::var_os(CONFIG).is_some_and(|value| value == *config);
        let no_config_from_environment = env::var_os(NO_CONFIG).is_some_and(|it| !it.is_empty());
        match (config_from_environment, no_config_from_environment) {
            (true, false) => Ok(None),
            (false, true) => Ok(Some(config.clone())),
            _ => Err(Error::Usage {
                problem: "--config and --no-config exclude each other".to_owned(),
                help: None,
            }),
        }
    }
}

/// All that findings are judged by.
#[derive(Debug, Args)]
pub(super) struct PolicyArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fail_on: FailOnArgument,
    /// Let only new findings fail: those that are not in this file, which is a report in JSON or one of --write-baseline
    #[arg(long, value_name = "FILE", env = "IMGCHECK_BASELINE")]
    baseline: Option<PathBuf>,
    /// Write all that is found into this file for --baseline, and exit with 0
    #[arg(long, value_name = "FILE", env = "IMGCHECK_WRITE_BASELINE")]
    write_baseline: Option<PathBuf>,
}

/// What must be in the images.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
struct ExpectArguments {
    /// Expect a version of a part of the stack, as in 'torch==2.8.*', 'cudnn>=9.7,<10' or 'cuda==12.8'; several
    /// with ';' between or by repeating the option
    #[arg(
        long = "expect",
        value_name = "PART==VERSION",
        env = "IMGCHECK_EXPECT",
        value_delimiter = ';'
    )]
    expect: Vec<String>,
}

/// All that images are judged by: the same for each command that judges some.
#[derive(Debug, Args)]
pub(super) struct ImagePolicyArguments {
    #[command(flatten)]
    expect: ExpectArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    targets: TargetArguments,
}

/// A policy whose rules are not yet loaded.
pub(super) struct Asked {
    /// What is asked for.
    pub policy: Policy,
    config: Config,
    write_baseline: Option<PathBuf>,
}

impl PolicyArguments {
    /// Reads the configuration and all that it names but the rules.
    pub fn read(&self) -> Result<Asked> {
        let config = self.config.load()?;
        if let Some(path) = &self.write_baseline {
            output::check_directory("--write-baseline", path)?;
        }
        let baseline = match (&self.write_baseline, &self.baseline) {
            // What is found is written, whether it was known or not.
            (Some(_), _) => Baseline::default(),
            (None, Some(path)) => Baseline::load(path)?,
            (None, None) => config.load_baseline()?,
        };
        let policy = Policy {
            fail_on: self.fail_on.threshold(config.policy.fail_on),
            baseline,
            ..config.policy.clone()
        };
        Ok(Asked {
            policy,
            config,
            write_baseline: self.write_baseline.clone(),
        })
    }

    /// The built-in rules, those of the configuration, and those of the command line, to be evaluated within these limits.
    pub fn load_rules(&self, asked: &Asked, limits: Limits) -> Result<RuleSet> {
        let rules = self.rules.load_with(&asked.config)?;
        Ok(rules.within(limits))
    }
}

impl ImagePolicyArguments {
    /// Reads the configuration and all that it names but the rules, and puts the command line above it.
    ///
    /// # Errors
    /// The configuration, an expectation or a target is wrong.
    pub fn read(&self) -> Result<Asked> {
        let mut asked = self.policy.read()?;
        self.expect.add_to(&mut asked.policy)?;
        self.targets.put_above(&mut asked.policy.targets)?;
        Ok(asked)
    }

    /// As [`PolicyArguments::load_rules`].
    pub fn load_rules(&self, asked: &Asked, limits: Limits) -> Result<RuleSet> {
        self.policy.load_rules(asked, limits)
    }
}

impl ExpectArguments {
    /// Adds to what the configuration expects.
    ///
    /// # Errors
    /// One of them is none.
    fn add_to(&self, policy: &mut Policy) -> Result<()> {
        for text in &self.expect {
            let expectation =
                Expectation::parse(text, "--expect").map_err(|mistake| Error::Usage {
                    problem: format!("--expect '{text}': {}", mistake.problem),
                    help: Some(mistake.help),
                })?;
            policy.expectations.push(expectation);
        }
        Ok(())
    }
}

impl Asked {
    /// The limits of the configuration.
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// Whether what is asked for can be wrong in a way that only the rules show, so that they should be loaded before long work.
    pub fn needs_rules(&self) -> bool {
        self.config.names_rules() || !self.config.rules.is_empty()
    }

    /// Writes the baseline that is asked for, if all images could be read; whether it was written.
    pub fn write_baseline<'f>(
        &self,
        findings: impl Iterator<Item = (&'f str, &'f Finding)>,
        all_read: bool,
    ) -> Result<bool> {
        let Some(path) = &self.write_baseline else {
            return Ok(false);
        };
        let shown = one_line(&path.display().to_string());
        if !all_read {
            output::remark(&format!(
                "{shown} is not written, for an image is missing\n"
            ));
            return Ok(false);
        }
        let failed = |error| Error::output(path.display().to_string(), error);
        let findings: Vec<_> = findings.collect();
        let count = findings.len();
        let text = Baseline::text(findings.into_iter()).map_err(failed)?;
        output::write_file(path, &safe_json(&text))?;
        output::remark(&format!(
            "{shown}: findings written: {count}; with --baseline {shown} only others fail\n"
        ));
        Ok(true)
    }
}

/// The day that ignores are measured by.
pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}
