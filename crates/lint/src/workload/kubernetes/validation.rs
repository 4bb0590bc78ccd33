//! Names, selectors and restart policies that every API server refuses.
//!
//! Source: kubernetes/kubernetes, `ValidatePodSpec`, `validateContainers`, `ValidateVolumes` in `pkg/apis/core/validation/validation.go`,
//! `ValidateDeploymentSpec` in `pkg/apis/apps/validation` and `ValidateJobSpec` in `pkg/apis/batch/validation`.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{MOST, quoted, refused_at};
use super::path::{self, Part};
use crate::workload::facts::RefusedField;
use crate::workload::kinds::Kind;
use crate::workload::shape::{LISTS, containers_of, has_claim, volume};
use crate::workload::text::{LONGEST_LABEL, Manifest, is_final, is_label};
use imgcheck_base::document::Node;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;
const LABEL: &str =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'";
const SUBDOMAIN: &str =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'";
/// Kinds with a selector of their Pods.
const SELECTING: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// What is refused of an object that the API server itself knows.
pub(super) fn refused(
    object: &Node,
    kind: &Kind,
    is_whole: bool,
    manifest: &Manifest,
) -> Vec<RefusedField> {
    let mut check = Check {
        manifest,
        container: String::new(),
        found: Vec::new(),
    };
    check.name_of_object(object);
    if !is_whole {
        return check.found;
    }
    check.selector(object);
    for path in paths_of_pods(kind) {
        for pod in path::resolve(object, &path) {
            check.restart_policy(object, &pod);
            check.deadline(object, &pod);
            check.volumes(&pod);
            check.containers(object, &pod);
        }
    }
    check.found
}

struct Check<'c> {
    manifest: &'c Manifest<'c>,
    /// The name of the container that is checked; else empty.
    container: String,
    found: Vec<RefusedField>,
}

impl Check<'_> {
    fn add(&mut self, field: String, node: &Node, says: impl Into<String>) {
        if self.found.len() >= MOST {
            return;
        }
        self.found.push(RefusedField {
            container: self.container.clone(),
            problem: "invalid".to_owned(),
            says: says.into(),
            ..refused_at(field, node, self.manifest)
        });
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
    fn restart_policy(&mut self, object: &Node, pod: &Part) {
        let allowed: &[&str] = match object.text_of("kind") {
            Some("Job" | "CronJob") => &["OnFailure", "Never"],
            Some("Pod" | "PodTemplate") => &["Always", "OnFailure", "Never"],
            _ => &["Always"],
        };
        let field = format!("{}.restartPolicy", pod.path);
        let supported = quoted(allowed);
        match pod.node.get("restartPolicy") {
            Some(policy) if is_wrong(policy, |it| allowed.contains(&it)) => {
                self.add(field, policy, format!("supported values: {supported}"));
            }
            None if !allowed.contains(&"Always") => {
                let says = format!("Required value: one of {supported}");
                self.add(field, pod.node, says);
            }
            _ => {}
        }
    }

    /// Only the Pods of a Job have a deadline.
    fn deadline(&mut self, object: &Node, pod: &Part) {
        let kind = object.text_of("kind").unwrap_or_default();
        let deadline = pod.node.get("activeDeadlineSeconds");
        if let Some(deadline) = deadline.filter(|_| SELECTING.contains(&kind)) {
            let says = format!("activeDeadlineSeconds in {kind} is not supported");
            self.add(
                format!("{}.activeDeadlineSeconds", pod.path),
                deadline,
                says,
            );
        }
    }

    fn volumes(&mut self, pod: &Part) {
        let mut known = BTreeSet::new();
        for (at, volume) in pod.node.items_of("volumes").enumerate() {
            self.name(volume, &format!("{}.volumes[{at}]", pod.path), &mut known);
        }
    }

    fn containers(&mut self, object: &Node, pod: &Part) {
        let mut known = BTreeSet::new();
        for (list, _) in LISTS {
            for (at, container) in pod.node.items_of(list).enumerate() {
                let path = format!("{}.{list}[{at}]", pod.path);
                self.container = container.text_of("name").unwrap_or_default().to_owned();
                if container.get("name").is_none() {
                    self.add(format!("{path}.name"), container, "Required value");
                }
                self.name(container, &path, &mut known);
                self.mounts(object, pod.node, container, &path);
            }
        }
        self.container.clear();
    }

    /// The name of a container or volume is a label, and no other has it.
    fn name<'n>(&mut self, item: &'n Node, path: &str, known: &mut BTreeSet<&'n str>) {
        let Some(name) = item.get("name") else {
            return;
        };
        let field = format!("{path}.name");
        let text = name.text().filter(|it| is_final(it)).unwrap_or_default();
        if is_wrong(name, |it| it.len() <= LONGEST_LABEL && is_label(it)) {
            self.add(field, name, LABEL);
        } else if !text.is_empty() && !known.insert(text) {
            self.add(field, name, format!("Duplicate value: \"{text}\""));
        }
    }

    fn mounts(&mut self, object: &Node, pod: &Node, container: &Node, path: &str) {
        let is_there = |it: &str| volume(pod, it).is_some() || has_claim(object, it);
        for (at, mount) in container.items_of("volumeMounts").enumerate() {
            let name = mount.get("name").filter(|it| is_wrong(it, is_there));
            if let Some(name) = name {
                let says = format!("Not found: \"{}\"", name.text().unwrap_or_default());
                self.add(format!("{path}.volumeMounts[{at}].name"), name, says);
            }
        }
    }
}

/// Whether an object is a patch of another, as overlays of Kustomize have: it has a directive such as `$patch`, no selector, or a container without
/// image, or none. What it lacks, the other has.
pub(super) fn is_patch(object: &Node, kind: &Kind) -> bool {
    let has_selector = object.at(["spec", "selector"]).is_some();
    let needs_selector = object
        .text_of("kind")
        .is_some_and(|it| SELECTING.contains(&it));
    let lacks_image = paths_of_pods(kind).any(|path| {
        let pods = path::resolve(object, &path);
        pods.iter().any(|pod| {
            let mut containers = containers_of(pod.node).peekable();
            containers.peek().is_none() || containers.any(|it| it.get("image").is_none())
        })
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
