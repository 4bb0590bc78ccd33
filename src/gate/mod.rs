//! `imgcheck serve`: answers a cluster and other programs from facts that are known, and has the others read.
//!
//! A request never reads a layer. An image becomes a digest by one HEAD request ([`resolve`]), the digest becomes facts from memory or
//! the cache ([`facts`]), facts and containers become a judgement ([`judge`]), which is kept ([`verdict`]). What is missing is queued
//! ([`queue`]) and read by workers ([`workers`]).

mod admission;
mod cluster;
mod facts;
mod flights;
mod images;
mod judge;
mod metrics;
mod options;
mod queue;
mod reload;
mod resolve;
mod rest;
mod router;
mod serve;
mod server;
mod setup;
mod state;
mod verdict;
mod workers;

pub use cluster::{Cluster, ClusterState, Declared, Labels, PullSecret, Puller};
pub use options::GateOptions;
pub use rest::openapi as gate_openapi;
pub use serve::serve;
pub use server::TlsFiles;
