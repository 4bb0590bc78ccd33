//! The steps of a template.

use imgcheck_base::document::Node;

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
