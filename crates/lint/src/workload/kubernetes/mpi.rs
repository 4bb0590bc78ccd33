//! What the MPI operator starts in the workers of an MPIJob that have no command: `newWorker` in `pkg/controller/mpi_job_controller.go`
//! of kubeflow/mpi-operator, for `v2beta1`.

use imgcheck_base::document::{Node, Value};

const VERSION: &str = "kubeflow.org/v2beta1";
const SPECIFICATION: [&str; 5] = ["spec", "mpiReplicaSpecs", "Worker", "template", "spec"];
const COMMAND: [&str; 2] = ["/usr/sbin/sshd", "-De"];

/// The object with the command of its workers, if the operator sets it.
pub(super) fn expanded(object: &Node) -> Option<Node> {
    let is_job =
        object.text_of("apiVersion") == Some(VERSION) && object.text_of("kind") == Some("MPIJob");
    if !is_job {
        return None;
    }
    let mut object = object.clone();
    let containers = object.at_mut(&SPECIFICATION)?.at_mut(&["containers"])?;
    let Value::List(containers) = &mut containers.value else {
        return None;
    };
    let first = containers.first_mut()?;
    let is_set = |key: &str| first.items_of(key).next().is_some();
    if is_set("command") || is_set("args") {
        return None;
    }
    let span = first.get("image").unwrap_or(first).span.clone();
    let word = |text: &&str| Node {
        span: span.clone(),
        value: Value::Text((*text).to_owned()),
    };
    let command = Node {
        value: Value::List(COMMAND.iter().map(word).collect()),
        span: span.clone(),
    };
    first.set("command", command);
    Some(object)
}
