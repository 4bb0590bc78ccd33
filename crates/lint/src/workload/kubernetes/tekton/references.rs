//! Tasks and pipelines that others refer to: `taskRef` and `pipelineRef` (Tekton, "TaskRuns", "PipelineRuns", "Pipelines").

use super::super::references::References;
use imgcheck_base::document::Node;

/// The API group.
pub(super) const GROUP: &str = "tekton.dev";
/// The lists of the tasks of a pipeline.
pub(super) const TASKS: [&str; 2] = ["tasks", "finally"];

/// Puts the specifications of tasks and pipelines in the place of the references to them.
pub(super) fn resolve(spec: &mut Node, references: &mut References) {
    replace(spec, "pipelineRef", "Pipeline", "pipelineSpec", references);
    replace(spec, "taskRef", "Task", "taskSpec", references);
    for pipeline in [&[][..], &["pipelineSpec"]] {
        for list in TASKS {
            let tasks = [pipeline, &[list]].concat();
            for task in spec.items_at_mut(&tasks) {
                replace(task, "taskRef", "Task", "taskSpec", references);
            }
        }
    }
}

fn replace(at: &mut Node, key: &str, kind: &str, becomes: &str, references: &mut References) {
    let Some(reference) = at.get(key).cloned() else {
        return;
    };
    // A custom task is run by a controller of its own.
    let api = reference.text_of("apiVersion");
    if api.is_some_and(|it| it.split('/').next() != Some(GROUP)) {
        return;
    }
    if let Some(resolver) = reference.text_of("resolver") {
        let named = match resolved_name(&reference) {
            Some(name) => format!("{kind} {name}"),
            None => kind.to_owned(),
        };
        references.miss(format!("{named} of the resolver {resolver}"), &reference);
        return;
    }
    let kind = reference.text_of("kind").unwrap_or(kind);
    let found = references.specification(kind, kind != "ClusterTask", &reference);
    if let Some(found) = found {
        let mut found = found.clone();
        found.place_at(&reference.span);
        at.set(becomes, found);
        at.clear(key);
    }
}

/// The name that the bundle, hub and cluster resolvers are given (Tekton, "Remote Resolution").
fn resolved_name(reference: &Node) -> Option<&str> {
    let mut parameters = reference.items_of("params");
    let name = parameters.find(|it| it.text_of("name") == Some("name"))?;
    name.text_of("value")
}
