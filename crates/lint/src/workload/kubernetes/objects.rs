//! Objects of the input that others refer to: ConfigMaps, Secrets, templates of resource claims, runtime classes, runtimes, queues.

use std::collections::{BTreeMap, HashMap};

use super::fields::Fields;
use super::queue::Queues;
use crate::workload::facts::RefusedField;
use crate::workload::kinds::Kinds;
use crate::workload::placement::{Flavor, Placement};
use crate::workload::text::Manifest;
use imgcheck_base::document::Node;

/// The type of a Secret with the token of a ServiceAccount.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// The keys of a ConfigMap or Secret, each with its value if that is text and not secret.
pub(super) type Data = BTreeMap<String, Option<String>>;

/// What other objects of the same input say.
#[derive(Debug, Default)]
pub struct Objects {
    /// The keys of ConfigMaps and Secrets, by kind, namespace and name.
    data: HashMap<(String, String, String), Data>,
    /// The GPU device class of resource claims and their templates, by namespace and name; `None` if it is for something else.
    claims: HashMap<(String, String), Option<String>>,
    /// The node selector of runtime classes, by name.
    runtime_classes: HashMap<String, BTreeMap<String, String>>,
    /// Objects that have the Pods of others, by kind, namespace (empty if they have none) and name.
    runtimes: HashMap<(String, String, String), Node>,
    queues: Queues,
    /// What the API server refuses of ConfigMaps and Secrets, by kind, namespace and name.
    refused: HashMap<(String, String, String), Vec<RefusedField>>,
}

impl Objects {
    /// What a cluster has: the node selectors of its runtime classes, and the other objects as JSON.
    pub fn of_cluster(
        classes: &BTreeMap<String, BTreeMap<String, String>>,
        related: &[serde_json::Value],
        kinds: &Kinds,
    ) -> Self {
        let classes = classes.iter();
        let classes = classes.map(|(name, selector)| (name.clone(), selector.clone()));
        let mut objects = Objects {
            runtime_classes: classes.collect(),
            ..Objects::default()
        };
        objects.add_all(related, kinds);
        objects
    }

    /// Adds the objects of a cluster that containers can refer to.
    pub fn add_all(&mut self, objects: &[serde_json::Value], kinds: &Kinds) {
        let objects = objects.iter().map(Node::of_json);
        objects.for_each(|it| self.add(&it, kinds));
    }

    /// Adds an object if containers can refer to it.
    pub fn add(&mut self, object: &Node, kinds: &Kinds) {
        let key = key_of(object);
        match object.text_of("kind") {
            // The controller of tokens adds keys to it.
            Some("Secret") if object.text_of("type") == Some(TOKEN) => {}
            Some(kind @ ("ConfigMap" | "Secret")) => {
                let key = (kind.to_owned(), key.0, key.1);
                let known = self.data.entry(key).or_default();
                for (key, value) in data(kind, object) {
                    // Of the same name there may be an object and a patch of it.
                    let merged = known.entry(key).or_insert_with(|| value.clone());
                    merged.take_if(|it| Some(&*it) != value.as_ref());
                }
            }
            Some("ResourceClaimTemplate") => {
                let class = object
                    .at(["spec", "spec"])
                    .and_then(|it| gpu_class(it, kinds));
                self.claims.insert(key, class);
            }
            Some("ResourceClaim") => {
                let class = object.get("spec").and_then(|it| gpu_class(it, kinds));
                self.claims.insert(key, class);
            }
            Some("RuntimeClass") => {
                let selector = object.at(["scheduling", "nodeSelector"]);
                let selector = selector.map(Node::text_map).unwrap_or_default();
                self.runtime_classes.insert(key.1, selector);
            }
            Some(
                kind @ ("TrainingRuntime"
                | "ClusterTrainingRuntime"
                | "ServingRuntime"
                | "ClusterServingRuntime"
                | "WorkflowTemplate"
                | "ClusterWorkflowTemplate"
                | "Task"
                | "ClusterTask"
                | "Pipeline"),
            ) => {
                let key = (kind.to_owned(), key.0, key.1);
                self.runtimes.insert(key, object.clone());
            }
            _ => self.queues.add(object, (&key.0, &key.1)),
        }
    }

    /// Notes what the API server refuses of a ConfigMap or Secret of a file.
    pub fn add_refused(&mut self, object: &Node, manifest: &Manifest) {
        let Some(kind @ ("ConfigMap" | "Secret")) = object.text_of("kind") else {
            return;
        };
        // A test reads the table.
        let fields = Fields::builtin().ok();
        let refused = fields.and_then(|it| it.refused(object, true, manifest));
        if let Some(refused) = refused.filter(|it| !it.is_empty()) {
            let (namespace, name) = key_of(object);
            let key = (kind.to_owned(), namespace, name);
            self.refused.entry(key).or_default().extend(refused);
        }
    }

    /// What the API server refuses of a ConfigMap or Secret.
    pub(super) fn refused(&self, kind: &str, namespace: &str, name: &str) -> &[RefusedField] {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.refused.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Same as [`Queues::flavors`].
    pub(super) fn flavors(
        &self,
        object: &Node,
        namespace: &str,
        pod: &Placement,
    ) -> Option<Vec<Flavor>> {
        self.queues.flavors(object, namespace, pod)
    }

    /// An object that has the Pods of another.
    pub(super) fn runtime(&self, kind: &str, namespace: &str, name: &str) -> Option<&Node> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.runtimes.get(&key)
    }

    /// The objects of a kind and namespace that have the Pods of others, by name.
    pub(super) fn runtimes<'o>(
        &'o self,
        kind: &str,
        namespace: &str,
    ) -> impl Iterator<Item = (&'o str, &'o Node)> {
        let all = self.runtimes.iter();
        all.filter(move |((its, of, _), _)| its == kind && of == namespace)
            .map(|((.., name), runtime)| (name.as_str(), runtime))
    }

    /// The keys of a ConfigMap or Secret; `None` if it is not in the input.
    pub(super) fn data(&self, kind: &str, namespace: &str, name: &str) -> Option<&Data> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.data.get(&key)
    }

    /// The GPU device class of a claim or template, which is `None` if it is for something else. `None` if it is not in the input.
    pub(super) fn gpu_claim(&self, namespace: &str, name: &str) -> Option<Option<&str>> {
        let class = self.claims.get(&(namespace.to_owned(), name.to_owned()))?;
        Some(class.as_deref())
    }

    pub(super) fn runtime_selector(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.runtime_classes.get(name)
    }
}

/// The namespace and the name of an object; empty without one.
fn key_of(object: &Node) -> (String, String) {
    let metadata = |key: &str| {
        let text = object.at(["metadata", key]).and_then(Node::text);
        text.unwrap_or_default().to_owned()
    };
    (metadata("namespace"), metadata("name"))
}

/// The keys of a ConfigMap or Secret (Kubernetes API reference).
fn data(kind: &str, object: &Node) -> Data {
    let fields = ["data", "binaryData", "stringData"].into_iter();
    let entries = fields.flat_map(|field| {
        let entries = object.get(field).into_iter().flat_map(Node::entries);
        entries.filter_map(move |(key, value)| {
            let is_shown = (kind, field) == ("ConfigMap", "data");
            let value = value.text().filter(|_| is_shown);
            Some((key.text()?.to_owned(), value.map(str::to_owned)))
        })
    });
    entries.collect()
}

/// The first device class of a claim that is for GPUs. Before `resource.k8s.io/v1` it is directly in the request.
fn gpu_class(claim: &Node, kinds: &Kinds) -> Option<String> {
    let requests = claim.get("devices")?.items_of("requests");
    let classes = requests.flat_map(|request| {
        let exactly = request.at(["exactly", "deviceClassName"]);
        let first = request.items_of("firstAvailable");
        let first = first.filter_map(|it| it.get("deviceClassName"));
        [request.get("deviceClassName"), exactly]
            .into_iter()
            .flatten()
            .chain(first)
    });
    let mut classes = classes.filter_map(Node::text);
    classes.find(|it| kinds.is_gpu_class(it)).map(str::to_owned)
}
