//! What of a report the text for people shows.

use clap::builder::{BoolishValueParser, Resettable};
use clap::{Args, ValueEnum};
use imgcheck::{Severity, TextLevel, TextOptions};

/// What the text for people shows; the other formats are always complete.
#[derive(Debug, Args)]
#[command(next_help_heading = Resettable::Reset)]
pub struct ViewArguments {
    /// Show only problems: no passing images, table, notes or progress
    #[arg(short, long, env = "IMGCHECK_QUIET", value_parser = BoolishValueParser::new())]
    quiet: bool,
    /// Also show why: claims, evidence, ignored findings, skipped rules
    ///
    /// A rule is skipped if it lacks a fact. It overrides --quiet.
    #[arg(short, long, env = "IMGCHECK_VERBOSE", value_parser = BoolishValueParser::new())]
    verbose: bool,
    /// Lowest severity to show as text; does not change the verdict, the exit code or other formats [default: note; with --quiet,
    /// warning]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "IMGCHECK_SEVERITY")]
    severity: Option<Shown>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shown {
    Error,
    Warning,
    Note,
}

impl ViewArguments {
    /// Whether only problems are shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet && !self.verbose
    }

    /// Whether reasons are shown, too.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// The options for a terminal of this width.
    pub fn options(&self, width: Option<u16>) -> TextOptions {
        TextOptions {
            width,
            level: match (self.quiet, self.verbose) {
                (_, true) => TextLevel::Verbose,
                (true, false) => TextLevel::Quiet,
                (false, false) => TextLevel::Normal,
            },
            severity: self.severity.map(|severity| match severity {
                Shown::Error => Severity::Error,
                Shown::Warning => Severity::Warning,
                Shown::Note => Severity::Note,
            }),
        }
    }
}
