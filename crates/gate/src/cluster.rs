//! What the gate asks the cluster that it guards.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use imgcheck_base::error::Result;
pub use imgcheck_cluster::{ClusterState, Labels};

/// The cluster that a gate guards.
pub trait Cluster: Send + Sync + 'static {
    /// What is known now. A change is a new state: the gate compares the pointers.
    fn state(&self) -> Arc<ClusterState>;

    /// Whether the state has been read at least once. The gate is not ready before.
    fn is_ready(&self) -> bool {
        true
    }

    /// Whether the state follows a real cluster.
    fn is_watched(&self) -> bool {
        true
    }

    /// For how long a part of the state may have been out of date; zero if it is not.
    fn out_of_date(&self) -> Duration {
        Duration::ZERO
    }

    /// The pull secrets of a Pod: those that it names, else those of its ServiceAccount. One that does not exist is left out, as the
    /// kubelet does.
    ///
    /// # Errors
    /// They cannot be read now. The image is then looked up with the gate's own credentials only.
    fn pull_secrets<'a>(&'a self, puller: &'a Puller) -> BoxFuture<'a, Result<Vec<PullSecret>>>;
}

/// Whose pull secrets count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Puller {
    /// The namespace.
    pub namespace: String,
    /// The ServiceAccount; `default` if the Pod names none.
    pub service_account: String,
    /// The `imagePullSecrets` of the Pod.
    pub secrets: Vec<String>,
}

/// The content of a pull secret: the JSON of `.dockerconfigjson`. A Secret of type `kubernetes.io/dockercfg` is wrapped into
/// `{"auths": …}`.
#[derive(Clone)]
pub struct PullSecret(pub String);

impl std::fmt::Debug for PullSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PullSecret(hidden)")
    }
}

/// A cluster that is not watched: the gate knows only what the configuration declares.
#[derive(Debug, Default)]
pub struct Declared(Arc<ClusterState>);

impl Cluster for Declared {
    fn state(&self) -> Arc<ClusterState> {
        self.0.clone()
    }

    fn is_watched(&self) -> bool {
        false
    }

    fn pull_secrets<'a>(&'a self, _: &'a Puller) -> BoxFuture<'a, Result<Vec<PullSecret>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
