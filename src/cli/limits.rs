//! What images, rules and the whole call may ask for, on the command line.

use clap::Args;

use imgcheck::internals::limits::{ALL, Limits, Setting};

/// Limits in place of the usual ones.
#[derive(Debug, Args)]
pub(super) struct LimitArguments {
    /// Set a limit on what an image may ask for, as in entries=5000000; repeatable (--help lists all)
    #[arg(
        long = "limit",
        value_name = "NAME=VALUE",
        env = "IMGCHECK_LIMIT",
        value_delimiter = ',',
        long_help = long_help()
    )]
    settings: Vec<Setting>,
}

impl LimitArguments {
    /// The limits of the configuration, and above them those of the command line or the environment.
    pub fn above(&self, configured: &Limits) -> Limits {
        let mut limits = *configured;
        for setting in &self.settings {
            limits.set(setting.limit, setting.value);
        }
        limits
    }
}

fn long_help() -> String {
    let usual = Limits::default();
    let lines = ALL.iter().map(|limit| {
        let setting = format!("{}={}", limit.name(), limit.written(usual.of(*limit)));
        format!("\n  {setting:<26}{}", limit.about())
    });
    format!(
        "Set a limit on what an image may ask for, as in entries=5000000; repeatable, or several with commas between. \
         What passes one is not read whole, which is an error with exit code 3. These hold by themselves:\n{}",
        lines.collect::<String>()
    )
}
