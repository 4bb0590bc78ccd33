//! The results of a sweep: one record an image and reference, in formats for programs, and a page about the whole fleet.

mod counts;
mod csv;
mod jsonl;
mod judged;
mod output;
mod page;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod record;
mod runs;
mod sarif;
mod sharing;
mod table;
mod tally;
mod text;
mod writer;

pub use output::{FleetFormat, FleetOutput};
pub use record::{
    FleetComparison, FleetFinding, FleetLayer, FleetRecord, FleetRuns, FleetSchema, FleetStatus,
    FleetTarget, schema,
};
pub use writer::{FleetTotals, JudgedBy};
