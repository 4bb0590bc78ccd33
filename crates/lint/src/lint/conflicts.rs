//! Packages that cannot be installed together, or do not work together: `lint.pin_conflicts`.
//!
//! The packages of one environment of one stage are compared, with the framework that the tag of the base image promises. What the tables do not
//! know is no conflict.

mod builds;
mod duplicates;
mod framework;
mod libraries;
mod nvidia_pins;
mod partners;
mod proposals;
mod toolkits;
mod wheels;

use super::facts::Stage;
use super::faults::PinConflict;
use super::pin_knowledge::PinKnowledge;
use framework::{comparable, frameworks};

/// The conflicts of all stages.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let installed = stages.iter().map(comparable).collect::<Vec<_>>();
    let by_stage = stages.iter().zip(&installed);
    let found: Vec<_> = by_stage
        .flat_map(|(stage, pins)| frameworks(stage, pins, knowledge))
        .collect();
    [
        partners::of_other_releases(&found, knowledge),
        partners::of_newest_release(&found, knowledge),
        partners::of_other_cudas(&found, knowledge),
        libraries::of_other_versions(&found, knowledge),
        libraries::of_other_compilers(&found, knowledge),
        libraries::with_shared_files(&found, knowledge),
        wheels::for_other_frameworks(&found, knowledge),
        wheels::for_other_minors(&found),
        wheels::for_other_abis(&found, knowledge),
        wheels::for_own_builds(stages, knowledge),
        wheels::for_other_cudas(&installed, knowledge),
        nvidia_pins::conflicts(&installed, knowledge),
        builds::missing(stages, &installed, knowledge),
        toolkits::of_other_cudas(stages, knowledge),
        duplicates::all(stages),
    ]
    .concat()
}
