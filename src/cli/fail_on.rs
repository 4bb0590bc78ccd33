//! Which findings make a command fail.

use clap::{Args, ValueEnum};

use crate::finding::Severity;

/// The least severity that fails.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules and policy")]
pub struct FailOnArgument {
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

impl FailOnArgument {
    /// The least severity that fails; `None` if none does.
    pub fn threshold(&self) -> Option<Severity> {
        match self.fail_on {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Note => Some(Severity::Note),
            FailOn::Never => None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}
