//! The processes of an image, and what the loader does in each: the Python that the image starts, with the packages that use GPUs
//! imported; every other Python environment that has such packages; and programs that are linked to GPU libraries.
//!
//! Which libraries a package loads, in which order and how, is data: `rules/knowledge/processes/`.

mod cache;
pub mod cause;
mod collect;
pub mod coverage;
mod describer;
pub mod facts;
mod faults;
mod files;
mod first_uses;
mod hosts;
mod installed;
mod interpreter;
mod knowledge;
mod model;
mod modules;
mod permissions;
mod plan;
mod playback;
mod program;
mod programs;
mod reasons;
mod shadowed;
mod shared_faults;
pub mod tree;
mod unreadable;
mod variants;
mod versions;

pub use facts::LoaderFacts;
pub use knowledge::Knowledge;
pub use model::Programs;
pub(crate) use model::systems_of;
pub(crate) use permissions::Looker;
pub use playback::{Cause, DriverRequest, LoadFailure, Playback};
pub use program::ModeledProcess;
