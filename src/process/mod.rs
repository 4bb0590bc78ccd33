//! The processes of an image, and what the loader does in each: the Python that the image starts with the packages that use GPUs
//! imported, every other Python environment that has such packages, and programs that are linked to the GPU libraries.
//!
//! Which libraries a package loads, in which order and how, is data: `rules/knowledge/processes/`.

mod cache;
mod describe;
mod executables;
pub mod facts;
mod faults;
mod knowledge;
mod model;
mod opens;
mod plan;
mod python;
mod run;
mod setting;
mod shadowed;
#[cfg(test)]
mod tests;
pub mod tree;
mod versions;

pub use facts::LoaderFacts;
pub use knowledge::Knowledge;
pub use model::{Model, ModelledProcess, Programs};
pub use run::{Asked, Cause, Fall, Run};
