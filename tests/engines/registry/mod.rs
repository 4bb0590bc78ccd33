//! Images of registries: real ones, started here, and one that fails in every way that registries fail in.

mod authorization;
mod cancel;
mod faults;
mod hostile;
#[cfg(feature = "gate")]
mod notifications;
mod pull;
pub mod real;
mod references;
pub mod run;
