//! What findings are judged by: the configuration file, and the options that take precedence over it.

use std::env;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use imgcheck::{CheckerBuilder, Day, Error, Result, Severity};

use super::output::{self, one_line};

const CONFIG: &str = "IMGCHECK_CONFIG";
const NO_CONFIG: &str = "IMGCHECK_NO_CONFIG";

/// The configuration file.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct ConfigArguments {
    /// Configuration file [default: .imgcheck.yaml here or in a parent directory]
    ///
    /// imgcheck looks for .imgcheck.yaml up to the repository root, and then for imgcheck/config.yaml in $XDG_CONFIG_HOME or ~/.config.
    #[arg(long, value_name = "FILE", env = CONFIG)]
    config: Option<PathBuf>,
    /// Do not read a configuration file
    #[arg(long, env = NO_CONFIG, value_parser = BoolishValueParser::new())]
    no_config: bool,
}

impl ConfigArguments {
    /// Names the configuration file of a checker.
    ///
    /// # Errors
    /// Both options are given.
    pub fn apply(&self, checker: CheckerBuilder) -> Result<CheckerBuilder> {
        let Some(config) = &self.config else {
            return Ok(match env::current_dir() {
                Ok(directory) if !self.no_config => checker.discover_configuration(directory),
                _ => checker,
            });
        };
        if !self.no_config {
            return Ok(checker.configuration(config));
        }
        // Both are given. A flag takes precedence over the environment.
        let config_from_environment = env::var_os(CONFIG).is_some_and(|value| value == *config);
        let no_config_from_environment = env::var_os(NO_CONFIG).is_some_and(|it| !it.is_empty());
        match (config_from_environment, no_config_from_environment) {
            (true, false) => Ok(checker),
            (false, true) => Ok(checker.configuration(config)),
            _ => Err(Error::usage("--config and --no-config exclude each other")),
        }
    }
}

/// Rules in addition to the built-in ones.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct RuleArguments {
    /// Add a rule file or a directory of rule files; repeatable, or several separated by ':'
    #[arg(
        long,
        value_name = "PATH",
        env = "IMGCHECK_RULES",
        value_delimiter = ':'
    )]
    rules: Vec<PathBuf>,
}

impl RuleArguments {
    pub fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        self.rules.iter().fold(checker, CheckerBuilder::rules)
    }
}

/// The lowest severity that fails.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct FailOnArgument {
    /// Lowest severity that exits with 1: error, warning, note or never
    ///
    /// The default is error.
    #[arg(
        long,
        value_enum,
        value_name = "SEVERITY",
        env = "IMGCHECK_FAIL_ON",
        hide_possible_values = true
    )]
    fail_on: Option<FailOn>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    #[value(alias = "none")]
    Never,
}

impl FailOnArgument {
    pub fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        match self.fail_on {
            None => checker,
            Some(FailOn::Error) => checker.fail_on(Some(Severity::Error)),
            Some(FailOn::Warning) => checker.fail_on(Some(Severity::Warning)),
            Some(FailOn::Note) => checker.fail_on(Some(Severity::Note)),
            Some(FailOn::Never) => checker.fail_on(None),
        }
    }
}

/// What all findings are judged by.
#[derive(Debug, Args)]
pub struct PolicyArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fail_on: FailOnArgument,
    /// Fail only on findings that a file of --write-baseline lacks
    ///
    /// A JSON report will do, too.
    #[arg(long, value_name = "FILE", env = "IMGCHECK_BASELINE")]
    baseline: Option<PathBuf>,
}

impl PolicyArguments {
    /// Configuration, rules and policy of a checker.
    ///
    /// # Errors
    /// The options contradict each other.
    pub fn apply(&self, checker: CheckerBuilder) -> Result<CheckerBuilder> {
        let checker = self.config.apply(checker)?;
        let checker = self.fail_on.apply(self.rules.apply(checker));
        Ok(match &self.baseline {
            Some(path) => checker.baseline(path),
            None => checker,
        })
    }
}

/// The file of known findings to write. Commands whose verdict others rely on do not have it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct WriteBaselineArgument {
    /// Write all findings to this file for --baseline, and exit with 0
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_WRITE_BASELINE",
        hide_short_help = true
    )]
    write_baseline: Option<PathBuf>,
}

impl WriteBaselineArgument {
    /// If the file is to be written, findings are reported whether they are known or not, and none of them fails.
    pub fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        match self.write_baseline {
            Some(_) => checker.without_baseline().fail_on(None),
            None => checker,
        }
    }

    /// Writes the file of `--write-baseline`, if it is given and everything was read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(
        &self,
        all_read: bool,
        quiet: bool,
        baseline: impl FnOnce() -> Result<(String, usize)>,
    ) -> Result<()> {
        let Some(path) = &self.write_baseline else {
            return Ok(());
        };
        let shown = one_line(&path.display().to_string());
        if !all_read {
            output::remark(&format!(
                "{shown} was not written: some inputs could not be read\n"
            ));
            return Ok(());
        }
        let (text, count) = baseline()?;
        output::make_directory("--write-baseline", path)?;
        output::write_file(path, text.as_bytes())?;
        if !quiet {
            output::remark(&format!(
                "wrote {count} {} to {shown}; with --baseline {shown} only new findings fail\n",
                if count == 1 { "finding" } else { "findings" }
            ));
        }
        Ok(())
    }
}

/// The exit code if something that matters was not judged, as for an image that could not be read.
pub const NOT_JUDGED: u8 = 3;

/// What images are judged by.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct ImagePolicyArguments {
    /// Version that the image must have: 'torch==2.8.*'; repeatable
    ///
    /// Of a component or Python distribution: 'torch==2.8.*', 'cuda==12.8', 'cudnn>=9.7,<10', 'numpy<2'. Several may be separated by ';'.
    #[arg(
        long = "expect",
        value_name = "NAME==VERSION",
        env = "IMGCHECK_EXPECT",
        value_delimiter = ';'
    )]
    expect: Vec<String>,
    /// GPU that the image must run on, such as h100 or sm_90; repeatable
    ///
    /// By nvidia-smi name or architecture: h100, "rtx 4090", sm_90, 9.0. Several may be separated by commas. It replaces the GPUs of the
    /// configuration, and in `imgcheck preflight` its node classes, too.
    #[arg(long, value_name = "GPU", env = "IMGCHECK_GPU", value_delimiter = ',')]
    gpu: Vec<String>,
    /// Driver that the image must run on, such as 535.183.06
    ///
    /// As nvidia-smi prints it. It replaces the drivers of the configuration, and in `imgcheck preflight` its node classes, too.
    #[arg(long, value_name = "VERSION", env = "IMGCHECK_DRIVER")]
    driver: Option<String>,
    /// Exit with 3 if any part of an image could not be judged
    #[arg(long, env = "IMGCHECK_STRICT", value_parser = BoolishValueParser::new())]
    strict: bool,
    #[command(flatten)]
    policy: PolicyArguments,
}

impl ImagePolicyArguments {
    /// Same as [`PolicyArguments::apply`].
    pub fn apply(&self, checker: CheckerBuilder) -> Result<CheckerBuilder> {
        let checker = self
            .policy
            .apply(checker)?
            .gpus(&self.gpu)
            .strict(self.strict);
        let checker = self.expect.iter().fold(checker, CheckerBuilder::expect);
        Ok(match &self.driver {
            Some(driver) => checker.driver(driver),
            None => checker,
        })
    }

    /// Whether `--gpu` or `--driver` is given.
    pub fn names_targets(&self) -> bool {
        !self.gpu.is_empty() || self.driver.is_some()
    }
}

/// The day on which the ignores of the configuration are checked, in UTC.
pub fn today() -> Day {
    chrono::Utc::now().date_naive()
}
