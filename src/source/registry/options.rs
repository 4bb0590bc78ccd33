//! How registries are reached.

use std::path::PathBuf;

use super::address::Mirror;
use super::retry::RetryPolicy;

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Trust any certificate, and allow plain HTTP. Loopback addresses may always use plain HTTP.
    pub insecure: bool,
    /// Files with certificates (PEM) of authorities to trust in addition to the system's.
    pub ca_certificates: Vec<PathBuf>,
    /// Registries to ask before others, in this order.
    pub mirrors: Vec<Mirror>,
    /// Time limits and further attempts.
    pub policy: RetryPolicy,
    /// Send no requests: only images in the cache can be read.
    pub offline: bool,
}
