//! Templates of other objects: `workflowTemplateRef` of a workflow, `templateRef` of a step (Argo Workflows, "Workflow Templates", "Cluster
//! Workflow Templates").

use imgcheck_base::document::{Node, Value};

use super::super::patch;
use super::super::references::References;
use super::steps::steps_mut;

/// Maximum number of templates that are taken over.
const MAX_TEMPLATES: usize = 1000;

/// Takes over the templates that a workflow refers to, each with the place of the reference to it.
pub(super) fn resolve(spec: &mut Node, references: &mut References) {
    let mut resolver = Resolver { references };
    resolver.workflow(spec);
    let mut known: Vec<Node> = spec.items_of("templates").cloned().collect();
    let mut at = 0;
    while at < known.len() {
        let mut template = known[at].clone();
        for step in steps_mut(&mut template) {
            let taken = resolver.step(step);
            let is_new = |it: &Node| {
                let mut names = known.iter().map(|it| it.text_of("name"));
                known.len() < MAX_TEMPLATES && names.all(|name| name != it.text_of("name"))
            };
            if let Some(taken) = taken.filter(is_new) {
                known.push(taken);
            }
        }
        known[at] = template;
        at += 1;
    }
    if let Some(templates) = spec.at_mut(&["templates"]) {
        templates.value = Value::List(known);
    }
}

struct Resolver<'r, 'o> {
    references: &'r mut References<'o>,
}

impl<'o> Resolver<'_, 'o> {
    /// The specification of the object that a reference names.
    fn find(&mut self, reference: &Node) -> Option<&'o Node> {
        let (kind, has_namespace) = match reference.text_of("clusterScope") {
            Some("true") => ("ClusterWorkflowTemplate", false),
            _ => ("WorkflowTemplate", true),
        };
        self.references
            .specification(kind, has_namespace, reference)
    }

    /// A workflow with what its template says where it says nothing itself.
    fn workflow(&mut self, spec: &mut Node) {
        let Some(reference) = spec.get("workflowTemplateRef").cloned() else {
            return;
        };
        let Some(template) = self.find(&reference) else {
            return;
        };
        let mut merged = template.clone();
        merged.place_at(&reference.span);
        let parameters = |it: &Node| -> Vec<Node> {
            let arguments = it.get("arguments").into_iter();
            arguments
                .flat_map(|it| it.items_of("parameters"))
                .cloned()
                .collect()
        };
        let (mut own, defaults) = (parameters(spec), parameters(&merged));
        for default in defaults {
            if own
                .iter()
                .all(|it| it.text_of("name") != default.text_of("name"))
            {
                own.push(default);
            }
        }
        patch::apply(&mut merged, spec);
        let at = |value| Node {
            span: reference.span.clone(),
            value,
        };
        let name = at(Value::Text("parameters".to_owned()));
        let list = at(Value::List(own));
        merged.set("arguments", at(Value::Map(vec![(name, list)])));
        *spec = merged;
    }

    /// Has a step run the template that it refers to by a name of its own, and returns that.
    fn step(&mut self, step: &mut Node) -> Option<Node> {
        let reference = step.get("templateRef")?.clone();
        let spec = self.find(&reference)?;
        let (holder, name) = (reference.text_of("name")?, reference.text_of("template")?);
        let mut templates = spec.items_of("templates");
        let Some(template) = templates.find(|it| it.text_of("name") == Some(name)) else {
            self.references
                .miss(format!("template {name} of {holder}"), &reference);
            return None;
        };
        let text = |text: String| Node {
            span: reference.span.clone(),
            value: Value::Text(text),
        };
        let mut template = template.clone();
        template.place_at(&reference.span);
        // The templates beside it are not those of the workflow.
        for inner in steps_mut(&mut template) {
            if let Some(local) = inner.text_of("template").map(str::to_owned) {
                let mut beside = reference.clone();
                beside.set("template", text(local));
                inner.clear("template");
                inner.set("templateRef", beside);
            }
        }
        let name = format!("{holder}/{name}");
        template.set("name", text(name.clone()));
        step.clear("templateRef");
        step.set("template", text(name));
        Some(template)
    }
}
