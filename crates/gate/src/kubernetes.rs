//! The Kubernetes cluster that a gate watches.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch::Receiver;

use super::cluster::{Cluster, ClusterState, PullSecret, Puller};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_cluster::{Connection, View, Watch};
use imgcheck_model::knowledge;

/// A cluster that dedicated threads watch.
struct Watched {
    watch: Arc<Watch>,
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
}

/// Begins to watch a cluster.
///
/// # Errors
/// The kubeconfig is wrong. A cluster that cannot be reached is logged, and tried again.
pub fn watch_cluster(connection: &Connection) -> Result<Arc<dyn Cluster>> {
    let failed = |error| Error::io("the threads of the cluster", error);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("cluster")
        .enable_all()
        .build()
        .map_err(failed)?;
    let labels = knowledge::table("node-labels")?;
    let gpus = Arc::new(knowledge::targets()?.gpus);
    let watch = runtime.block_on(Watch::start(connection, labels, gpus))?;
    let watch = Arc::new(watch);
    runtime.spawn(log_problems(watch.views()));
    Ok(Arc::new(Watched {
        watch,
        runtime: Some(runtime),
    }))
}

/// Logs what cannot be read when that changes.
async fn log_problems(mut views: Receiver<Arc<View>>) {
    let mut logged = Vec::new();
    while views.changed().await.is_ok() {
        let view = views.borrow_and_update().clone();
        for problem in view.problems.iter().filter(|it| !logged.contains(*it)) {
            tracing::warn!(
                kind = problem.kind,
                problem = problem.message,
                "the cluster cannot be read; what was known stays in use"
            );
        }
        if view.problems.is_empty() && !logged.is_empty() {
            tracing::info!("the cluster is read again");
        }
        logged.clone_from(&view.problems);
    }
}

impl Cluster for Watched {
    fn state(&self) -> Arc<ClusterState> {
        self.watch.view().state.clone()
    }

    fn is_ready(&self) -> bool {
        self.watch.view().is_complete
    }

    fn out_of_date(&self) -> Duration {
        let view = self.watch.view();
        let ages = view.problems.iter().map(|it| it.since.elapsed());
        ages.max().unwrap_or_default()
    }

    fn pull_secrets<'a>(&'a self, puller: &'a Puller) -> BoxFuture<'a, Result<Vec<PullSecret>>> {
        let (watch, puller) = (self.watch.clone(), puller.clone());
        Box::pin(async move {
            let late = || Error::new(ErrorCode::Cancelled, "the API server", "the server ends");
            // Connections belong to the threads of the cluster.
            let runtime = self.runtime.as_ref().ok_or_else(late)?;
            let secrets = runtime.spawn(async move {
                let Puller {
                    namespace,
                    service_account,
                    secrets,
                } = &puller;
                watch
                    .pull_secrets(namespace, service_account, secrets)
                    .await
            });
            match secrets.await.map_err(|_| late())? {
                Ok(secrets) => Ok(secrets.into_iter().map(PullSecret).collect()),
                // Nobody gave the right: then only the credentials of the server count.
                Err(error) if error.code() == ErrorCode::Forbidden => {
                    tracing::debug!(%error, "no right to read pull secrets");
                    Ok(Vec::new())
                }
                Err(error) => Err(error),
            }
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
