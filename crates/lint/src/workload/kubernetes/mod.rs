//! Kubernetes manifests: from objects to containers.

mod argo;
mod config_maps;
mod environment;
mod fields;
mod inline_script;
mod keys;
mod mpi;
mod objects;
mod parts;
mod patch;
mod path;
mod pod;
mod quantity;
mod queue;
mod ray;
mod reader;
mod references;
mod replica_specs;
mod resources;
mod runtime;
mod scheduling;
mod security_context;
mod serving;
mod tekton;
mod validation;

#[cfg(test)]
mod tests;

use super::evidence::{Scope, Search};
use super::facts::{Container, Evidence, EvidenceKind, RefusedField, Workload};
use super::kinds::{Kind, Kinds, Resources};
use super::shape::{is_pod, kind_of};
use super::text::Manifest;
use imgcheck_base::document::Node;
use imgcheck_model::finding::Location;

use fields::Fields;
pub use objects::Objects;
use pod::Template;
pub use queue::QUEUE;
use reader::Reader;
use references::{MissingObject, References};
pub use runtime::TRAIN_JOB;
pub use serving::INFERENCE_SERVICE;

/// The workload of an object; `None` if it starts no container, and nothing in it looks like one.
pub(super) fn read(
    object: &Node,
    manifest: &Manifest,
    objects: &Objects,
    kinds: &Kinds,
) -> Option<Workload> {
    let (expanded, missing) = expanded(object, objects);
    let undefined = argo::undefined(object, manifest);
    let object = expanded.as_ref().unwrap_or(object);
    let mut workload = of_expanded(object, manifest, objects, kinds);
    workload.not_understood = not_understood(object, &workload.containers, manifest, kinds);
    let missing = missing.into_iter();
    let missing = missing.map(|it| (it.title, manifest.location(&it.reference)));
    let mut references: Vec<(String, Location)> = missing.collect();
    match workload.containers.first_mut() {
        Some(first) => first.refused_fields.extend(undefined),
        None => {
            let undefined = undefined.into_iter();
            references.extend(undefined.map(|it| (format!("template {}", it.value), it.location)));
        }
    }
    let references = references.into_iter();
    workload
        .not_understood
        .extend(references.map(|(text, location)| Evidence {
            kind: EvidenceKind::Reference,
            location,
            text,
        }));
    let is_empty = workload.containers.is_empty() && workload.not_understood.is_empty();
    (!is_empty).then_some(workload)
}

/// The containers of an object.
pub(super) fn understood(
    object: &Node,
    manifest: &Manifest,
    objects: &Objects,
    kinds: &Kinds,
) -> Workload {
    let (expanded, _) = expanded(object, objects);
    let object = expanded.as_ref().unwrap_or(object);
    of_expanded(object, manifest, objects, kinds)
}

/// An object as its controller runs it, if that differs from what it says, and what it refers to that is not in the input.
fn expanded(object: &Node, objects: &Objects) -> (Option<Node>, Vec<MissingObject>) {
    let Some((group, _)) = kind_of(object) else {
        return (None, Vec::new());
    };
    let namespace = object.at(["metadata", "namespace"]).and_then(Node::text);
    let mut references = References::of(namespace.unwrap_or_default(), objects);
    let expanded = argo::expanded(group, object, &mut references)
        .or_else(|| tekton::expanded(group, object, &mut references))
        .or_else(|| ray::expanded(group, object))
        .or_else(|| mpi::expanded(object));
    (expanded, references.missing)
}

fn of_expanded(object: &Node, manifest: &Manifest, objects: &Objects, kinds: &Kinds) -> Workload {
    let kind = object.text_of("kind").unwrap_or_default();
    let metadata = |key: &str| object.at(["metadata", key]).and_then(Node::text);
    let namespace = metadata("namespace").unwrap_or_default();
    let name = metadata("name").or(metadata("generateName"));
    let with_runtime = runtime::with_trainer(object, namespace, objects)
        .or_else(|| serving::with_runtime(object, namespace, objects));
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
    let decider = runtime::decider(object).or_else(|| serving::decider(object, namespace, objects));
    let is_open = |it: &&mut Container| it.image.is_empty() && it.decided_by.is_empty();
    for container in containers.iter_mut().filter(is_open) {
        container.decided_by = decider.clone().unwrap_or_default();
    }
    Workload {
        file: manifest.name().to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        containers,
        not_understood: Vec::new(),
    }
}

/// What looks like an image or a GPU request, and belongs to none of the containers.
fn not_understood(
    object: &Node,
    containers: &[Container],
    manifest: &Manifest,
    kinds: &Kinds,
) -> Vec<Evidence> {
    let (group, kind) = kind_of(object).unwrap_or_default();
    let is_known = kinds.find(group, kind).is_some() && !containers.is_empty();
    let scope = match kinds.is_inert(group, kind) {
        true => Scope::Objects,
        false if is_known => Scope::Images,
        false => Scope::All,
    };
    Search::new(manifest, kinds, containers).run(object, scope)
}

impl Reader<'_> {
    fn containers(&self) -> Vec<Container> {
        let (group, kind) = kind_of(self.object).unwrap_or_default();
        if self.kinds.is_inert(group, kind) {
            return Vec::new();
        }
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
            for template in path::resolve(self.object, path) {
                if let Some(pod) = template.node.get("spec") {
                    containers.extend(self.template(pod, template.group).containers());
                }
            }
        }
        for path in &kind.pods {
            for pod in path::resolve(self.object, path) {
                containers.extend(self.template(pod.node, pod.group).containers());
            }
        }
        for part in &kind.parts {
            for place in path::resolve(self.object, &part.at) {
                let pod = parts::pod(part, place.node, self.object, self.kinds);
                containers.extend(self.template(&pod, place.group).containers());
            }
        }
        for refused in self.refused_fields(kind) {
            if let Some(owner) = owner(&refused, &mut containers) {
                owner.refused_fields.push(refused);
            }
        }
        let mut brings = kind.brings_files.iter();
        let brings_files = brings.any(|path| !path::resolve(self.object, path).is_empty());
        for container in &mut containers {
            container.default_shm &= !kind.shared_memory || pod::mounts_shared_memory(container);
            container
                .overlay
                .other_variables
                .extend(kind.variables.iter().cloned());
            container.overlay.other_volumes = !kind.mounts_known || brings_files;
            match kind.resources {
                None if !kind.mounts_known => container.clear_refusals(),
                Some(Resources::Completed) => {
                    container
                        .refused_resources
                        .retain(|it| it.problem != "limit");
                }
                None | Some(Resources::Kept) => {}
            }
            if kind.is_decided_later(&container.image) {
                container.decided_by = std::mem::take(&mut container.image);
            }
        }
        containers
    }

    /// What the API server refuses of an object of a kind, or the controller of the Pods in it.
    fn refused_fields(&self, kind: &Kind) -> Vec<RefusedField> {
        // The API server of a cluster judges its own objects.
        if self.manifest.text().is_empty() {
            return Vec::new();
        }
        // A test reads the table.
        let Ok(fields) = Fields::builtin() else {
            return Vec::new();
        };
        let is_whole = !validation::is_patch(self.object, kind);
        if let Some(mut found) = fields.refused(self.object, is_whole, self.manifest) {
            found.extend(validation::refused(
                self.object,
                kind,
                is_whole,
                self.manifest,
            ));
            return found;
        }
        let templates = kind.templates.iter().map(|it| (it, "PodTemplateSpec"));
        let pods = kind.pods.iter().map(|it| (it, "PodSpec"));
        let parts = templates.chain(pods).flat_map(|(path, name)| {
            let found = path::resolve(self.object, path).into_iter();
            found.map(move |part| (name, part))
        });
        let refused = parts.flat_map(|(name, part)| {
            fields.refused_as(name, part.node, &part.path, is_whole, self.manifest)
        });
        let mut found: Vec<RefusedField> = refused.collect();
        if is_whole {
            found.extend(replica_specs::refused(self.object, kind, self.manifest));
        }
        found
    }

    /// Any map whose list `containers` has an image is the specification of a Pod.
    fn of_structure(&self, node: &Node, group: &str, found: &mut Vec<Container>) {
        if is_pod(node) {
            let pod = self.template(node, group.to_owned());
            let containers = pod.containers().into_iter();
            return found.extend(containers.map(|mut it| {
                it.clear_refusals();
                it
            }));
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

/// The container that a refused field belongs to: the last of its name before it, or the first for a field of the Pod.
fn owner<'c>(refused: &RefusedField, containers: &'c mut [Container]) -> Option<&'c mut Container> {
    let is_own = |it: &Container| !refused.container.is_empty() && it.name == refused.container;
    let is_before = |it: &Container| it.location.line <= refused.location.line;
    let before = containers
        .iter()
        .rposition(|it| is_own(it) && is_before(it));
    let at = before.or_else(|| containers.iter().position(is_own));
    containers.get_mut(at.unwrap_or_default())
}
