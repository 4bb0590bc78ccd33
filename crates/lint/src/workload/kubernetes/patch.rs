//! Strategic merge patches of Pods (Kubernetes, "Update API Objects in Place Using kubectl patch").

use imgcheck_base::document::{Node, Value};

/// Lists whose elements are merged by the value of a key. Other lists are replaced.
const KEYS: [(&str, &str); 6] = [
    ("containers", "name"),
    ("env", "name"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];

/// Applies a patch to a value. What is null or an empty list changes nothing: Go leaves such fields out when it writes a patch.
pub(super) fn apply(target: &mut Node, patch: &Node) {
    let (Value::Map(_), Value::Map(changes)) = (&target.value, &patch.value) else {
        *target = patch.clone();
        return;
    };
    for (name, change) in changes {
        let Some(name) = name.text().filter(|_| !is_empty(change)) else {
            continue;
        };
        let key = KEYS.iter().find(|(list, _)| *list == name);
        match (target.at_mut(&[name]), key) {
            (Some(list), Some((_, key))) => merge(list, change, key),
            (Some(value), None) => apply(value, change),
            (None, _) => target.set(name, change.clone()),
        }
    }
}

fn is_empty(change: &Node) -> bool {
    match &change.value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

/// Merges a list into another, element by element.
fn merge(list: &mut Node, changes: &Node, key: &str) {
    let Value::List(items) = &mut list.value else {
        *list = changes.clone();
        return;
    };
    for change in changes.items() {
        let mut known = items.iter_mut();
        let known = known.find(|it| it.text_of(key) == change.text_of(key));
        match known {
            Some(item) => apply(item, change),
            None => items.push(change.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A patched value, as YAML reads it.
    fn patched(target: &str, patch: &str) -> String {
        let read = |text: &str| {
            imgcheck_base::document::read("test", text)
                .unwrap()
                .remove(0)
        };
        let mut target = read(target);
        apply(&mut target, &read(patch));
        shown(&target)
    }

    fn shown(node: &Node) -> String {
        let list = |items: Vec<String>| items.join(", ");
        match &node.value {
            Value::List(items) => format!("[{}]", list(items.iter().map(shown).collect())),
            Value::Map(entries) => {
                let entry =
                    |(key, value): &(Node, Node)| format!("{}: {}", shown(key), shown(value));
                format!("{{{}}}", list(entries.iter().map(entry).collect()))
            }
            _ => node.text().unwrap_or("null").to_owned(),
        }
    }

    #[test]
    fn maps_and_keyed_lists_are_merged_and_all_else_is_replaced() {
        for (target, patch, expected) in [
            ("{a: {b: x}}", "{a: {c: y}}", "{a: {b: x, c: y}}"),
            ("{a: x}", "{a: {c: y}}", "{a: {c: y}}"),
            (
                "{containers: [{name: a, image: i}, {name: b}]}",
                "{containers: [{name: a, env: [{name: E}]}, {name: c}]}",
                "{containers: [{name: a, image: i, env: [{name: E}]}, {name: b}, {name: c}]}",
            ),
            (
                "{volumeMounts: [{mountPath: /a, name: x}]}",
                "{volumeMounts: [{mountPath: /a, name: y}, {mountPath: /b, name: x}]}",
                "{volumeMounts: [{mountPath: /a, name: y}, {mountPath: /b, name: x}]}",
            ),
            (
                "{tolerations: [x, y]}",
                "{tolerations: [z]}",
                "{tolerations: [z]}",
            ),
            (
                "{tolerations: [x], a: b}",
                "{tolerations: [], a: null}",
                "{tolerations: [x], a: b}",
            ),
            ("{env: x}", "{env: [{name: A}]}", "{env: [{name: A}]}"),
        ] {
            assert_eq!(patched(target, patch), expected, "{target} {patch}");
        }
    }
}
