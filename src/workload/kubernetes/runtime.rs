//! A TrainJob starts the containers of the runtime that it refers to, and replaces fields of one of them (Kubeflow Trainer, "Job
//! Template").

use super::objects::Objects;
use crate::document::{Node, Value};

/// The label of the job whose container the trainer of a TrainJob replaces, the value that it has there, and the name of the container.
const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
const TRAINER: &str = "trainer";
const CONTAINER: &str = "node";
/// The fields of the trainer that replace those of the container.
const REPLACED: [&str; 3] = ["image", "command", "args"];

/// The runtime of a TrainJob with what the job replaces in it; `None` if it is not in the input. What the runtime says has the place of
/// the reference to it.
pub(super) fn with_trainer(job: &Node, namespace: &str, objects: &Objects) -> Option<Node> {
    let reference = reference(job)?;
    let kind = reference
        .text_of("kind")
        .unwrap_or("ClusterTrainingRuntime");
    let namespace = match kind {
        "ClusterTrainingRuntime" => "",
        _ => namespace,
    };
    let runtime = objects.runtime(kind, namespace, reference.text_of("name")?)?;
    let mut runtime = runtime.clone();
    runtime.place_at(&reference.span);
    if let Some(metadata) = job.get("metadata") {
        runtime.set("metadata", metadata.clone());
    }
    if let Some(trainer) = job.at(["spec", "trainer"]) {
        let jobs = ["spec", "template", "spec", "replicatedJobs"];
        for replicated in items(runtime.at_mut(&jobs)) {
            if step(replicated) == Some(TRAINER) {
                let containers = ["template", "spec", "template", "spec", "containers"];
                let containers = items(replicated.at_mut(&containers)).iter_mut();
                let mut named = containers.filter(|it| it.text_of("name") == Some(CONTAINER));
                if let Some(container) = named.next() {
                    replace(container, trainer);
                }
            }
        }
    }
    Some(runtime)
}

/// The reference of a TrainJob to its runtime.
pub(super) fn reference(object: &Node) -> Option<&Node> {
    let is_job = object.text_of("kind") == Some("TrainJob");
    is_job.then(|| object.at(["spec", "runtimeRef"]))?
}

fn step(replicated: &Node) -> Option<&str> {
    let label = replicated.at(["template", "metadata", "labels", ANCESTOR]);
    label.and_then(Node::text)
}

fn items(list: Option<&mut Node>) -> &mut [Node] {
    match list.map(|it| &mut it.value) {
        Some(Value::List(items)) => items,
        _ => &mut [],
    }
}

fn replace(container: &mut Node, trainer: &Node) {
    for key in REPLACED {
        if let Some(value) = trainer.get(key) {
            container.set(key, value.clone());
        }
    }
    if let Some(resources) = trainer.get("resourcesPerNode") {
        container.set("resources", resources.clone());
    }
    let added: Vec<Node> = trainer.items_of("env").cloned().collect();
    if !added.is_empty() {
        let env: Vec<Node> = container.items_of("env").cloned().chain(added).collect();
        let span = container.span.clone();
        container.set(
            "env",
            Node {
                span,
                value: Value::List(env),
            },
        );
    }
}
