//! Limits on images, rules and the whole run, on the command line.

use clap::Args;

use imgcheck::{CheckerBuilder, Limit, Limits};

/// Limits that replace the defaults.
#[derive(Debug, Clone, Args)]
pub(super) struct LimitArguments {
    /// Set a limit, such as entries=5000000; repeatable (--help lists all limits)
    #[arg(
        long = "limit",
        value_name = "NAME=VALUE",
        env = "IMGCHECK_LIMIT",
        value_delimiter = ',',
        value_parser = Limit::parse_setting,
        long_help = long_help()
    )]
    settings: Vec<(Limit, u64)>,
}

impl LimitArguments {
    /// Sets the limits; they take precedence over those of the configuration.
    pub fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        checker.limits(self.settings.iter().copied())
    }
}

fn long_help() -> String {
    let defaults = Limits::default();
    let lines = Limit::all().iter().map(|limit| {
        let setting = format!("{}={}", limit.name(), limit.format(defaults.of(*limit)));
        format!("\n  {setting:<26}{}", limit.about())
    });
    format!(
        "Set a limit, such as entries=5000000; repeatable, or several separated by commas. An image that exceeds a limit is an \
         error (exit code 3). Defaults:\n{}",
        lines.collect::<String>()
    )
}
