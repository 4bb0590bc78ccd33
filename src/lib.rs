//! imgcheck reads a container image at rest and says whether it holds what its labels promise.
//!
//! Data flows one way, and each module knows only the modules above it in this list:
//! reference → source → layer facts (with ELF facts) → root filesystem → stack and claims → rules →
//! findings → report. [`pipeline`] is the only place that joins them.

pub mod beneath;
pub mod digest;
pub mod embedded;
pub mod error;
pub mod glob;
pub mod json_schema;
pub mod limits;
pub mod parallel;
pub mod spelling;
pub mod tls;
pub mod yaml;

pub mod reference;
pub mod version;

pub mod archive;
pub mod cache;

pub mod elf;
pub mod source;

pub mod layer;

pub mod image;

pub mod loader;

pub mod claims;
pub mod stack;

pub mod process;

pub mod targets;

pub mod finding;
pub mod policy;

pub mod lint;

pub mod rules;

pub mod report;

pub mod cli;
pub mod pipeline;
