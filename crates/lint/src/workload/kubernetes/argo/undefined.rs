//! Templates that a workflow names and does not have: its controller fails it (`workflow/validate/validate.go`, `validateTemplateHolder`).

use imgcheck_base::document::Node;
use imgcheck_base::spelling::nearest;

use super::steps::{GROUP, path, steps};
use crate::workload::facts::RefusedField;
use crate::workload::shape::kind_of;
use crate::workload::text::{Manifest, is_final};

/// The names of templates in a workflow, as the file has it, that it does not define.
pub(in crate::workload::kubernetes) fn undefined(
    object: &Node,
    manifest: &Manifest,
) -> Vec<RefusedField> {
    let path = path(object);
    let is_workflow = kind_of(object).is_some_and(|(group, _)| group == GROUP);
    let spec = object.at(path.iter().copied()).filter(|_| is_workflow);
    // Another object may have the templates.
    let Some(spec) = spec.filter(|it| it.get("workflowTemplateRef").is_none()) else {
        return Vec::new();
    };
    let names: Vec<&str> = spec
        .items_of("templates")
        .filter_map(|it| it.text_of("name"))
        .collect();
    if names.is_empty() || !names.iter().all(|it| is_final(it)) {
        return Vec::new();
    }
    let path = path.join(".");
    let ends = ["entrypoint", "onExit"].into_iter();
    let ends = ends.filter_map(|it| Some((format!("{path}.{it}"), spec.get(it)?)));
    let templates = spec.items_of("templates").enumerate();
    let called = templates.flat_map(|(at, template)| {
        let field = format!("{path}.templates[{at}]");
        steps(template).filter_map(move |step| Some((field.clone(), step.get("template")?)))
    });
    let refused = ends.chain(called).filter_map(|(field, node)| {
        let name = node
            .text()
            .filter(|it| is_final(it) && !names.contains(it))?;
        let meant = nearest(name, names.iter().copied()).unwrap_or_default();
        Some(RefusedField {
            problem: "undefined".to_owned(),
            meant: meant.to_owned(),
            ..RefusedField::invalid(field, node, "", manifest)
        })
    });
    refused.collect()
}
