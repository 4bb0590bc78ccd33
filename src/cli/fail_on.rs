//! Which findings make a command fail.

use clap::{Args, ValueEnum};

use imgcheck::internals::finding::Severity;

/// The least severity that fails.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct FailOnArgument {
    /// The least severity that makes the exit code 1 [default: error]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "IMGCHECK_FAIL_ON")]
    fail_on: Option<FailOn>,
}

impl FailOnArgument {
    /// The least severity that fails, `None` if none does; `otherwise` is what the configuration says.
    pub fn threshold(&self, otherwise: Option<Severity>) -> Option<Severity> {
        match self.fail_on {
            None => otherwise,
            Some(FailOn::Error) => Some(Severity::Error),
            Some(FailOn::Warning) => Some(Severity::Warning),
            Some(FailOn::Note) => Some(Severity::Note),
            Some(FailOn::Never) => None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    #[value(alias = "none")]
    Never,
}
