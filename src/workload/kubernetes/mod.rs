//! Kubernetes manifests: from objects to containers.

mod environment;
mod objects;
mod patch;
mod path;
mod pod;
mod queue;
mod reader;
mod runtime;
mod scheduling;

use super::facts::{Container, Workload};
use super::kinds::{Kind, Kinds};
use super::text::Manifest;
use crate::document::{Node, Value};

pub use objects::Objects;
use pod::Template;
pub use queue::QUEUE;
use reader::Reader;
pub use runtime::TRAIN_JOB;

/// An object: a map with `apiVersion` and `kind`.
pub(super) fn is_object(node: &Node) -> bool {
    node.text_of("apiVersion").is_some() && node.text_of("kind").is_some()
}

/// The objects of a document: those of a list one by one.
pub(super) fn flatten<'d>(node: &'d Node, found: &mut Vec<&'d Node>) {
    let is_list = node.text_of("kind").is_some_and(|it| it.ends_with("List"));
    match (&node.value, is_list && node.get("items").is_some()) {
        (Value::List(items), _) => items.iter().for_each(|it| flatten(it, found)),
        (_, true) => node.items_of("items").for_each(|it| flatten(it, found)),
        _ => found.push(node),
    }
}

/// The workload of an object; `None` if it starts no container.
pub(super) fn read(
    object: &Node,
    manifest: &Manifest,
    objects: &Objects,
    kinds: &Kinds,
) -> Option<Workload> {
    let kind = object.text_of("kind").unwrap_or_default();
    let metadata = |key: &str| object.at(["metadata", key]).and_then(Node::text);
    let namespace = metadata("namespace").unwrap_or_default();
    let name = metadata("name").or(metadata("generateName"));
    let with_runtime = runtime::with_trainer(object, namespace, objects);
    let reader = Reader {
        manifest,
        objects,
        kinds,
        namespace,
        object: with_runtime.as_ref().unwrap_or(object),
    };
    let mut containers = reader.containers();
    if containers.is_empty()
        && let Some(reference) = runtime::reference(object)
    {
        containers.push(Container {
            location: manifest.location(reference),
            ..Container::default()
        });
    }
    (!containers.is_empty()).then(|| Workload {
        file: manifest.name().to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        containers,
    })
}

impl Reader<'_> {
    fn containers(&self) -> Vec<Container> {
        let kind = self.object.text_of("kind").unwrap_or_default();
        let group = self.object.text_of("apiVersion").unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        let mut containers = match self.kinds.find(group, kind) {
            Some(known) => self.of_kind(known),
            None => Vec::new(),
        };
        if containers.is_empty() {
            self.of_structure(self.object, "", &mut containers);
        }
        containers
    }

    /// The containers at the paths that the table names.
    fn of_kind(&self, kind: &Kind) -> Vec<Container> {
        let mut containers = Vec::new();
        for path in &kind.templates {
            for (group, template) in path::resolve(self.object, path) {
                if let Some(pod) = template.get("spec") {
                    containers.extend(self.template(pod, group).containers());
                }
            }
        }
        for path in &kind.pods {
            for (group, pod) in path::resolve(self.object, path) {
                containers.extend(self.template(pod, group).containers());
            }
        }
        let image = kind.image.as_ref();
        let image = image.and_then(|path| self.object.at(path.split('.')));
        for path in &kind.containers {
            // What is around a container has the volumes and the node selector.
            let (around, last) = path.rsplit_once('.').unwrap_or(("", path));
            for (group, pod) in path::resolve(self.object, around) {
                let found = path::resolve(pod, last).into_iter();
                let template = self.template(pod, group);
                let all = found.filter_map(|(_, it)| template.container_of(it, image));
                containers.extend(all);
            }
        }
        containers
    }

    /// Any map whose list `containers` has an image is the specification of a Pod.
    fn of_structure(&self, node: &Node, group: &str, found: &mut Vec<Container>) {
        let has_image = |it: &Node| it.text_of("image").is_some();
        if node.items_of("containers").any(has_image) {
            let pod = self.template(node, group.to_owned());
            return found.extend(pod.containers());
        }
        for (key, value) in node.entries() {
            let group = key.text().filter(|it| !path::is_plain(it)).unwrap_or(group);
            self.of_structure(value, group, found);
        }
        for item in node.items() {
            let name = item.text_of("name").or(item.text_of("groupName"));
            self.of_structure(item, name.unwrap_or(group), found);
        }
    }

    fn template<'p>(&'p self, pod: &'p Node, group: String) -> Template<'p> {
        Template::new(pod, self.object, group, self)
    }
}
