//! Targets: the GPUs and drivers of the machines that an image must run on.

mod code;
mod driver;
mod driver_table;
mod driver_version;
mod facts;
mod gpu;
mod gpu_names;
mod gpu_table;
mod input;
mod judge;
pub mod nodes;
mod pairs;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod unselectable;

pub use code::support_of;
pub use driver_table::DriverTable;
pub use driver_version::DriverVersion;
pub use facts::{CodeKind, DriverFacts, GpuFacts, LibraryCode, PackageCode, Support, TargetFacts};
pub use gpu::{Capability, Gpu, Segment};
pub use gpu_names::GpuNames;
pub use gpu_table::GpuTable;
pub use input::TargetInput;
pub use judge::judge;
pub use tables::Tables;
pub use target::Target;
pub use unselectable::unselectable;
