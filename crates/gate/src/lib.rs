//! `imgcheck serve`: answers a cluster and other programs from facts that are known, and has the others read.
//!
//! A request never reads a layer. An image becomes a digest by one HEAD request (`resolve`), the digest becomes facts from memory or
//! the cache (`facts`), facts and containers become a judgement (`judge`), which is kept (`verdict`). What is missing is queued
//! (`queue`) and read by workers (`workers`).

mod admission;
mod announce;
mod cluster;
mod credentials;
mod events;
mod facts;
mod flights;
mod harbor;
mod image_query;
mod images;
mod judge;
#[cfg(feature = "kube")]
mod kubernetes;
mod metrics;
#[cfg(not(feature = "kube"))]
mod no_cluster;
mod object;
mod options;
mod page;
mod queue;
mod recent;
mod reload;
mod report;
mod resolve;
mod rest;
mod router;
#[cfg(feature = "kube")]
mod self_signed;
mod serve;
mod server;
mod setup;
mod state;
#[cfg_attr(not(feature = "otel"), path = "no_traces.rs")]
mod traces;
mod verdict;
mod workers;

pub use cluster::{Cluster, ClusterState, Declared, Labels, PullSecret, Puller};
#[cfg(feature = "kube")]
pub use imgcheck_cluster::delete_webhooks;
#[cfg(feature = "kube")]
pub use kubernetes::watch_cluster;
#[cfg(not(feature = "kube"))]
pub use no_cluster::{delete_webhooks, self_signed, watch_cluster};
pub use options::GateOptions;
pub use rest::openapi as gate_openapi;
#[cfg(feature = "kube")]
pub use self_signed::self_signed;
pub use serve::serve;
pub use server::TlsFiles;
pub use traces::Traces;

/// The webhook configuration of `deploy/kustomize`.
pub const WEBHOOK: &str = include_str!("../../../deploy/kustomize/base/webhook.yaml");
