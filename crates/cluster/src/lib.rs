//! A Kubernetes cluster: what its API server says about nodes, runtime classes, queues, runtimes and namespaces, and the pull secrets of Pods.
//!
//! [`read`] asks once; `Watch` keeps up to date what it knows. Both need the cargo feature `kube`, and only `api.rs` and `follow.rs`
//! know the crate of that name.

#[cfg(feature = "kube")]
mod api;
#[cfg(feature = "kube")]
mod certificate;
#[cfg(feature = "kube")]
mod follow;
#[cfg(feature = "kube")]
mod kept;
#[cfg(feature = "kube")]
mod pull_secrets;
mod state;
#[cfg(feature = "kube")]
mod watch;

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;

#[cfg(feature = "kube")]
pub use certificate::Certificate;
pub use state::{ClusterState, Connection, Labels, Listing, Related};
#[cfg(feature = "kube")]
pub use watch::{Problem, View, Watch};

/// Lists the nodes, the ResourceSlices and the runtime classes of a cluster, and the objects that workloads refer to.
///
/// # Errors
/// The kubeconfig is wrong, the API server cannot be reached or refuses, or the request was cancelled. A cluster without
/// ResourceSlices, Kueue or Kubeflow Trainer is no error.
#[cfg(feature = "kube")]
pub fn read(
    connection: &Connection,
    wanted: Related,
    cancellation: &Cancellation,
) -> Result<Listing> {
    block_on(async {
        let listing = api::Api::list(connection, wanted);
        cancellation.wait_for(listing).await?
    })
}

/// The Pods of all namespaces, as `kubectl get pods -A -o json` prints them.
///
/// # Errors
/// Same as [`read`].
#[cfg(feature = "kube")]
pub fn pods(connection: &Connection, cancellation: &Cancellation) -> Result<String> {
    block_on(async {
        let pods = async { api::Api::connect(connection).await?.pods().await };
        cancellation.wait_for(pods).await?
    })
}

/// The certificate that the replicas of a gate share, made if it is missing or about to expire. The webhook configurations `imgcheck` then
/// trust it.
///
/// # Errors
/// There is no webhook configuration, or the API server cannot be reached or refuses.
#[cfg(feature = "kube")]
pub fn certificate(connection: &Connection) -> Result<Certificate> {
    block_on(async { certificate::provide(&api::Api::connect(connection).await?).await })
}

/// Deletes the webhook configurations `imgcheck`, and returns the kinds of those that there were.
///
/// # Errors
/// The API server cannot be reached or refuses.
#[cfg(feature = "kube")]
pub fn delete_webhooks(connection: &Connection) -> Result<Vec<&'static str>> {
    block_on(async { certificate::delete_webhooks(&api::Api::connect(connection).await?).await })
}

#[cfg(feature = "kube")]
fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let failed = |error| imgcheck_base::error::Error::io("the API server", error);
    runtime.map_err(failed)?.block_on(future)
}

/// Fails: this build cannot talk to clusters.
#[cfg(not(feature = "kube"))]
pub fn read(_: &Connection, _: Related, _: &Cancellation) -> Result<Listing> {
    Err(unsupported(
        "build it with `cargo install --locked --features kube --path .`, or use `kubectl get nodes -o json > nodes.json` (`nodes,resourceslices` in a cluster with dynamic resource allocation) and --nodes nodes.json",
    ))
}

/// Fails: this build cannot talk to clusters.
#[cfg(not(feature = "kube"))]
pub fn pods(_: &Connection, _: &Cancellation) -> Result<String> {
    Err(unsupported(
        "build it with `cargo install --locked --features kube --path .`, or use `kubectl get pods -A -o json > pods.json` and pods:pods.json",
    ))
}

/// The error of a build that cannot talk to clusters.
#[cfg(not(feature = "kube"))]
pub fn unsupported(help: &str) -> imgcheck_base::error::Error {
    let problem = "this imgcheck was built without support for live clusters";
    imgcheck_base::error::Error::usage(problem).with_help(help)
}
