//! Who runs a template, and with which values.

use std::cell::Cell;
use std::collections::HashMap;

use imgcheck_base::document::{self, Node};

use super::steps::steps;
use super::text::{Parameters, Values, is_open, substituted};

/// Maximum number of sets of values of one template.
const MAX_SETS: usize = 100;
/// How far the values of steps are followed.
const MAX_DEPTH: usize = 8;
/// Maximum number of values that are followed in one object. What is beyond is unknown.
const MAX_WORK: usize = 1_000_000;

/// The steps of a workflow, and its parameters.
pub(super) struct Calls<'w> {
    /// The parameters of the workflow.
    pub workflow: Parameters,
    /// By the name of the template that they run.
    steps: HashMap<&'w str, Vec<Step<'w>>>,
    entry: &'w str,
    work: Cell<usize>,
}

/// A step or task, and the template that it belongs to.
struct Step<'w> {
    step: &'w Node,
    template: &'w Node,
}

impl<'w> Calls<'w> {
    pub fn of(spec: &'w Node, templates: &'w [Node]) -> Self {
        let mut all: HashMap<&str, Vec<Step>> = HashMap::new();
        for template in templates {
            for step in steps(template) {
                let is_inline = step.get("inline").is_some();
                let name = if is_inline { "name" } else { "template" };
                if let Some(name) = step.text_of(name) {
                    all.entry(name).or_default().push(Step { step, template });
                }
            }
        }
        Calls {
            workflow: parameters(spec.get("arguments")),
            steps: all,
            entry: spec.text_of("entrypoint").unwrap_or_default(),
            work: Cell::new(MAX_WORK),
        }
    }

    /// The sets of values that a template is run with.
    pub fn inputs_of(&self, template: &Node) -> Vec<Parameters> {
        self.followed(template, 0)
    }

    /// Whether so many more values may be followed.
    fn can_afford(&self, values: usize) -> bool {
        let left = self.work.get().checked_sub(values + 1);
        self.work.set(left.unwrap_or(0));
        left.is_some()
    }

    fn followed(&self, template: &Node, depth: usize) -> Vec<Parameters> {
        let name = template.text_of("name").unwrap_or_default();
        let own = parameters(template.get("inputs"));
        let calls = self.steps.get(name).map_or(&[][..], Vec::as_slice);
        let mut sets = Vec::new();
        if calls.is_empty() || name == self.entry {
            // The arguments of the workflow are those of its first template.
            let value = |(name, own): (&String, &Option<String>)| {
                let given = self.workflow.get(name).unwrap_or(own);
                (name.clone(), given.clone())
            };
            sets.push(own.iter().map(value).collect());
        }
        for call in calls {
            let callers = match depth < MAX_DEPTH {
                true => self.followed(call.template, depth + 1),
                false => vec![Parameters::new()],
            };
            for inputs in &callers {
                if !self.add(call.step, inputs, &own, &mut sets) {
                    let unknown = own.keys().map(|it| (it.clone(), None));
                    sets.push(unknown.collect());
                    return sets;
                }
            }
        }
        sets
    }

    /// Adds the sets of values that a step gives; `false` if they are too many.
    fn add(
        &self,
        step: &Node,
        inputs: &Parameters,
        own: &Parameters,
        sets: &mut Vec<Parameters>,
    ) -> bool {
        for item in self.items(step, inputs) {
            let values = Values {
                workflow: &self.workflow,
                inputs,
                item: item.as_ref(),
            };
            let set = given(step, own, &values);
            if sets.len() >= MAX_SETS || !self.can_afford(set.len()) {
                return false;
            }
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        true
    }

    /// The items of a loop; one that is `None` if there is no loop, or its items are not in the input.
    fn items(&self, step: &Node, inputs: &Parameters) -> Vec<Option<Node>> {
        let values = Values {
            workflow: &self.workflow,
            inputs,
            item: None,
        };
        let parsed = || {
            let text = substituted(step.text_of("withParam")?, &values)?;
            let documents = document::read_embedded(&text).ok()?;
            documents.into_iter().next()
        };
        let list = step.get("withItems").cloned().or_else(parsed);
        let items = list.iter().flat_map(Node::items).take(MAX_SETS + 1);
        let items: Vec<Option<Node>> = items.cloned().map(Some).collect();
        match items.is_empty() || !self.can_afford(items.len()) {
            true => vec![None],
            false => items,
        }
    }
}

/// The parameters of a template with what a step gives them.
fn given(step: &Node, own: &Parameters, values: &Values) -> Parameters {
    let mut set = own.clone();
    let arguments = step.get("arguments").into_iter();
    for argument in arguments.flat_map(|it| it.items_of("parameters")) {
        if let Some(name) = argument.text_of("name") {
            let value = argument.text_of("value");
            let value = value.and_then(|it| substituted(it, values));
            set.insert(name.to_owned(), value);
        }
    }
    set
}

/// The values or defaults of parameters.
fn parameters(holder: Option<&Node>) -> Parameters {
    let all = holder.into_iter().flat_map(|it| it.items_of("parameters"));
    let pair = |it: &Node| {
        let value = it.text_of("value").or(it.text_of("default"));
        let value = value.filter(|it| !is_open(it)).map(str::to_owned);
        Some((it.text_of("name")?.to_owned(), value))
    };
    all.filter_map(pair).collect()
}
