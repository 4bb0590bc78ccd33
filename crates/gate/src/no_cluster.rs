//! What a gate says that was built without the feature `kube`.

use std::path::Path;
use std::sync::Arc;

use super::cluster::Cluster;
use super::server::TlsFiles;
use imgcheck_base::error::Result;
use imgcheck_cluster::{self as cluster, Connection};

const HELP: &str =
    "build it with `cargo install --locked --profile dist --features gate,kube --path .`";

/// Fails: this build cannot talk to clusters.
///
/// # Errors
/// Always.
pub fn watch_cluster(_: &Connection) -> Result<Arc<dyn Cluster>> {
    Err(cluster::unsupported(HELP))
}

/// Same as [`watch_cluster`].
///
/// # Errors
/// Always.
pub fn delete_webhooks(_: &Connection) -> Result<Vec<&'static str>> {
    Err(cluster::unsupported(HELP))
}

/// Same as [`watch_cluster`].
///
/// # Errors
/// Always.
pub fn self_signed(_: &Connection, _: &Path) -> Result<TlsFiles> {
    Err(cluster::unsupported(HELP))
}
