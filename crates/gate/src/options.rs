//! How a gate runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::server::TlsFiles;

/// How a gate runs.
#[derive(Debug, Clone)]
pub struct GateOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its certificate; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The file of bearer tokens.
    pub tokens: Option<PathBuf>,
    /// The directory of the queue.
    pub state: PathBuf,
    /// Images that are read at once.
    pub workers: usize,
    /// Bytes of facts and verdicts in memory.
    pub memory: u64,
    /// Files of the configuration, which are read again when they change.
    pub configuration: Vec<PathBuf>,
    /// How often files are looked at.
    pub reload: Duration,
    /// How long requests are accepted after the signal to end, so that others learn not to send any.
    pub drain: Duration,
}
