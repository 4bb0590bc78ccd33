//! A TrainJob starts the containers of the runtime that it refers to, patches the Pods of it, and replaces fields of one container
//! (Kubeflow Trainer, "Job Template", "Runtime Patches").

use super::objects::Objects;
use super::patch;
use imgcheck_base::document::{Node, Value};

/// The kind whose containers are those of a runtime.
pub const TRAIN_JOB: &str = "TrainJob";
/// The label of the job whose container the trainer of a TrainJob replaces, the value that it has there, and the name of the container.
const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
const TRAINER: &str = "trainer";
const CONTAINER: &str = "node";
/// The jobs of a runtime, and the Pod template of a job.
const JOBS: [&str; 4] = ["spec", "template", "spec", "replicatedJobs"];
const POD: [&str; 3] = ["template", "spec", "template"];
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
    if let Some(spec) = job.get("spec") {
        for replicated in runtime.items_at_mut(&JOBS) {
            apply_patches(replicated, spec);
        }
    }
    if let Some(trainer) = job.at(["spec", "trainer"]) {
        for replicated in runtime.items_at_mut(&JOBS) {
            if step(replicated) == Some(TRAINER) {
                let containers = ["template", "spec", "template", "spec", "containers"];
                let containers = replicated.items_at_mut(&containers).iter_mut();
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
    let is_job = object.text_of("kind") == Some(TRAIN_JOB);
    is_job.then(|| object.at(["spec", "runtimeRef"]))?
}

/// What decides an image that is not in a TrainJob.
pub(super) fn decider(object: &Node) -> Option<String> {
    let reference = reference(object)?;
    let kind = reference
        .text_of("kind")
        .unwrap_or("ClusterTrainingRuntime");
    Some(format!("{kind} {}", reference.text_of("name")?))
}

/// Applies the patches of a TrainJob to a job of its runtime: `podTemplateOverrides`, or `runtimePatches`, which newer versions have
/// instead. Later ones win.
fn apply_patches(replicated: &mut Node, spec: &Node) {
    let name = replicated.text_of("name").map(str::to_owned);
    let is_meant = |it: &Node| it.text_of("name") == name.as_deref();
    for change in spec.items_of("podTemplateOverrides") {
        if change.items_of("targetJobs").any(is_meant)
            && let Some(pod) = replicated.at_mut(&POD)
        {
            patch::apply(pod, change);
        }
    }
    for change in spec.items_of("runtimePatches") {
        let template = change.at(["trainingRuntimeSpec", "template", "spec"]);
        let jobs = template
            .into_iter()
            .flat_map(|it| it.items_of("replicatedJobs"));
        for change in jobs.filter(|it| is_meant(it)) {
            if let Some(change) = change.get("template")
                && let Some(job) = replicated.at_mut(&["template"])
            {
                patch::apply(job, change);
            }
        }
    }
}

fn step(replicated: &Node) -> Option<&str> {
    let label = replicated.at(["template", "metadata", "labels", ANCESTOR]);
    label.and_then(Node::text)
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
