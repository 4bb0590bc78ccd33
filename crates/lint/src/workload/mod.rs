//! What a manifest deploys: containers, what they replace in their images, and where they may run.
//!
//! [`read`] turns the text of files into [`Workload`]s. Nothing here reads an image.

mod compose;
mod evidence;
mod facts;
mod hints;
mod judged;
mod kinds;
mod kubernetes;
mod placement;
mod script;
mod shape;
mod text;

use crate::lint::compose::services;
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical;

pub use facts::{
    Container, Evidence, EvidenceKind, ExecAction, GpuRequest, Mount, PossibleGpu, RdmaRequest,
    RefusedResource, Role, RuntimeClass, Unknown, Variable, Workload,
};
pub use judged::{
    AffinityFacts, ClassFacts, ExecFailure, HiddenFiles, Peer, RefusedUser, WorkloadFacts,
};
pub use kinds::{Kind, Kinds};
pub use kubernetes::{INFERENCE_SERVICE, Objects, QUEUE, TRAIN_JOB};
pub use lexical::is_below;
pub use placement::Placement;
use text::Manifest;

/// The largest file, in bytes.
pub const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Maximum number of containers of one file.
const MAX_CONTAINERS: usize = 10_000;

/// The group and kind of a `kustomization.yaml`, which need not say them.
const KUSTOMIZATION: (&str, &str) = ("kustomize.config.k8s.io", "Kustomization");
const KUSTOMIZATIONS: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// How lines of a manifest begin.
const MANIFEST_KEYS: [&str; 3] = ["apiVersion:", "kind:", "services:"];

/// What is wrong with a template, and the help.
const TEMPLATE: &str = "this is a template";
const RENDER: &str = "render it first: `helm template … | imgcheck preflight -`";

/// A file, or a document of it, that could not be read, and why.
pub type Malformed = (String, Error);

/// Reads the workloads of files, each a name and a text. Objects refer to each other across files, and to those of a cluster, which are
/// not judged themselves; what the files say counts more.
pub fn read(
    files: &[(String, String)],
    of_cluster: &[serde_json::Value],
    kinds: &Kinds,
) -> (Vec<Workload>, Vec<Malformed>) {
    let (mut workloads, mut malformed) = (Vec::new(), Vec::new());
    let mut objects = Objects::default();
    objects.add_all(of_cluster, kinds);
    let mut parsed = Vec::new();
    for (name, text) in files {
        match documents(name, text) {
            Ok((manifest, documents)) => {
                for object in objects_in(&documents) {
                    objects.add(object, kinds);
                    objects.add_refused(object, &manifest);
                }
                parsed.push((manifest, documents));
            }
            Err(error) => malformed.push((name.clone(), error)),
        }
    }
    for (manifest, documents) in &parsed {
        let (found, errors) = workloads_of(manifest, documents, &objects, kinds);
        workloads.extend(found);
        let name = manifest.name();
        malformed.extend(errors.into_iter().map(|it| (name.to_owned(), it)));
    }
    if malformed.is_empty() && workloads.is_empty() {
        malformed.extend(without_objects(&parsed));
    }
    if workloads.is_empty() {
        let files = parsed.iter();
        let errors = files.filter_map(|(manifest, documents)| kustomization(manifest, documents));
        malformed.extend(errors);
    }
    (workloads, malformed)
}

/// Whether a file that was found in a directory is a manifest, perhaps a faulty one, and not something else, such as the values of a chart.
pub fn is_manifest(name: &str, text: &str) -> bool {
    let Ok((manifest, documents)) = documents(name, text) else {
        let begins = |line: &str| MANIFEST_KEYS.iter().any(|it| line.starts_with(it));
        return text.lines().any(begins) || text.contains("\"apiVersion\"");
    };
    let has = |it: &Node, keys: [&str; 2]| keys.iter().any(|key| it.get(key).is_some());
    let is_service = |it: &Node| has(it, ["image", "build"]);
    objects_in(&documents).into_iter().any(|it| {
        let is_object = has(it, ["apiVersion", "kind"]) && has(it, ["metadata", "spec"]);
        let mut services = services(it).into_iter().flat_map(Node::entries);
        is_object
            || shape::is_object(it)
            || services.any(|(_, service)| is_service(service))
            || is_kustomization(&manifest, it)
    })
}

/// The error of input without any object, as a chart renders it whose parts are all switched off.
fn without_objects(parsed: &[(Manifest, Vec<Node>)]) -> Option<Malformed> {
    let is_empty = |(manifest, documents): &(Manifest, Vec<Node>)| {
        documents.is_empty() && !script::is_script(manifest.text())
    };
    let (first, _) = parsed.first().filter(|_| parsed.iter().all(is_empty))?;
    let error = Error::damaged(
        first.name(),
        "there is no object in it, only comments and separators",
    );
    Some((first.name().to_owned(), error))
}

/// The error of a file with a Kustomization, which names the manifests of others.
fn kustomization(manifest: &Manifest, documents: &[Node]) -> Option<Malformed> {
    let mut documents = documents.iter();
    let found = documents.find(|it| is_kustomization(manifest, it))?;
    let error = manifest.fault(
        found.span.clone(),
        "a Kustomization starts no container itself",
        "render it first: `kubectl kustomize DIRECTORY | imgcheck preflight -`",
    );
    Some((manifest.name().to_owned(), error))
}

fn is_kustomization(manifest: &Manifest, document: &Node) -> bool {
    let file = lexical::name_of(manifest.name());
    shape::kind_of(document) == Some(KUSTOMIZATION) || KUSTOMIZATIONS.contains(&file)
}

/// Reads the workload of one object that a cluster is asked to store; `None` if it starts no container. It has no text and no name, so
/// equal objects have equal workloads.
pub fn of_object(
    object: &serde_json::Value,
    namespace: &str,
    objects: &Objects,
    kinds: &Kinds,
) -> Option<Workload> {
    let manifest = Manifest::new("", "").ok()?;
    let mut node = Node::of_json(object);
    if !shape::is_object(&node) {
        return None;
    }
    // Its metadata may not have it yet.
    if let Some(metadata) = node.at_mut(&["metadata"]) {
        metadata.set("namespace", Node::of_json(&namespace.into()));
    }
    let mut workload = kubernetes::understood(&node, &manifest, objects, kinds);
    if let more @ 1.. = workload.containers.len().saturating_sub(MAX_CONTAINERS) {
        // Nobody looks at them, so they must not pass: a container without an image does not.
        workload.containers.truncate(MAX_CONTAINERS);
        workload.containers.push(Container {
            name: format!("{more} more"),
            may_have_gpu: true,
            ..Container::default()
        });
    }
    let is_empty = workload.containers.is_empty();
    (!is_empty).then(|| workload.in_cluster(namespace))
}

/// Whether something in an object that a cluster is asked to store looks like an image or a GPU request, and belongs to no container that
/// is understood.
pub fn has_more(object: &serde_json::Value, objects: &Objects, kinds: &Kinds) -> bool {
    let node = Node::of_json(object);
    let read = |manifest: Manifest| kubernetes::read(&node, &manifest, objects, kinds);
    let workload = Manifest::new("", "").ok().and_then(read);
    let is_here = |it: &Evidence| it.kind != EvidenceKind::Reference;
    shape::is_object(&node) && workload.is_some_and(|it| it.not_understood.iter().any(is_here))
}

fn documents<'t>(name: &'t str, text: &'t str) -> Result<(Manifest<'t>, Vec<Node>)> {
    let manifest = Manifest::new(name, text)?;
    if script::is_script(manifest.text()) {
        return Ok((manifest, Vec::new()));
    }
    let documents = document::read_manifest(name, manifest.text())
        .map_err(|error| template(&manifest).unwrap_or(error.in_judged_file()))?;
    if let Some(key) = documents.iter().find_map(Node::key_without_text) {
        let place = key.span.clone();
        return Err(template(&manifest).unwrap_or_else(|| {
            manifest.fault(
                place,
                "this key is not text",
                "quote it, or correct the indentation",
            )
        }));
    }
    Ok((manifest, documents))
}

/// The objects of documents: those of a list one by one.
fn objects_in(documents: &[Node]) -> Vec<&Node> {
    let mut objects = Vec::new();
    let documents = documents.iter();
    documents.for_each(|it| shape::flatten(it, &mut objects));
    objects
}

/// The error of a file that is a template, at its first placeholder.
fn template(manifest: &Manifest) -> Option<Error> {
    let at = manifest.text().find("{{")?;
    Some(manifest.fault(at..at + 2, TEMPLATE, RENDER))
}

/// The workloads of a file, and what is wrong with its other documents.
fn workloads_of(
    manifest: &Manifest,
    documents: &[Node],
    objects: &Objects,
    kinds: &Kinds,
) -> (Vec<Workload>, Vec<Error>) {
    let (mut workloads, mut errors) = (Vec::new(), Vec::new());
    if script::is_script(manifest.text()) {
        workloads.extend(script::read(manifest, kinds));
    }
    for document in objects_in(documents) {
        if let Some(services) = services(document) {
            workloads.push(compose::read(document, services, manifest, kinds));
        } else if shape::is_object(document) {
            workloads.extend(kubernetes::read(document, manifest, objects, kinds));
        } else if !is_kustomization(manifest, document) {
            errors.push(manifest.fault(
                document.span.clone(),
                "neither a Kubernetes object nor a Compose file",
                "an object has `apiVersion` and `kind`, a Compose file has `services`",
            ));
        }
    }
    let containers = workloads.iter().flat_map(|it: &Workload| &it.containers);
    if containers.count() > MAX_CONTAINERS {
        let name = manifest.name();
        let problem = format!("{name}: more than {MAX_CONTAINERS} containers");
        return (Vec::new(), vec![Error::usage(problem)]);
    }
    let unrendered = |workload: &Workload| {
        let mut containers = workload.containers.iter();
        let container = containers.find(|it| it.image.contains("{{"));
        container.map(|it| it.location.clone())
    };
    let place = workloads.iter().find_map(unrendered);
    errors.extend(place.map(|it| manifest.fault_at(&it, TEMPLATE, RENDER)));
    workloads.retain(|it| unrendered(it).is_none());
    (workloads, errors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_beyond_the_limit_do_not_pass() -> Result<()> {
        let kinds = imgcheck_model::knowledge::table("workloads")?;
        let read = |count: usize| {
            let containers: Vec<_> = (0..count)
                .map(|at| json!({"name": format!("c{at}"), "image": "a/b:1"}))
                .collect();
            let pod =
                json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}});
            of_object(&pod, "ml", &Objects::default(), &kinds).unwrap_or_default()
        };
        let limit = read(MAX_CONTAINERS).containers;
        assert_eq!(limit.len(), MAX_CONTAINERS);
        assert!(limit.iter().all(|it| it.image == "a/b:1"));
        let more = read(MAX_CONTAINERS + 3).containers;
        assert_eq!(more.len(), MAX_CONTAINERS + 1);
        let last = &more[MAX_CONTAINERS];
        assert_eq!((last.name.as_str(), last.image.as_str()), ("3 more", ""));
        assert!(last.may_have_gpu);
        Ok(())
    }
}
