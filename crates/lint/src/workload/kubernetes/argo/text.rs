//! Placeholders in texts: `{{inputs.parameters.image}}`.

use std::collections::BTreeMap;

use imgcheck_base::document::{Node, Value};

/// Values by name; `None` for one that is not in the input.
pub(super) type Parameters = BTreeMap<String, Option<String>>;

/// What placeholders stand for.
pub(super) struct Values<'v> {
    pub workflow: &'v Parameters,
    pub inputs: &'v Parameters,
    /// The item of a loop, if there is one.
    pub item: Option<&'v Node>,
}

impl Values<'_> {
    /// The value of a placeholder; `None` if it is not in the input.
    pub fn get(&self, name: &str) -> Option<String> {
        let known = |all: &Parameters, name: &str| all.get(name).cloned().flatten();
        if let Some(name) = name.strip_prefix("workflow.parameters.") {
            return known(self.workflow, name);
        }
        if let Some(name) = name.strip_prefix("inputs.parameters.") {
            return known(self.inputs, name);
        }
        let item = self.item?;
        let value = match name.strip_prefix("item.") {
            Some(key) => item.text_of(key)?,
            None => item.text().filter(|_| name == "item")?,
        };
        // A value may be a placeholder itself.
        (!is_open(value)).then(|| value.to_owned())
    }
}

/// Whether a text has a placeholder.
pub(super) fn is_open(text: &str) -> bool {
    pieces(text).any(|(_, name)| name.is_some())
}

/// A text with the values of its placeholders; `None` if one has none.
pub(super) fn substituted(text: &str, values: &Values) -> Option<String> {
    let mut whole = String::new();
    for (before, name) in pieces(text) {
        whole.push_str(before);
        if let Some(name) = name {
            whole.push_str(&values.get(name)?);
        }
    }
    Some(whole)
}

/// The placeholders in the texts of a template, each once.
pub(super) fn placeholders(node: &Node, found: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) => {
            for name in pieces(text).filter_map(|(_, name)| name) {
                if !found.iter().any(|it| it == name) {
                    found.push(name.to_owned());
                }
            }
        }
        Value::List(items) => items.iter().for_each(|it| placeholders(it, found)),
        Value::Map(entries) => entries.iter().for_each(|(_, it)| placeholders(it, found)),
        _ => {}
    }
}

/// The text in pieces, each with the placeholder after it. `{{ .Values.image }}` is one of Helm's, not of Argo's.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let mut from = 0;
        while let Some(start) = text[from..].find("{{").map(|at| at + from) {
            let Some(end) = text[start..].find("}}").map(|at| at + start) else {
                break;
            };
            let name = text[start + 2..end].trim();
            if !name.starts_with('.') && !name.contains(" .") {
                rest = Some(&text[end + 2..]);
                return Some((&text[..start], Some(name)));
            }
            from = end + 2;
        }
        Some((text, None))
    })
}
