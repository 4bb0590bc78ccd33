//! Paths in an object, as the table of kinds writes them: `spec.workerGroupSpecs[].template`, `spec.pytorchReplicaSpecs.*.template`.

use imgcheck_base::document::Node;

/// Words of a path that do not identify a part of a workload.
const PLAIN: [&str; 9] = [
    "spec",
    "template",
    "jobTemplate",
    "podTemplate",
    "containers",
    "container",
    "pod",
    "items",
    "podSpec",
];

/// Whether a key does not identify a part of a workload.
pub(super) fn is_plain(key: &str) -> bool {
    PLAIN.contains(&key)
}

/// A value at a path.
#[derive(Debug, Clone)]
pub(super) struct Part<'d> {
    /// Which part of the workload it is; empty for the only one.
    pub group: String,
    /// The path that led to it, with the index of each element and the name of each key.
    pub path: String,
    /// The value.
    pub node: &'d Node,
}

/// The values at a path. `NAME=PATH` names the part of the workload that they are; else the element or the key that the path leads
/// through does.
pub(super) fn resolve<'d>(object: &'d Node, path: &str) -> Vec<Part<'d>> {
    let (name, path) = path.split_once('=').unwrap_or(("", path));
    let whole = Part {
        group: name.to_owned(),
        path: String::new(),
        node: object,
    };
    let words = path.split('.').filter(|word| !word.is_empty());
    words.fold(vec![whole], |found, word| {
        found.iter().flat_map(|part| part.step(word)).collect()
    })
}

impl<'d> Part<'d> {
    fn step(&self, word: &str) -> Vec<Part<'d>> {
        let part = |group: &str, key: &str, node: &'d Node| Part {
            group: group.to_owned(),
            path: match self.path.as_str() {
                "" => key.to_owned(),
                path => format!("{path}.{key}"),
            },
            node,
        };
        if word == "*" {
            let entries = self.node.entries();
            let named = entries.filter_map(|(key, value)| {
                let key = key.text()?;
                Some(part(key, key, value))
            });
            return named.collect();
        }
        let Some(key) = word.strip_suffix("[]") else {
            let value = self.node.get(word);
            return value
                .map(|it| part(&self.group, word, it))
                .into_iter()
                .collect();
        };
        let items = self.node.items_of(key).enumerate().map(|(at, item)| {
            let name = item.text_of("name").or(item.text_of("groupName"));
            part(name.unwrap_or(&self.group), &format!("{key}[{at}]"), item)
        });
        items.collect()
    }
}
