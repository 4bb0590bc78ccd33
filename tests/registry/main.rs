//! Images of registries: real ones, started here, and one that fails in every way that registries fail in.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/real.rs"]
mod real_directory;

mod authorization;
mod faults;
mod hostile;
mod pull;
mod real;
mod references;
mod run;
mod server;
