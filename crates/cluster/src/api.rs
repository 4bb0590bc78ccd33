//! Requests to the API server.

use std::error::Error as StdError;
use std::time::Duration;

use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams, TypeMeta,
};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::state::{Connection, Listing, Related};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_source::tls;

/// A server that does not answer for so long is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// Longer than a watch lasts.
const READ: Duration = Duration::from_secs(60);
/// Objects of one answer.
const PAGE: u32 = 500;
/// The versions of ResourceSlices, of Kueue's kinds and of runtimes that are read, the best first. What is read of them is equal in all.
const VERSIONS: [&str; 4] = ["v1", "v1beta2", "v1beta1", "v1alpha1"];
const SLICE_GROUP: &str = "resource.k8s.io";
const QUEUE_GROUP: &str = "kueue.x-k8s.io";
const TRAINER_GROUP: &str = "trainer.kubeflow.org";
const SERVING_GROUP: &str = "serving.kserve.io";

/// The kinds that imgcheck lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Node,
    ResourceSlice,
    RuntimeClass,
    Namespace,
    Pod,
    LocalQueue,
    ClusterQueue,
    ResourceFlavor,
    TrainingRuntime,
    ClusterTrainingRuntime,
    ServingRuntime,
    ClusterServingRuntime,
}

/// The kinds that workloads refer to, and that not every cluster has.
pub(crate) const RELATED: [Kind; 7] = [
    Kind::LocalQueue,
    Kind::ClusterQueue,
    Kind::ResourceFlavor,
    Kind::TrainingRuntime,
    Kind::ClusterTrainingRuntime,
    Kind::ServingRuntime,
    Kind::ClusterServingRuntime,
];

/// A connection to an API server.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    /// Its URL, for messages.
    server: String,
}

impl Api {
    /// Reads the kubeconfig; nothing is sent yet.
    pub async fn connect(connection: &Connection) -> Result<Self> {
        tls::install();
        let mut config = match connection {
            Connection::InCluster => Config::incluster().map_err(|error| {
                Error::config(format!(
                    "error: not in a Pod of a cluster: {}",
                    chain(&error)
                ))
            })?,
            Connection::Kubeconfig { file, context } => {
                let read = match file {
                    Some(file) => Kubeconfig::read_from(file),
                    None => Kubeconfig::read(),
                };
                let options = KubeConfigOptions {
                    context: context.clone(),
                    ..KubeConfigOptions::default()
                };
                let file = read.map_err(|error| unusable(&error))?;
                let config = Config::from_custom_kubeconfig(file, &options).await;
                config.map_err(|error| unusable(&error))?
            }
        };
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = Some(READ);
        config.reset_reader_on_write = true;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| failed(&server, &error))?;
        Ok(Api { client, server })
    }

    /// Lists what decides where containers run, and the objects that workloads refer to.
    pub async fn list(connection: &Connection, wanted: Related) -> Result<Listing> {
        let api = Api::connect(connection).await?;
        let mut nodes = api.all(Kind::Node).await?;
        nodes.extend(api.all(Kind::ResourceSlice).await?);
        let nodes = nodes.into_iter().filter_map(typed).collect();
        let mut related = api.all(Kind::RuntimeClass).await?;
        for kind in RELATED.into_iter().filter(|it| it.is_one_of(wanted)) {
            let found = api.all(kind).await?;
            related.extend(found.iter().filter_map(|it| api.as_in_manifest(it)));
            related.extend(found);
        }
        Ok(Listing { nodes, related })
    }

    /// An object of the namespace in which kubectl creates objects that name none, as such an object sees it.
    fn as_in_manifest(&self, object: &Value) -> Option<Value> {
        let mut object = object.clone();
        let metadata = object.get_mut("metadata")?.as_object_mut()?;
        let namespace = metadata.remove("namespace")?;
        (namespace == self.client.default_namespace()).then_some(object)
    }

    /// Lists the Pods of all namespaces.
    pub async fn pods(&self) -> Result<String> {
        let pods = self.all(Kind::Pod).await?;
        Ok(json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string())
    }

    async fn all(&self, kind: Kind) -> Result<Vec<Value>> {
        let Some(api) = self.of_kind(kind).await? else {
            return Ok(Vec::new());
        };
        let (mut found, mut page) = (Vec::new(), ListParams::default().limit(PAGE));
        loop {
            let list = api.list(&page).await.map_err(|error| self.failed(&error))?;
            let types = json!({"apiVersion": "v1", "kind": kind.name()});
            found.extend(list.items.into_iter().map(|it| with_kind(it, &types)));
            match list.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(found),
            }
        }
    }

    /// The objects of a kind; `None` if the cluster does not know the kind.
    pub async fn of_kind(&self, kind: Kind) -> Result<Option<kube::Api<DynamicObject>>> {
        let (group, version) = match kind {
            Kind::Node | Kind::Namespace | Kind::Pod => ("", "v1"),
            Kind::RuntimeClass => ("node.k8s.io", "v1"),
            Kind::ResourceSlice => (SLICE_GROUP, ""),
            Kind::LocalQueue | Kind::ClusterQueue | Kind::ResourceFlavor => (QUEUE_GROUP, ""),
            Kind::TrainingRuntime | Kind::ClusterTrainingRuntime => (TRAINER_GROUP, ""),
            Kind::ServingRuntime | Kind::ClusterServingRuntime => (SERVING_GROUP, ""),
        };
        let version = match version {
            "" => match self.version_of(group, kind.versions()).await? {
                Some(version) => version,
                None => return Ok(None),
            },
            version => version,
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind.name()));
        Ok(Some(kube::Api::all_with(self.client.clone(), &resource)))
    }

    /// The best version of a group that the server has.
    async fn version_of(
        &self,
        group: &str,
        versions: &[&'static str],
    ) -> Result<Option<&'static str>> {
        let groups = self.client.list_api_groups().await;
        let groups = groups.map_err(|error| self.failed(&error))?.groups;
        let group = groups.iter().find(|it| it.name == group);
        let has = |version: &&&'static str| {
            let mut versions = group.iter().flat_map(|it| &it.versions);
            versions.any(|it| it.version == **version)
        };
        Ok(versions.iter().find(has).copied())
    }

    /// An object of the own namespace, or of the cluster; `None` if it does not exist.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Option<Value>> {
        let found = self.own(kind).get_opt(name).await;
        let found = found.map_err(|error| self.failed(&error))?;
        Ok(found.map(|it| serde_json::to_value(it).unwrap_or_default()))
    }

    /// Deletes an object, if it exists.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<bool> {
        match self.own(kind).delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Creates or replaces an object. Returns `false` if another writer was faster.
    pub async fn put(&self, object: &Object, exists: bool) -> Result<bool> {
        let api = self.own(object.kind);
        let mut content: DynamicObject = typed(object.content.clone())
            .ok_or_else(|| Error::config(format!("error: {} is no object", object.name)))?;
        let resource = resource(object.kind);
        content.types = Some(TypeMeta {
            api_version: resource.api_version,
            kind: resource.kind,
        });
        let parameters = PostParams::default();
        let written = match exists {
            true => api.replace(object.name, &parameters, &content).await,
            false => api.create(&parameters, &content).await,
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Changes an object by a strategic merge patch.
    pub async fn patch(&self, object: &Object, patch: &Value) -> Result<()> {
        let patch = Patch::Strategic(patch);
        let patched = self.own(object.kind);
        let patched = patched
            .patch(object.name, &PatchParams::default(), &patch)
            .await;
        patched.map(drop).map_err(|error| self.failed(&error))
    }

    fn own(&self, kind: &str) -> kube::Api<DynamicObject> {
        let resource = resource(kind);
        match resource.group.as_str() {
            "" => kube::Api::default_namespaced_with(self.client.clone(), &resource),
            _ => kube::Api::all_with(self.client.clone(), &resource),
        }
    }

    /// An object of a namespace; `None` if it does not exist.
    pub async fn object<K>(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<K>>
    where
        K: DeserializeOwned,
    {
        let api: kube::Api<DynamicObject> =
            kube::Api::namespaced_with(self.client.clone(), namespace, &resource(kind));
        let found = api.get_opt(name).await.map_err(|error| self.failed(&error));
        let Some(found) = found? else {
            return Ok(None);
        };
        Ok(serde_json::to_value(found).ok().and_then(typed))
    }

    pub fn failed(&self, error: &kube::Error) -> Error {
        failed(&self.server, error)
    }
}

/// An object that is written.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub kind: &'static str,
    pub name: &'static str,
    pub content: Value,
}

/// A kind of the core group, or a webhook configuration.
fn resource(kind: &str) -> ApiResource {
    let group = match kind.ends_with("WebhookConfiguration") {
        true => "admissionregistration.k8s.io",
        false => "",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Node => "Node",
            Kind::ResourceSlice => "ResourceSlice",
            Kind::RuntimeClass => "RuntimeClass",
            Kind::Namespace => "Namespace",
            Kind::Pod => "Pod",
            Kind::LocalQueue => "LocalQueue",
            Kind::ClusterQueue => "ClusterQueue",
            Kind::ResourceFlavor => "ResourceFlavor",
            Kind::TrainingRuntime => "TrainingRuntime",
            Kind::ClusterTrainingRuntime => "ClusterTrainingRuntime",
            Kind::ServingRuntime => "ServingRuntime",
            Kind::ClusterServingRuntime => "ClusterServingRuntime",
        }
    }

    /// The versions that may have it, the best first. KServe's runtimes are older than the best version of their group.
    fn versions(self) -> &'static [&'static str] {
        match self {
            Kind::ServingRuntime | Kind::ClusterServingRuntime => &["v1alpha1"],
            _ => &VERSIONS,
        }
    }

    fn is_one_of(self, wanted: Related) -> bool {
        match self {
            Kind::TrainingRuntime | Kind::ClusterTrainingRuntime => wanted.runtimes,
            Kind::ServingRuntime | Kind::ClusterServingRuntime => wanted.serving,
            _ => wanted.queues,
        }
    }
}

/// An object with its kind, which lists leave out.
pub(crate) fn with_kind(object: DynamicObject, types: &Value) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let (Some(object), Some(types)) = (value.as_object_mut(), types.as_object()) {
        object.extend(types.clone());
    }
    value
}

pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn unusable(error: &KubeconfigError) -> Error {
    Error::config(format!("error: kubeconfig: {}", chain(error)))
        .with_help("`kubectl config get-contexts` lists the contexts; --kubeconfig names a file")
}

fn failed(server: &str, error: &kube::Error) -> Error {
    let (code, problem) = match error {
        kube::Error::Api(status) => {
            let code = match status.code {
                401 => ErrorCode::Unauthorized,
                403 => ErrorCode::Forbidden,
                404 => ErrorCode::NotFound,
                429 => ErrorCode::RateLimited,
                408 | 504 => ErrorCode::Timeout,
                _ => ErrorCode::Unreachable,
            };
            (code, format!("{} {}", status.code, status.message))
        }
        error => {
            let cause = error.source().unwrap_or(error);
            (ErrorCode::Unreachable, chain(cause))
        }
    };
    Error::new(code, server, problem)
}

/// An error with its causes, each once.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
