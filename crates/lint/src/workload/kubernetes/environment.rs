//! The environment of a container: `envFrom`, then `env`, with `$(NAME)` expanded as the kubelet does (Kubernetes, "Define
//! Dependent Environment Variables").

use std::collections::BTreeMap;

use super::reader::Reader;
use crate::workload::facts::{Unknown, Variable};
use imgcheck_base::document::Node;

/// The variables that a container sets.
#[derive(Debug, Default)]
pub(super) struct Environment {
    pub variables: Vec<Variable>,
    pub unknown: Vec<Unknown>,
    /// The values that are known at the end.
    pub values: BTreeMap<String, String>,
}

impl Environment {
    pub fn read(container: &Node, reader: &Reader) -> Self {
        let mut environment = Environment::default();
        for source in container.items_of("envFrom") {
            environment.add_source(source, reader);
        }
        for entry in container.items_of("env") {
            environment.add_entry(entry, reader);
        }
        environment
    }

    /// All variables of a ConfigMap or Secret.
    fn add_source(&mut self, source: &Node, reader: &Reader) {
        let prefix = source.text_of("prefix").unwrap_or_default();
        let named = |key: &str| source.at([key, "name"]).and_then(Node::text);
        let (kind, name) = match named("configMapRef") {
            Some(name) => ("ConfigMap", name),
            None => ("Secret", named("secretRef").unwrap_or_default()),
        };
        if let Some(data) = reader.objects.data(kind, reader.namespace, name) {
            for (key, value) in data {
                self.set(format!("{prefix}{key}"), value.clone(), source, reader);
            }
            return;
        }
        self.unknown.push(Unknown {
            variable: None,
            message: format!("{kind} {name} may set any variable, and is not in the input"),
            location: reader.manifest.location(source),
        });
    }

    fn add_entry(&mut self, entry: &Node, reader: &Reader) {
        let Some(name) = entry.text_of("name") else {
            return;
        };
        let from = entry.get("valueFrom");
        let key = from.and_then(|it| it.get("configMapKeyRef"));
        let value = match (from, key) {
            (None, _) => {
                let text = entry.text_of("value").unwrap_or_default();
                Some(expand(text, &self.values))
            }
            (Some(_), Some(key)) => {
                let map = key.text_of("name").unwrap_or_default();
                let map = reader.objects.data("ConfigMap", reader.namespace, map);
                map.and_then(|map| map.get(key.text_of("key")?)?.clone())
            }
            (Some(_), None) => None,
        };
        let place = entry.get("value").unwrap_or(entry);
        self.set(name.to_owned(), value, place, reader);
    }

    fn set(&mut self, name: String, value: Option<String>, place: &Node, reader: &Reader) {
        let location = reader.manifest.location(place);
        match &value {
            Some(value) => {
                self.values.insert(name.clone(), value.clone());
            }
            None => {
                self.values.remove(&name);
                self.unknown.push(Unknown {
                    variable: Some(name.clone()),
                    message: format!("the value of {name} is not in the input"),
                    location: location.clone(),
                });
            }
        }
        self.variables.retain(|it| it.name != name);
        self.variables.push(Variable {
            name,
            value,
            location,
        });
    }
}

/// Replaces `$(NAME)` by a value that is known; `$$` is a dollar sign, and other references stay.
pub(super) fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest.strip_prefix("$(").and_then(|it| it.split_once(')'));
        match name {
            _ if rest.starts_with("$$") => {
                expanded.push('$');
                rest = &rest[2..];
            }
            Some((name, after)) if values.contains_key(name) => {
                expanded.push_str(&values[name]);
                rest = after;
            }
            _ => {
                expanded.push('$');
                rest = &rest[1..];
            }
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the Kubernetes API reference, `EnvVar.value`.
    #[test]
    fn references_expand_as_the_kubelet_does() {
        let values = BTreeMap::from([("A".to_owned(), "x".to_owned())]);
        for (text, expected) in [
            ("$(A)/$(A)", "x/x"),
            ("$$(A)", "$(A)"),
            ("$(B) $A ${A} $", "$(B) $A ${A} $"),
            ("$(A", "$(A"),
            ("$$$(A)", "$x"),
        ] {
            assert_eq!(expand(text, &values), expected, "{text}");
        }
    }
}
