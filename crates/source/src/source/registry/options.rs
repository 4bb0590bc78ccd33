//! How registries are reached.

use std::path::PathBuf;
use std::time::Duration;

use super::address::Mirror;
use super::guard::Guard;
use super::retry::RetryPolicy;
use imgcheck_base::error::Result;

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Trust any certificate, and allow plain HTTP. Loopback addresses may always use plain HTTP.
    pub insecure: bool,
    /// Send credentials to a token server with a loopback, link-local or private address even if the registry has a different
    /// address.
    pub local_token_server: bool,
    /// Files with certificates (PEM) of authorities to trust in addition to the system's.
    pub ca_certificates: Vec<PathBuf>,
    /// Registries to ask before others, in this order.
    pub mirrors: Vec<Mirror>,
    /// Time limits and further attempts.
    pub policy: RetryPolicy,
    /// The least time between the starts of two requests to a host; zero for as many as there are.
    pub request_interval: Duration,
    /// Send no requests: only images in the cache can be read.
    pub offline: bool,
    /// Which addresses may be connected to; `None` for all.
    pub guard: Option<Guard>,
}

impl Options {
    /// Adds a mirror: `REGISTRY=[http[s]://]HOST[:PORT][/PREFIX]`.
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn add_mirror(&mut self, text: &str) -> Result<()> {
        self.mirrors.push(text.parse()?);
        Ok(())
    }
}
