//! Ray clusters as the KubeRay operator runs them. A shell runs the command of the first container of each Pod and then starts Ray, and the head
//! can have an autoscaler beside it (KubeRay, `ray-operator/controllers/ray/common/pod.go`: `BuildPod`, `BuildAutoscalerContainer`; Ray, "Specify
//! container commands for Ray head/worker Pods").

use std::ops::Range;

use imgcheck_base::document::{Node, Value};

/// The API group.
const GROUP: &str = "ray.io";
/// Where the specification of the cluster is: of a RayCluster, RayJob, RayCronJob and RayService.
const CLUSTERS: [&[&str]; 4] = [
    &["spec"],
    &["spec", "rayClusterSpec"],
    &["spec", "jobTemplate", "rayClusterSpec"],
    &["spec", "rayClusterConfig"],
];
const HEAD: [&str; 4] = ["headGroupSpec", "template", "spec", "containers"];
const WORKER: [&str; 3] = ["template", "spec", "containers"];
/// With this annotation the operator leaves commands as they are.
const KEEPS_COMMANDS: &str = "ray.io/overwrite-container-cmd";
const SHELL: [&str; 3] = ["/bin/bash", "-c", "--"];
/// What starts Ray. The operator adds it only to a command that does not have it.
const START: &str = "ray start";
const AUTOSCALER: &str = "ray kuberay-autoscaler";

/// An object with the containers that the operator starts; `None` if it has no Ray cluster.
pub(super) fn expanded(group: &str, object: &Node) -> Option<Node> {
    let has_cluster = |path: &&&[&str]| object.at(path.iter().copied().chain(HEAD)).is_some();
    let path = CLUSTERS.iter().find(has_cluster)?;
    if group != GROUP {
        return None;
    }
    let annotation = object.at(["metadata", "annotations", KEEPS_COMMANDS]);
    let starts_ray = annotation.and_then(Node::text) != Some("true");
    let mut object = object.clone();
    let cluster = object.at_mut(path)?;
    if starts_ray {
        start(cluster.at_mut(&HEAD));
        let groups = cluster.at_mut(&["workerGroupSpecs"]);
        for group in items(groups).into_iter().flatten() {
            start(group.at_mut(&WORKER));
        }
    }
    if let Some(autoscaler) = autoscaler(cluster)
        && let Some(containers) = items(cluster.at_mut(&HEAD))
    {
        containers.push(autoscaler);
    }
    Some(object)
}

/// Gives the first container the command that starts Ray.
fn start(containers: Option<&mut Node>) {
    let Some(container) = items(containers).and_then(|it| it.first_mut()) else {
        return;
    };
    let own = ["command", "args"].map(|key| container.get(key));
    let words: Vec<String> = own.into_iter().flatten().flat_map(Node::texts).collect();
    let own_command = words.join(" ");
    if own_command.contains(START) {
        return;
    }
    let place = own.into_iter().flatten().next();
    let place = place.or(container.get("image")).unwrap_or(container);
    let span = place.span.clone();
    let started = format!("ulimit -n 65536; {START}");
    let script = match own_command.as_str() {
        "" => started,
        own => format!("{own} && {started}"),
    };
    run_in_shell(container, &script, &span);
}

/// The autoscaler of a cluster that names an image for it. One without has the image of the head, which is judged.
fn autoscaler(cluster: &Node) -> Option<Node> {
    let enabled = cluster.text_of("enableInTreeAutoscaling") == Some("true");
    let options = cluster.get("autoscalerOptions").filter(|_| enabled)?;
    let span = &options.get("image")?.span;
    let mut container = options.clone();
    container.set("name", text("autoscaler", span));
    run_in_shell(&mut container, AUTOSCALER, span);
    Some(container)
}

fn run_in_shell(container: &mut Node, script: &str, span: &Range<usize>) {
    let list = |words: &[&str]| Node {
        span: span.clone(),
        value: Value::List(words.iter().map(|it| text(it, span)).collect()),
    };
    container.set("command", list(&SHELL));
    container.set("args", list(&[script]));
}

fn text(text: &str, span: &Range<usize>) -> Node {
    Node {
        span: span.clone(),
        value: Value::Text(text.to_owned()),
    }
}

fn items(list: Option<&mut Node>) -> Option<&mut Vec<Node>> {
    match &mut list?.value {
        Value::List(items) => Some(items),
        _ => None,
    }
}
