//! Argo workflows as their controller runs them: defaults beneath each template, inline templates beside the others, and a copy of a
//! template for each set of values that its steps give it (Argo Workflows, "Variables", "Loops", "Template Defaults", "Inline Templates").

mod calls;
mod references;
mod steps;
mod text;
mod undefined;

use std::collections::BTreeMap;
use std::ops::Range;

use calls::Calls;
use imgcheck_base::document::{Node, Value};
use steps::{GROUP, path, steps};
use text::{Parameters, Values, is_open, substituted};
pub(super) use undefined::undefined;

use super::inline_script::InlineScript;
use super::patch;
use super::references::References;

/// The fields that make the kind of a template; one that only the defaults have does not count.
const KINDS: [&str; 10] = [
    "container",
    "containerSet",
    "dag",
    "data",
    "http",
    "plugin",
    "resource",
    "script",
    "steps",
    "suspend",
];

/// The file that the executor writes the text of a script template to (argoproj/argo-workflows, `ExecutorScriptSourcePath` in
/// workflow/common/common.go). It is the last argument of the command (`workflow/controller/scriptstate.go`, `executeScript`).
const SCRIPT: &str = "/argo/staging/script";
/// The fields of a template that only run others.
const FOLLOWED: [&str; 2] = ["dag", "steps"];
/// Maximum number of values in the copies of templates. A template beyond is there once, with what is in all its sets unknown.
const MAX_COPIED: usize = 200_000;

/// An object with the templates that it runs; `None` if Argo does not run templates of it.
pub(super) fn expanded(group: &str, object: &Node, references: &mut References) -> Option<Node> {
    let path = path(object);
    let mut resolved = object.clone();
    let spec = resolved.at_mut(path).filter(|_| group == GROUP)?;
    references::resolve(spec, references);
    with_runs(resolved, path)
}

/// An object whose templates are those that it runs, once for each set of values.
fn with_runs(mut object: Node, path: &[&str]) -> Option<Node> {
    let spec = object.at(path.iter().copied())?;
    let list = spec.get("templates")?;
    let templates: Vec<Node> = spec.items_of("templates").cloned().collect();
    let mut all: Vec<Node> = templates.iter().flat_map(inline).collect();
    all.splice(0..0, templates);
    if let Some(defaults) = spec.get("templateDefaults") {
        all = all.iter().map(|it| with_defaults(it, defaults)).collect();
    }
    let calls = Calls::of(spec, &all);
    let mut room = MAX_COPIED;
    let runs = all.iter().flat_map(|it| {
        let mut template = it.clone();
        FOLLOWED.iter().for_each(|it| template.clear(it));
        copies(&template, &calls, &mut room)
    });
    let mut runs: Vec<Node> = runs.collect();
    runs.iter_mut().for_each(start_script);
    let runs = Value::List(runs);
    let span = list.span.clone();
    let spec = object.at_mut(path)?;
    ["arguments", "templateDefaults"]
        .iter()
        .for_each(|it| spec.clear(it));
    spec.set("templates", Node { span, value: runs });
    Some(object)
}

/// The templates that are written in the steps of another, with the names of these. An inline template has no steps of its own.
fn inline(template: &Node) -> impl Iterator<Item = Node> {
    steps(template).filter_map(|step| {
        let mut inline = step.get("inline")?.clone();
        inline.set("name", step.get("name")?.clone());
        Some(inline)
    })
}

fn with_defaults(template: &Node, defaults: &Node) -> Node {
    let mut merged = defaults.clone();
    patch::apply(&mut merged, template);
    merged.span = template.span.clone();
    let others = KINDS.iter().filter(|it| template.get(it).is_none());
    others.for_each(|it| merged.clear(it));
    merged
}

/// Has a script template start its text.
fn start_script(template: &mut Node) {
    let Some(script) = template.at_mut(&["script"]) else {
        return;
    };
    let Some(source) = script.get("source") else {
        return;
    };
    let words = ["command", "args"].into_iter();
    let interpreter = words.flat_map(|it| script.items_of(it));
    let text = source.text().filter(|it| !is_open(it));
    let start = InlineScript {
        interpreter: interpreter
            .filter_map(Node::text)
            .map(str::to_owned)
            .collect(),
        text: text.map(str::to_owned),
        path: SCRIPT,
        arguments: Vec::new(),
        span: source.span.clone(),
    };
    start.start_in(script);
}

/// A template once for each set of values that it is run with and that makes a difference.
fn copies(template: &Node, calls: &Calls, room: &mut usize) -> Vec<Node> {
    let mut names = Vec::new();
    text::placeholders(template, &mut names);
    if names.is_empty() {
        return vec![template.clone()];
    }
    let size = size(template);
    let mut sets: Vec<BTreeMap<&str, Option<String>>> = Vec::new();
    let mut copies = Vec::new();
    for inputs in calls.inputs_of(template) {
        let values = Values {
            workflow: &calls.workflow,
            inputs: &inputs,
            item: None,
        };
        let used = names.iter().map(|it| (it.as_str(), values.get(it)));
        let used = used.collect();
        if sets.contains(&used) {
            continue;
        }
        let Some(left) = room.checked_sub(size) else {
            let unknown = Parameters::new();
            let values = Values {
                inputs: &unknown,
                ..values
            };
            copies.push(run(template, &values));
            break;
        };
        *room = left;
        sets.push(used);
        copies.push(run(template, &values));
    }
    copies
}

/// The number of values in a value.
fn size(node: &Node) -> usize {
    let values = node.entries().map(|(_, it)| it).chain(node.items());
    1 + values.map(size).sum::<usize>()
}

/// A template with its values. The value of a variable without one is not in the input.
fn run(node: &Node, values: &Values) -> Node {
    let span = node.span.clone();
    let value = match &node.value {
        Value::Text(text) => Value::Text(substituted(text, values).unwrap_or_else(|| text.clone())),
        Value::List(items) => Value::List(items.iter().map(|it| run(it, values)).collect()),
        Value::Map(entries) => {
            let entry = |(key, value): &(Node, Node)| {
                let is_unknown = |it: &str| is_open(it) && substituted(it, values).is_none();
                let is_value = key.text() == Some("value");
                if !is_value || !value.text().is_some_and(is_unknown) {
                    return (key.clone(), run(value, values));
                }
                let at = |span: &Range<usize>, value: Value| Node {
                    span: span.clone(),
                    value,
                };
                let name = Value::Text("valueFrom".to_owned());
                let from = Value::Map(Vec::new());
                (at(&key.span, name), at(&value.span, from))
            };
            Value::Map(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    };
    Node { span, value }
}
