//! Where the templates of a workflow are, and their steps.

use imgcheck_base::document::{Node, Value};

/// The API group.
pub(super) const GROUP: &str = "argoproj.io";

/// Where the specification of the workflow is.
pub(super) fn path(object: &Node) -> &'static [&'static str] {
    match object.at(["spec", "workflowSpec"]) {
        Some(_) => &["spec", "workflowSpec"],
        None => &["spec"],
    }
}

/// The steps and tasks of a template.
pub(super) fn steps(template: &Node) -> impl Iterator<Item = &Node> {
    let groups = template.items_of("steps");
    let steps = groups.flat_map(|it| {
        let nested = it.items_of("steps");
        it.items().chain(nested)
    });
    let dag = template.get("dag").into_iter();
    steps.chain(dag.flat_map(|it| it.items_of("tasks")))
}

/// Same as [`steps`], to change them.
pub(super) fn steps_mut(template: &mut Node) -> Vec<&mut Node> {
    let mut found = Vec::new();
    let Value::Map(entries) = &mut template.value else {
        return found;
    };
    for (key, value) in entries {
        match key.text() {
            Some("steps") => value.items_mut().iter_mut().for_each(|group| {
                found.extend(match &group.value {
                    Value::Map(_) => group.items_at_mut(&["steps"]),
                    _ => group.items_mut(),
                });
            }),
            Some("dag") => found.extend(value.items_at_mut(&["tasks"])),
            _ => {}
        }
    }
    found
}
