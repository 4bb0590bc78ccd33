//! What Kubeflow's training operator refuses of the replicas of a job: `pkg/webhooks` of its release 1.9, `pkg/apis/kubeflow.org/v1` before.
//! Releases before 1.8 correct upper and lower case, and take one replica where the number is missing, so neither is reported.

use imgcheck_base::document::Node;

use super::fields::{MOST, quoted, refused_at};
use super::path;
use crate::workload::facts::RefusedField;
use crate::workload::kinds::{Kind, ReplicaSpecs};
use crate::workload::text::{Manifest, is_final};

/// What is refused of an object that is not a patch.
pub(super) fn refused(object: &Node, kind: &Kind, manifest: &Manifest) -> Vec<RefusedField> {
    let Some(specs) = &kind.replica_specs else {
        return Vec::new();
    };
    let templates = kind.templates.iter();
    let maps = templates.filter_map(|it| it.strip_suffix(".*.template"));
    let maps = maps.flat_map(|it| path::resolve(object, it));
    let found = maps.flat_map(|it| specs.refused(&it.path, it.node, manifest));
    found.take(MOST).collect()
}

impl ReplicaSpecs {
    fn refused(&self, path: &str, map: &Node, manifest: &Manifest) -> Vec<RefusedField> {
        let mut found = Vec::new();
        let mut add = |field: String, node: &Node, says: String, meant: &str| {
            found.push(RefusedField {
                problem: "invalid".to_owned(),
                says,
                meant: meant.to_owned(),
                ..refused_at(format!("{path}.{field}"), node, manifest)
            });
        };
        for (key, replica) in map.entries() {
            let Some(name) = key.text().filter(|it| is_final(it)) else {
                continue;
            };
            if let Some(says) = self.refused_type(name) {
                add(name.to_owned(), key, says, "");
            }
            if let Some(count) = self.refused_count(name, replica) {
                add(
                    format!("{name}.replicas"),
                    count,
                    "must be 1".to_owned(),
                    "",
                );
            }
            if let Some(list) = self.without_container(replica) {
                let container = &self.container;
                let says = format!(
                    "Required value: must have at least one container with name {container}"
                );
                add(
                    format!("{name}.template.spec.containers"),
                    list,
                    says,
                    container,
                );
            }
        }
        found
    }

    /// What is said of a replica type that there is not.
    fn refused_type(&self, name: &str) -> Option<String> {
        let is_known = self.types.iter().any(|it| it.eq_ignore_ascii_case(name));
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let is_refused = !types.is_empty() && !is_known;
        is_refused.then(|| format!("supported values: {}", quoted(&types)))
    }

    /// The number of replicas of a type that has one.
    fn refused_count<'n>(&self, name: &str, replica: &'n Node) -> Option<&'n Node> {
        let single = self.single.as_deref()?;
        let count = replica
            .get("replicas")
            .filter(|_| single.eq_ignore_ascii_case(name))?;
        count
            .text()
            .is_some_and(|it| is_final(it) && it != "1")
            .then_some(count)
    }

    /// The containers of a Pod of which none has the name.
    fn without_container<'n>(&self, replica: &'n Node) -> Option<&'n Node> {
        let list = replica.at(["template", "spec", "containers"])?;
        let is_final_other = |it: &Node| {
            it.text_of("name")
                .is_none_or(|it| it != self.container && is_final(it))
        };
        list.items().all(is_final_other).then_some(list)
    }
}
