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

/// The values at a path, each with the name of the part of the workload that it is. `NAME=PATH` gives the name; else it is the name
/// of the element or the key that the path leads through.
pub(super) fn resolve<'d>(object: &'d Node, path: &str) -> Vec<(String, &'d Node)> {
    let (name, path) = path.split_once('=').unwrap_or(("", path));
    let mut found = vec![(name.to_owned(), object)];
    for word in path.split('.').filter(|word| !word.is_empty()) {
        found = found
            .into_iter()
            .flat_map(|(group, node)| step(group, node, word))
            .collect();
    }
    found
}

fn step<'d>(group: String, node: &'d Node, word: &str) -> Vec<(String, &'d Node)> {
    if word == "*" {
        let entries = node.entries();
        let named = entries.filter_map(|(key, value)| Some((key.text()?.to_owned(), value)));
        return named.collect();
    }
    let Some(key) = word.strip_suffix("[]") else {
        return node.get(word).map(|it| (group, it)).into_iter().collect();
    };
    let items = node.items_of(key);
    let named = items.map(|item| {
        let name = item.text_of("name").or(item.text_of("groupName"));
        (name.unwrap_or(&group).to_owned(), item)
    });
    named.collect()
}
