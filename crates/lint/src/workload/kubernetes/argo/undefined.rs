//! Templates that a workflow names and does not have: its controller fails it (`workflow/validate/validate.go`, `validateTemplateHolder`).

use std::collections::HashSet;

use imgcheck_base::document::Node;
use imgcheck_base::spelling::nearest;

use super::steps::{GROUP, path, steps_with_paths};
use crate::workload::facts::RefusedField;
use crate::workload::kubernetes::fields::{MOST, refused_at};
use crate::workload::shape::kind_of;
use crate::workload::text::{Manifest, is_final};

/// The names of templates in a workflow, as the file has it, that it does not define.
pub(in crate::workload::kubernetes) fn undefined(
    object: &Node,
    manifest: &Manifest,
) -> Vec<RefusedField> {
    let path = path(object);
    let is_workflow = kind_of(object).is_some_and(|(group, _)| group == GROUP);
    // Objects of a cluster have no text; their controller judges them.
    let is_judged = is_workflow && !manifest.text().is_empty();
    let spec = object.at(path.iter().copied()).filter(|_| is_judged);
    // Another object may have the templates.
    let Some(spec) = spec.filter(|it| it.get("workflowTemplateRef").is_none()) else {
        return Vec::new();
    };
    let templates = || spec.items_of("templates");
    let names: HashSet<&str> = templates().filter_map(|it| it.text_of("name")).collect();
    if names.is_empty() || !names.iter().all(|it| is_final(it)) {
        return Vec::new();
    }
    let own = ["entrypoint", "onExit"].into_iter();
    let own = own.filter_map(|it| Some((it.to_owned(), spec.get(it)?)));
    let of_steps = templates().enumerate().flat_map(|(at, template)| {
        steps_with_paths(template).filter_map(move |(path, step)| {
            let field = format!("templates[{at}].{path}.template");
            Some((field, step.get("template")?))
        })
    });
    let is_undefined = |name: &str| !name.is_empty() && is_final(name) && !names.contains(name);
    let undefined = own.chain(of_steps);
    let undefined = undefined.filter(|(_, node)| node.text().is_some_and(is_undefined));
    let refused = undefined.take(MOST).map(|(field, node)| {
        let name = node.text().unwrap_or_default();
        let meant = nearest(name, names.iter().copied()).unwrap_or_default();
        RefusedField {
            problem: "undefined".to_owned(),
            meant: meant.to_owned(),
            ..refused_at(format!("{}.{field}", path.join(".")), node, manifest)
        }
    });
    refused.collect()
}
