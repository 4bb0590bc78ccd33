//! Tasks and pipelines of Tekton as they run: what they refer to in the place of the references, and parameters in the steps and sidecars that
//! use them: `$(params.image)` (Tekton, "Variable Substitutions", "Parameters", "Propagated Parameters"). A name that has different values
//! outside and inside, or several, is left as it is.

mod references;

use std::collections::BTreeMap;

use super::inline_script::InlineScript;
use super::references::References;
use imgcheck_base::document::{Node, Value};
use references::{GROUP, TASKS};

/// The fields of a step in which parameters are replaced.
const FIELDS: [&str; 6] = ["image", "command", "args", "env", "workingDir", "script"];
/// The lists of the containers of a task.
const CONTAINERS: [&str; 2] = ["steps", "sidecars"];
/// Where the files of scripts are, each with a random end of its name, and what runs one without `#!` (tektoncd/pipeline, pkg/pod/script.go,
/// `convertListOfSteps`).
const SCRIPT: &str = "/tekton/scripts/script";
const DEFAULT_SHELL: [&str; 2] = ["/bin/sh", "-e"];
/// How the names of variables begin that are replaced in scripts (Tekton, "Fields that accept variable substitutions").
const VARIABLES: [&str; 9] = [
    "context",
    "credentials",
    "inputs",
    "outputs",
    "params",
    "results",
    "step",
    "tasks",
    "workspaces",
];
/// Maximum number of bytes that values may add to a document.
const MAX_ADDED: usize = 1 << 20;

/// Values by name; `None` for one that is only known when the task runs.
type Parameters = BTreeMap<String, Option<String>>;

/// An object as Tekton runs it; `None` if it does not.
pub(super) fn expanded(group: &str, object: &Node, references: &mut References) -> Option<Node> {
    let mut object = object.clone();
    let spec = object.at_mut(&["spec"]).filter(|_| group == GROUP)?;
    references::resolve(spec, references);
    let spec = &spec.clone();
    let given = values(spec, "value");
    let mut room = MAX_ADDED;
    match object.text_of("kind")? {
        "Task" | "ClusterTask" => {
            let defaults = values(spec, "default");
            replace_in_task(object.at_mut(&["spec"])?, &defaults, &mut room);
        }
        "TaskRun" => {
            let mut parameters = values(spec.get("taskSpec")?, "default");
            parameters.extend(given);
            replace_in_task(
                object.at_mut(&["spec", "taskSpec"])?,
                &parameters,
                &mut room,
            );
        }
        "Pipeline" => {
            let defaults = values(spec, "default");
            replace_in_pipeline(object.at_mut(&["spec"])?, &defaults, &mut room);
        }
        "PipelineRun" => {
            let mut parameters = values(spec.get("pipelineSpec")?, "default");
            parameters.extend(given);
            let pipeline = object.at_mut(&["spec", "pipelineSpec"])?;
            replace_in_pipeline(pipeline, &parameters, &mut room);
        }
        _ => return None,
    }
    Some(object)
}

/// The texts of a list of parameters: what it gives them, or their defaults.
fn values(spec: &Node, key: &str) -> Parameters {
    let named = spec.items_of("params").filter_map(|it| {
        let value = it.get(key)?.text().map(str::to_owned);
        Some((it.text_of("name")?.to_owned(), value))
    });
    named.collect()
}

fn replace_in_pipeline(pipeline: &mut Node, outer: &Parameters, room: &mut usize) {
    for list in TASKS {
        for task in pipeline.items_at_mut(&[list]) {
            let parameters = of_task(task, outer);
            if let Some(spec) = task.at_mut(&["taskSpec"]) {
                replace_in_task(spec, &parameters, room);
            }
        }
    }
}

/// The parameters of a task that is written in a pipeline, which sees those of the pipeline, too.
fn of_task(task: &Node, outer: &Parameters) -> Parameters {
    let mut all = outer.clone();
    let defaults = task.get("taskSpec").map(|it| values(it, "default"));
    for (name, default) in defaults.unwrap_or_default() {
        // Whether the value of the pipeline counts depends on who gives it.
        let is_other = outer.get(&name).is_some_and(|it| *it != default);
        all.insert(name, default.filter(|_| !is_other));
    }
    for (name, value) in values(task, "value") {
        let value = value.map(|it| replaced(&it, outer));
        all.insert(name, value.filter(|it| !it.contains("$(")));
    }
    // The task runs once for each value.
    let matrix = task.get("matrix").into_iter();
    let includes = matrix.clone().flat_map(|it| it.items_of("include"));
    let several = matrix.chain(includes).flat_map(|it| it.items_of("params"));
    for name in several.filter_map(|it| it.text_of("name")) {
        all.insert(name.to_owned(), None);
    }
    all
}

fn replace_in_task(task: &mut Node, parameters: &Parameters, room: &mut usize) {
    for list in CONTAINERS {
        for container in task.items_at_mut(&[list]) {
            replace_in_step(container, parameters, room);
            start_script(container);
            if let Some(resources) = container.get("computeResources").cloned() {
                container.set("resources", resources);
            }
        }
    }
    if let Some(template) = task.at_mut(&["stepTemplate"]) {
        replace_in_step(template, parameters, room);
    }
}

fn replace_in_step(step: &mut Node, parameters: &Parameters, room: &mut usize) {
    for field in FIELDS {
        if let Some(node) = step.at_mut(&[field]) {
            replace_in(node, parameters, room);
        }
    }
}

/// Has a step start its script.
fn start_script(step: &mut Node) {
    let Some((script, text)) = step.get("script").and_then(|it| Some((it, it.text()?))) else {
        return;
    };
    let line = text
        .trim_start()
        .strip_prefix("#!")
        .map(|it| it.lines().next().unwrap_or_default().trim());
    // Linux gives the interpreter all that is behind it as one argument.
    let interpreter: Vec<String> = match line {
        Some(line) => line
            .splitn(2, char::is_whitespace)
            .map(|it| it.trim().to_owned())
            .collect(),
        None => DEFAULT_SHELL.map(str::to_owned).to_vec(),
    };
    let start = InlineScript {
        interpreter,
        text: (!has_variable(text)).then(|| text.to_owned()),
        path: SCRIPT,
        arguments: step.get("args").map(Node::texts).unwrap_or_default(),
        span: script.span.clone(),
    };
    start.start_in(step);
}

/// Whether Tekton replaces a part of a text by something that is not in the input.
fn has_variable(text: &str) -> bool {
    let mut variables = text.split("$(").skip(1);
    variables.any(|it| {
        let name = it.split(['.', '[']).next().unwrap_or_default();
        name.len() < it.len() && VARIABLES.contains(&name)
    })
}

fn replace_in(node: &mut Node, parameters: &Parameters, room: &mut usize) {
    match &mut node.value {
        Value::Text(text) if text.contains("$(") => {
            let whole = replaced(text, parameters);
            let added = whole.len().saturating_sub(text.len());
            if added <= *room {
                *room -= added;
                *text = whole;
            }
        }
        Value::List(items) => {
            let items = items.iter_mut();
            items.for_each(|it| replace_in(it, parameters, room));
        }
        Value::Map(entries) => {
            let entries = entries.iter_mut();
            entries.for_each(|(_, it)| replace_in(it, parameters, room));
        }
        _ => {}
    }
}

/// A text with the values of its parameters, as far as they are known. One that would become too long is left as it is.
fn replaced(text: &str, parameters: &Parameters) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        whole.push_str(before);
        let value = after.split_once(')').and_then(|(name, after)| {
            let value = parameters.get(parameter(name)?)?.as_deref()?;
            Some((value, after))
        });
        match value {
            Some((value, after)) => {
                whole.push_str(value);
                rest = after;
            }
            None => {
                whole.push_str("$(");
                rest = after;
            }
        }
        if whole.len() > MAX_ADDED {
            return text.to_owned();
        }
    }
    whole + rest
}

/// The name in `params.NAME`, `params["NAME"]` or, as old versions write it, `inputs.params.NAME`.
fn parameter(variable: &str) -> Option<&str> {
    let variable = variable.strip_prefix("inputs.").unwrap_or(variable);
    let name = variable.strip_prefix("params")?;
    let quoted = ["\"", "'"].into_iter().find_map(|quote| {
        let name = name.strip_prefix('[')?.strip_suffix(']')?;
        name.strip_prefix(quote)?.strip_suffix(quote)
    });
    quoted.or(name.strip_prefix('.'))
}
