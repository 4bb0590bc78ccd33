//! The policy of a team: the configuration file, overridden by the environment and the command line.
//!
//! Requirements (expectations, allowed stacks, consistency) are given to the rules as [`PolicyFacts`] and judged there.
//! [`Policy::apply`] processes the findings of the rules: severities, ignores, the baseline.

mod apply;
pub mod baseline;
pub mod config;
mod decisive;
pub mod discover;
mod expectation;
mod facts;
mod file;
pub mod gate;
mod ignore;
mod image_pattern;
mod read;
mod size;

use std::collections::BTreeSet;

use chrono::NaiveDate;

pub use apply::{GapOutcome, Policy, PolicyOutcome, SeverityChange};
pub use baseline::Baseline;
pub use config::Config;
pub use expectation::{AllowedStack, Expectation, Requirement, subjects};
pub use facts::{IgnoreFacts, Member, PolicyFacts, Subjects};
pub use ignore::{Ignore, IgnoreTarget};
pub use size::SizeLimit;

impl Policy {
    /// The requirements for an image; `fleet` is all images of the run.
    pub fn facts(&self, fleet: &[Member]) -> PolicyFacts {
        PolicyFacts::of_image(self, fleet)
    }

    /// The ignores as facts of the whole run, after everything was checked; `used` is collected from [`Policy::apply`].
    pub fn ignore_facts(
        &self,
        subjects: Subjects,
        used: &BTreeSet<usize>,
        today: NaiveDate,
    ) -> PolicyFacts {
        PolicyFacts::of_call(self, subjects, used, today)
    }
}

#[cfg(test)]
mod tests;
