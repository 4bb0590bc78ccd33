//! `imgcheck serve`: answers a cluster from facts that are known.

mod cluster;

pub use cluster::{Cluster, ClusterState, Declared, Labels, PullSecret, Puller};
