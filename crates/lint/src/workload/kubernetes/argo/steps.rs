//! The steps of a template, and values of a template that are taken away.

use imgcheck_base::document::{Node, Value};

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

/// Takes the value of a key away.
pub(super) fn clear(map: &mut Node, key: &str) {
    if let Some(value) = map.at_mut(&[key]) {
        value.value = Value::Null;
    }
}
