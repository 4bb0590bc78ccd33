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
    groups.flat_map(steps_of_group).chain(tasks(template))
}

/// Same as [`steps`], each with its path in the template.
pub(super) fn steps_with_paths(template: &Node) -> impl Iterator<Item = (String, &Node)> {
    let groups = template.items_of("steps").enumerate();
    let steps = groups.flat_map(|(group, it)| {
        let steps = steps_of_group(it).enumerate();
        steps.map(move |(at, it)| (format!("steps[{group}][{at}]"), it))
    });
    let tasks = tasks(template).enumerate();
    steps.chain(tasks.map(|(at, it)| (format!("dag.tasks[{at}]"), it)))
}

fn steps_of_group(group: &Node) -> impl Iterator<Item = &Node> {
    group.items().chain(group.items_of("steps"))
}

fn tasks(template: &Node) -> impl Iterator<Item = &Node> {
    let dag = template.get("dag").into_iter();
    dag.flat_map(|it| it.items_of("tasks"))
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
