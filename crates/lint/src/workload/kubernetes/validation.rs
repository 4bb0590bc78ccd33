//! Values of Pods that every API server refuses, besides resources and types.
//!
//! Source: kubernetes/kubernetes, `ValidatePodSpec`, `validateContainers`, `ValidateVolumes`, `ValidateTolerations` in
//! `pkg/apis/core/validation/validation.go`, `ValidateDeploymentSpec` in `pkg/apis/apps/validation` and `ValidateJobSpec` in
//! `pkg/apis/batch/validation`.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::MOST;
use super::{config_maps, path};
use crate::workload::facts::RefusedField;
use crate::workload::kinds::Kind;
use crate::workload::shape::{LISTS, containers_of, has_claim, volume};
use crate::workload::text::{Manifest, is_final, is_label};
use imgcheck_base::document::Node;

/// The longest name of a container or volume.
const LONGEST_LABEL: usize = 63;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
const LABEL: &str =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'";
const SUBDOMAIN: &str =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'";
/// Kinds with a selector of their Pods.
const SELECTING: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];
const POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// What is refused of an object that the API server itself knows.
pub(super) fn refused(object: &Node, kind: &Kind, manifest: &Manifest) -> Vec<RefusedField> {
    let mut check = Check {
        manifest,
        found: Vec::new(),
    };
    check.name_of_object(object);
    if is_patch(object, kind) {
        return check.found;
    }
    check.selector(object);
    for path in paths_of_pods(kind) {
        for (_, pod) in path::resolve(object, &path) {
            check.restart_policy(object, pod, &path);
            check.tolerations(pod, &path);
            check.volumes(pod, &path);
            check.containers(object, pod, &path);
        }
    }
    check.found
}

struct Check<'c> {
    manifest: &'c Manifest<'c>,
    found: Vec<RefusedField>,
}

impl Check<'_> {
    fn add(&mut self, field: String, node: &Node, says: impl Into<String>) {
        if self.found.len() >= MOST {
            return;
        }
        self.found.push(RefusedField {
            field,
            value: node.text().unwrap_or_default().to_owned(),
            problem: "invalid".to_owned(),
            says: says.into(),
            location: self.manifest.location(node),
            ..RefusedField::default()
        });
    }

    /// A field that a map lacks.
    fn required(&mut self, field: String, map: &Node) {
        if map.entries().next().is_some() {
            self.add(field, map, "Required value");
        }
    }

    fn name_of_object(&mut self, object: &Node) {
        let Some(name) = object.at(["metadata", "name"]) else {
            return;
        };
        let is_subdomain = |it: &str| it.len() <= LONGEST_NAME && it.split('.').all(is_label);
        if is_wrong(name, is_subdomain) {
            self.add("metadata.name".to_owned(), name, SUBDOMAIN);
        }
    }

    /// The selector of a Deployment and its like selects the Pods of its template.
    fn selector(&mut self, object: &Node) {
        let kind = object.text_of("kind").unwrap_or_default();
        let Some(spec) = object.get("spec").filter(|_| SELECTING.contains(&kind)) else {
            return;
        };
        let labels = spec.at(["template", "metadata", "labels"]);
        let labels: BTreeMap<&str, &str> = labels.into_iter().flat_map(Node::pairs).collect();
        let selected = spec.at(["selector", "matchLabels"]);
        for (key, value) in selected.into_iter().flat_map(Node::entries) {
            let (Some(name), Some(wanted)) = (key.text(), value.text()) else {
                continue;
            };
            let has = labels.get(name).copied();
            let is_final = is_final(wanted) && has.is_none_or(is_final);
            if is_final && has != Some(wanted) {
                let says = "`selector` does not match the labels in `template.metadata`";
                self.add(format!("spec.selector.matchLabels.{name}"), value, says);
            }
        }
    }

    /// Pods of a Job end, and those of other controllers do not.
    fn restart_policy(&mut self, object: &Node, pod: &Node, path: &str) {
        let policy = pod.get("restartPolicy");
        let text = policy.map_or("Always", |it| it.text().unwrap_or_default());
        let allowed: &[&str] = match object.text_of("kind") {
            Some("Job" | "CronJob") => &["OnFailure", "Never"],
            Some("Pod" | "PodTemplate") => &["Always", "OnFailure", "Never"],
            _ => &["Always"],
        };
        if is_final(text) && !allowed.contains(&text) {
            let says = format!("supported values: {}", quoted(allowed));
            let field = format!("{path}.restartPolicy");
            self.add(field, policy.unwrap_or(pod), says);
        }
    }

    fn tolerations(&mut self, pod: &Node, path: &str) {
        for (at, toleration) in pod.items_of("tolerations").enumerate() {
            let value = toleration.get("value");
            let value = value.filter(|it| it.text().is_some_and(|it| !it.is_empty()));
            let is_exists = toleration.text_of("operator") == Some("Exists");
            if let Some(value) = value.filter(|_| is_exists) {
                let says = "value must be empty when `operator` is 'Exists'";
                self.add(format!("{path}.tolerations[{at}].value"), value, says);
            }
            const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            let effect = toleration.get("effect");
            let is_known = |it: &str| it.is_empty() || EFFECTS.contains(&it);
            if let Some(effect) = effect.filter(|it| is_wrong(it, is_known)) {
                let says = format!("supported values: {}", quoted(&EFFECTS));
                self.add(format!("{path}.tolerations[{at}].effect"), effect, says);
            }
        }
    }

    fn volumes(&mut self, pod: &Node, path: &str) {
        let volumes: Vec<&Node> = pod.items_of("volumes").collect();
        self.names(&volumes, &format!("{path}.volumes"));
        for (at, volume) in volumes.iter().enumerate() {
            let is_source = |it: &&(Node, Node)| {
                it.0.text() != Some("name") && volume.get(it.0.text().unwrap_or_default()).is_some()
            };
            let mut sources = volume.entries().filter(is_source);
            if let Some(((one, _), (_, other))) = sources.next().zip(sources.next()) {
                let one = one.text().unwrap_or_default();
                let says = format!("beside `{one}`: may not specify more than 1 volume type");
                self.add(format!("{path}.volumes[{at}]"), other, says);
            }
            for (kind, source) in volume.entries() {
                let kind = kind.text().unwrap_or_default();
                self.modes(source, &format!("{path}.volumes[{at}].{kind}"));
            }
        }
    }

    /// The permission bits of the files of a volume: `755` without a zero in front is a decimal number.
    fn modes(&mut self, source: &Node, path: &str) {
        let files = source.items_of("items").enumerate();
        let modes = files.map(|(at, it)| (format!("{path}.items[{at}].mode"), it.get("mode")));
        let default = (format!("{path}.defaultMode"), source.get("defaultMode"));
        for (field, mode) in modes.chain([default]) {
            if let Some(mode) = mode.filter(|it| config_maps::mode(it) > Some(0o777)) {
                let says = "must be a number between 0 and 0777 (octal), both inclusive";
                self.add(field, mode, says);
            }
        }
    }

    fn containers(&mut self, object: &Node, pod: &Node, path: &str) {
        let mut all = Vec::new();
        for (list, _) in LISTS {
            let containers: Vec<&Node> = pod.items_of(list).collect();
            for (at, container) in containers.iter().enumerate() {
                let path = format!("{path}.{list}[{at}]");
                self.mounts(object, pod, container, &path);
                self.variables(container, &path);
                let policy = container.get("imagePullPolicy");
                let is_known = |it: &str| it.is_empty() || POLICIES.contains(&it);
                if let Some(policy) = policy.filter(|it| is_wrong(it, is_known)) {
                    let says = format!("supported values: {}", quoted(&POLICIES));
                    self.add(format!("{path}.imagePullPolicy"), policy, says);
                }
            }
            all.push((containers, format!("{path}.{list}")));
        }
        for (containers, path) in &all {
            self.names(containers, path);
        }
    }

    /// The names of containers or volumes: they are there, are labels, and differ.
    fn names(&mut self, list: &[&Node], path: &str) {
        let mut known = BTreeSet::new();
        for (at, item) in list.iter().enumerate() {
            let field = format!("{path}[{at}].name");
            let Some(name) = item.get("name") else {
                self.required(field, item);
                continue;
            };
            let text = name.text().filter(|it| is_final(it)).unwrap_or_default();
            if is_wrong(name, |it| it.len() <= LONGEST_LABEL && is_label(it)) {
                self.add(field, name, LABEL);
            } else if !text.is_empty() && !known.insert(text) {
                self.add(field, name, format!("Duplicate value: \"{text}\""));
            }
        }
    }

    fn mounts(&mut self, object: &Node, pod: &Node, container: &Node, path: &str) {
        let mut known = BTreeSet::new();
        for (at, mount) in container.items_of("volumeMounts").enumerate() {
            let field = |name: &str| format!("{path}.volumeMounts[{at}].{name}");
            if let Some(name) = mount.get("name") {
                let is_there = |it: &str| volume(pod, it).is_some() || has_claim(object, it);
                if is_wrong(name, is_there) {
                    let says = format!("Not found: \"{}\"", name.text().unwrap_or_default());
                    self.add(field("name"), name, says);
                }
            }
            if let Some(place) = mount.get("mountPath") {
                let text = place.text().unwrap_or_default();
                if is_final(text) && !known.insert(text) {
                    self.add(field("mountPath"), place, "must be unique");
                }
            }
        }
    }

    fn variables(&mut self, container: &Node, path: &str) {
        for (at, variable) in container.items_of("env").enumerate() {
            let field = |name: &str| format!("{path}.env[{at}].{name}");
            if variable.get("name").is_none() {
                self.required(field("name"), variable);
            }
            let value = variable.get("value");
            let has_value = value.is_some_and(|it| it.text().is_none_or(|it| !it.is_empty()));
            if let Some(source) = variable.get("valueFrom").filter(|_| has_value) {
                let says = "may not be specified when `value` is not empty";
                self.add(field("valueFrom"), source, says);
            }
        }
    }
}

/// Whether an object is a patch of another, as overlays of Kustomize have: it has a directive such as `$patch`, no selector, or a container without
/// image. What it lacks, the other has.
fn is_patch(object: &Node, kind: &Kind) -> bool {
    let has_selector = object.at(["spec", "selector"]).is_some();
    let needs_selector = object
        .text_of("kind")
        .is_some_and(|it| SELECTING.contains(&it));
    let lacks_image = paths_of_pods(kind).any(|path| {
        let pods = path::resolve(object, &path);
        let mut containers = pods.iter().flat_map(|(_, pod)| containers_of(pod));
        containers.any(|it| it.get("image").is_none())
    });
    needs_selector && !has_selector || lacks_image || has_directive(object)
}

/// The paths of the specifications of Pods.
fn paths_of_pods(kind: &Kind) -> impl Iterator<Item = String> {
    let templates = kind.templates.iter().map(|it| format!("{it}.spec"));
    templates.chain(kind.pods.iter().cloned())
}

fn has_directive(node: &Node) -> bool {
    let is_directive = |key: &Node| key.text().is_some_and(|it| it.starts_with('$'));
    let mut entries = node.entries();
    entries.any(|(key, value)| is_directive(key) || has_directive(value))
        || node.items().any(has_directive)
}

/// Whether a text that nothing replaces before the API server gets it is not allowed.
fn is_wrong(node: &Node, is_allowed: impl Fn(&str) -> bool) -> bool {
    node.text()
        .is_some_and(|it| is_final(it) && !is_allowed(it))
}

fn quoted(words: &[&str]) -> String {
    let words = words.iter().map(|it| format!("\"{it}\""));
    words.collect::<Vec<_>>().join(", ")
}
