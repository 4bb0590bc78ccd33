//! What the webhooks of Kubeflow's training operator refuse of the replicas of a job: `pkg/webhooks` of its release 1.9.

use imgcheck_base::document::Node;

use super::fields::quoted;
use super::path;
use crate::workload::facts::RefusedField;
use crate::workload::kinds::{Kind, ReplicaSpecs};
use crate::workload::text::{Manifest, is_final};

/// What is refused of an object that is not a patch.
pub(super) fn refused(object: &Node, kind: &Kind, manifest: &Manifest) -> Vec<RefusedField> {
    let Some(demanded) = &kind.replica_specs else {
        return Vec::new();
    };
    let maps = kind
        .templates
        .iter()
        .filter_map(|it| it.strip_suffix(".*.template"));
    let maps = maps.flat_map(|it| path::resolve(object, it));
    maps.flat_map(|it| demanded.refused(&it.path, it.node, manifest))
        .collect()
}

impl ReplicaSpecs {
    fn refused(&self, path: &str, map: &Node, manifest: &Manifest) -> Vec<RefusedField> {
        let invalid = |field: &str, node: &Node, says: &str| {
            RefusedField::invalid(format!("{path}{field}"), node, says, manifest)
        };
        let mut found = Vec::new();
        let has = |name: &str| {
            map.entries()
                .any(|(key, _)| key.text().is_some_and(|it| it.eq_ignore_ascii_case(name)))
        };
        if let Some(name) = self.required.as_deref().filter(|it| !has(it)) {
            found.push(invalid(
                &format!(".{name}"),
                map,
                "Required value: must be present",
            ));
        }
        for (key, replica) in map.entries() {
            let Some(name) = key.text().filter(|it| is_final(it)) else {
                continue;
            };
            // The operator corrects upper and lower case first.
            let is_name = |it: &String| it.eq_ignore_ascii_case(name);
            if !self.types.is_empty() && !self.types.iter().any(is_name) {
                let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
                let says = format!("supported values: {}", quoted(&types));
                found.push(invalid(&format!(".{name}"), key, &says));
            }
            let count = replica
                .get("replicas")
                .filter(|_| self.single.as_ref().is_some_and(is_name));
            let is_wrong = |it: &&Node| it.text().is_some_and(|it| is_final(it) && it != "1");
            if let Some(count) = count.filter(is_wrong) {
                found.push(invalid(&format!(".{name}.replicas"), count, "must be 1"));
            }
            let Some(pod) = replica.at(["template", "spec"]) else {
                continue;
            };
            let is_it = |it: &Node| {
                it.text_of("name")
                    .is_some_and(|it| it == self.container || !is_final(it))
            };
            if let Some(list) = pod.get("containers").filter(|it| !it.items().any(is_it)) {
                let says = format!(
                    "Required value: must have at least one container with name {}",
                    self.container
                );
                found.push(invalid(
                    &format!(".{name}.template.spec.containers"),
                    list,
                    &says,
                ));
            }
        }
        found
    }
}
