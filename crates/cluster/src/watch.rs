//! Keeps up to date what is known of a cluster.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::api::{self, Api, Kind};
use super::follow::follow;
use super::kept::{Kept, Progress};
use super::pull_secrets;
use super::state::{ClusterState, Connection, Labels};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_model::targets::GpuTable;
use imgcheck_model::targets::nodes::{self, NodeLabels};

/// Changes that come so close together make one view: nodes of a large cluster change all the time.
const COLLECT: Duration = Duration::from_millis(250);
/// How long the API server may take for a pull secret.
const SECRETS: Duration = Duration::from_secs(5);

/// What is known of a cluster, and what is not.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The last known state, however old. Equal states share one pointer.
    pub state: Arc<ClusterState>,
    /// What could not be read, or may be out of date.
    pub problems: Vec<Problem>,
    /// Every kind was listed, or could not be.
    pub is_complete: bool,
}

/// Objects whose connection is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind of the objects: `Node`.
    pub kind: &'static str,
    /// Why.
    pub message: String,
    /// Since when. What was known before is still in the view.
    pub since: Instant,
}

/// A cluster that is watched, until this is dropped.
pub struct Watch {
    api: Api,
    view: watch::Receiver<Arc<View>>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    nodes: Mutex<Kept<nodes::Object>>,
    slices: Mutex<Kept<nodes::Object>>,
    runtime_classes: Mutex<Kept<Labels>>,
    namespaces: Mutex<Kept<Labels>>,
    local_queues: Mutex<Kept<Value>>,
    cluster_queues: Mutex<Kept<Value>>,
    flavors: Mutex<Kept<Value>>,
    runtimes: Mutex<Kept<Value>>,
    cluster_runtimes: Mutex<Kept<Value>>,
    serving: Mutex<Kept<Value>>,
    cluster_serving: Mutex<Kept<Value>>,
    changed: Notify,
}

impl Watch {
    /// Begins to watch. Nothing is known yet when this returns, and an API server that cannot be reached is a problem of the view.
    ///
    /// # Errors
    /// The kubeconfig is wrong.
    pub async fn start(
        connection: &Connection,
        labels: NodeLabels,
        gpus: Arc<GpuTable>,
    ) -> Result<Self> {
        let api = Api::connect(connection).await?;
        let state = Arc::new(State::default());
        let (sender, view) = watch::channel(Arc::<View>::default());
        let mut tasks = State::follow_all(&state, &api);
        tasks.push(tokio::spawn(async move {
            loop {
                state.changed.notified().await;
                tokio::time::sleep(COLLECT).await;
                // Ten thousand nodes take milliseconds.
                let mut view = tokio::task::block_in_place(|| state.view(&labels, &gpus));
                let last = sender.borrow().state.clone();
                if *view.state == *last {
                    view.state = last;
                }
                sender.send_replace(Arc::new(view));
            }
        }));
        Ok(Watch { api, view, tasks })
    }

    /// What is known now.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.borrow())
    }

    /// What is known from now on, one view after the other.
    pub fn views(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// Waits until every kind was listed or could not be.
    pub async fn listed(&self) {
        let mut view = self.view.clone();
        // An error says that the task has ended: there is nothing to wait for.
        let _ = view.wait_for(|it| it.is_complete).await;
    }

    /// The pull secrets of a Pod, each the JSON of `.dockerconfigjson`: those that it names, else those of its ServiceAccount.
    ///
    /// # Errors
    /// The API server cannot be reached, or does not allow it.
    pub async fn pull_secrets(
        &self,
        namespace: &str,
        service_account: &str,
        names: &[String],
    ) -> Result<Vec<String>> {
        let secrets = pull_secrets::of_pod(&self.api, namespace, service_account, names);
        let late = |_| Error::new(ErrorCode::Timeout, "the API server", "no answer in 5 s");
        tokio::time::timeout(SECRETS, secrets).await.map_err(late)?
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl State {
    fn follow_all(state: &Arc<State>, api: &Api) -> Vec<JoinHandle<()>> {
        macro_rules! task {
            ($kind:expr, $read:expr, $field:ident) => {{
                let (state, api) = (Arc::clone(state), api.clone());
                Handle::current().spawn(async move {
                    let changed = || state.changed.notify_one();
                    follow(&api, $kind, $read, &state.$field, changed).await;
                })
            }};
        }
        vec![
            task!(Kind::Node, api::typed, nodes),
            task!(Kind::ResourceSlice, api::typed, slices),
            task!(Kind::RuntimeClass, |it| selector(&it), runtime_classes),
            task!(Kind::Namespace, |it| labels(&it), namespaces),
            task!(Kind::LocalQueue, |it| specified(&it), local_queues),
            task!(Kind::ClusterQueue, |it| specified(&it), cluster_queues),
            task!(Kind::ResourceFlavor, |it| specified(&it), flavors),
            task!(Kind::TrainingRuntime, |it| specified(&it), runtimes),
            task!(
                Kind::ClusterTrainingRuntime,
                |it| specified(&it),
                cluster_runtimes
            ),
            task!(Kind::ServingRuntime, |it| specified(&it), serving),
            task!(
                Kind::ClusterServingRuntime,
                |it| specified(&it),
                cluster_serving
            ),
        ]
    }

    fn view(&self, labels: &NodeLabels, gpus: &GpuTable) -> View {
        let (nodes, slices) = (lock(&self.nodes), lock(&self.slices));
        let runtime_classes = lock(&self.runtime_classes);
        let namespaces = lock(&self.namespaces);
        let related = [
            &self.local_queues,
            &self.cluster_queues,
            &self.flavors,
            &self.runtimes,
            &self.cluster_runtimes,
            &self.serving,
            &self.cluster_serving,
        ];
        let related = related.map(lock);
        let kinds = [
            (Kind::Node, nodes.progress()),
            (Kind::ResourceSlice, slices.progress()),
            (Kind::RuntimeClass, runtime_classes.progress()),
            (Kind::Namespace, namespaces.progress()),
        ];
        let of_related = related.iter().map(|it| it.progress());
        let of_related = api::RELATED.into_iter().zip(of_related);
        let kinds: Vec<(Kind, Progress)> = kinds.into_iter().chain(of_related).collect();
        let objects = || nodes.objects().chain(slices.objects()).map(|(_, it)| it);
        let state = ClusterState {
            // Until its slice is known, a node would seem to have no GPU.
            classes: (nodes.is_known && slices.is_settled())
                .then(|| nodes::classes_of(objects(), labels, gpus)),
            namespaces: namespaces.copy(),
            runtime_classes: runtime_classes.copy(),
            related: related
                .iter()
                .flat_map(|it| it.copy().into_values())
                .collect(),
        };
        View {
            state: Arc::new(state),
            is_complete: kinds.iter().all(|(_, it)| it.is_settled),
            problems: kinds.into_iter().filter_map(problem).collect(),
        }
    }
}

fn lock<T>(kept: &Mutex<Kept<T>>) -> MutexGuard<'_, Kept<T>> {
    kept.lock().unwrap_or_else(|it| it.into_inner())
}

fn problem((kind, progress): (Kind, Progress)) -> Option<Problem> {
    let lost = progress.lost?;
    Some(Problem {
        kind: kind.name(),
        message: lost.problem,
        since: lost.since,
    })
}

fn labels(object: &Value) -> Option<Labels> {
    texts(object.pointer("/metadata/labels"))
}

/// The node selector of a runtime class.
fn selector(object: &Value) -> Option<Labels> {
    texts(object.pointer("/scheduling/nodeSelector"))
}

/// What an object is, without its status, which changes all the time.
fn specified(object: &Value) -> Option<Value> {
    let metadata = object.get("metadata")?;
    Some(json!({
        "kind": object.get("kind")?,
        "metadata": {"name": metadata.get("name")?, "namespace": metadata.get("namespace")},
        "spec": object.get("spec"),
    }))
}

fn texts(value: Option<&Value>) -> Option<Labels> {
    value.map_or_else(|| Some(Labels::new()), |it| Labels::deserialize(it).ok())
}
