//! What the writers of all formats have in common.

use std::io::{self, Write};
use std::sync::Arc;

use super::record::FleetRecord;
use imgcheck_rules::rules::RuleSet;

/// What became of everything that a sweep listed: listed = judged + failed + skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetTotals {
    /// References of the plan.
    pub listed: u64,
    /// References with a verdict.
    pub judged: u64,
    /// References that could not be read or judged.
    pub failed: u64,
    /// References that were left out on purpose.
    pub skipped: u64,
    /// Whether the plan lists everything that its sources have.
    pub complete: bool,
    /// What of the sources could not be listed, and why, in a sentence each.
    pub unread: Vec<String>,
    /// What [`FleetRecord::against`] compares with, such as `driver 580`; empty without a comparison.
    pub against: String,
}

/// What the records were judged by.
#[derive(Debug, Clone, Default)]
pub struct JudgedBy {
    /// The rules that were evaluated.
    pub rules: Arc<RuleSet>,
    /// The day of the knowledge tables.
    pub knowledge: String,
    /// The configuration file in use.
    pub configuration: Option<String>,
}

/// A format.
pub(super) trait Writer: Send {
    /// Writes a record, or keeps what its format says at the end.
    fn write(&mut self, record: &FleetRecord) -> io::Result<()>;

    /// Writes the end, and flushes.
    fn finish(self: Box<Self>, totals: &FleetTotals) -> io::Result<()>;
}

/// Where a format goes.
pub(super) type Sink = Box<dyn Write + Send>;
