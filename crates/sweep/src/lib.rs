//! Many images on many machines: a plan is a file, layers are read once into an object store, verdicts come from the store.
//!
//! ```text
//!  sources ── planner ── plan ──┬── worker (shard I of N) ── store
//!                               └── judging ◄───────────────── store
//! ```
//!
//! There is no scheduler: an engine that people have (Kubernetes, Slurm, CI) starts workers, which agree by conditional writes to the
//! store. Work is idempotent: a shard may be repeated, overlap with another, or die.

mod builder;
mod claims;
mod judging;
mod listed;
mod no_image;
mod pauses;
mod plan;
mod plan_file;
mod planner;
mod pods;
mod shard;
mod sources;
mod ticker;
mod worker;

use imgcheck_checker::Checker;

pub use judging::EachRecord;
pub use plan::{SweepPlan, SweepTotals};
pub use planner::SweepRequest;
pub use shard::Shard;
pub use worker::{SweepOutcome, WorkerOptions};

/// Sweeps with the store, the rules, the targets and the policy of a checker.
pub struct Sweep<'c> {
    checker: &'c Checker,
}

impl<'c> Sweep<'c> {
    /// A sweep by this checker.
    pub fn new(checker: &'c Checker) -> Self {
        Sweep { checker }
    }
}

/// Whether a text is a list of Pods, for fuzzing.
#[doc(hidden)]
pub fn images_of_pods(text: &str) -> imgcheck_base::error::Result<usize> {
    Ok(pods::images("pods", text)?.len())
}
