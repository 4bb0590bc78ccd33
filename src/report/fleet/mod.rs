//! The results of a sweep: one record an image and reference, in formats for programs, and a page about the whole fleet.

mod jsonl;
mod judged;
mod output;
mod record;
mod runs;
mod writer;

pub use output::{FleetFormat, FleetOutput};
pub use record::{
    FleetComparison, FleetFinding, FleetLayer, FleetRecord, FleetRuns, FleetSchema, FleetStatus,
    FleetTarget, schema,
};
pub use writer::{FleetTotals, JudgedBy};
