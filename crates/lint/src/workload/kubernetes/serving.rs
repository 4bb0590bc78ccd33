//! An InferenceService starts the containers of the ServingRuntime that it names, with what its model changes (KServe, pkg/controller/
//! v1beta1/inferenceservice/utils: MergeRuntimeContainers, MergePodSpec, UpdateImageTag). A model that names none gets one of those that
//! support its format ([`selectable`]).

use super::objects::Objects;
use super::patch;
use crate::workload::shape::kind_of;
use imgcheck_base::document::{Node, Value};

/// The kind whose containers are those of a runtime.
pub const INFERENCE_SERVICE: &str = "InferenceService";
/// The container of a runtime that serves the model.
const CONTAINER: &str = "kserve-container";
/// Fields of a predictor that name a format, and have the fields of `model`.
const FORMATS: [&str; 10] = [
    "huggingface",
    "lightgbm",
    "onnx",
    "paddle",
    "pmml",
    "pytorch",
    "sklearn",
    "tensorflow",
    "triton",
    "xgboost",
];
/// The protocol of a model that names none.
const PROTOCOL: &str = "v1";
/// Runtimes whose image for GPUs has `-gpu` at the end of its tag.
const GPU_TAGS: [&str; 2] = ["kserve-tensorflow-serving", "kserve-torchserve"];
/// One that has it in some versions of KServe.
const PERHAPS_GPU_TAG: &str = "kserve-huggingfaceserver";

/// An InferenceService with what its runtime says, which has the place of the name of the runtime; `None` if that is not in the input.
pub(super) fn with_runtime(object: &Node, namespace: &str, objects: &Objects) -> Option<Node> {
    let predictor = predictor(object)?;
    let model = predictor.get("model")?;
    let (named, (name, runtime)) = match model.get("runtime") {
        Some(named) => {
            let name = named.text()?;
            let runtime = objects.runtime("ServingRuntime", namespace, name);
            let runtime = runtime.or_else(|| objects.runtime("ClusterServingRuntime", "", name))?;
            (named, (name, runtime))
        }
        None => match selectable(predictor, namespace, objects).as_slice() {
            [only] => (model.at(["modelFormat", "name"])?, *only),
            _ => return None,
        },
    };
    let mut pod = runtime.get("spec")?.clone();
    pod.place_at(&named.span);
    for key in ["imagePullSecrets", "workerSpec"] {
        take(&mut pod, key);
    }
    let mut own = predictor.clone();
    take(&mut own, "model");
    patch::apply(&mut pod, &own);
    let Value::List(containers) = &mut pod.at_mut(&["containers"])?.value else {
        return None;
    };
    let mut containers = containers.iter_mut();
    let container = containers.find(|it| it.text_of("name") == Some(CONTAINER))?;
    let mut change = model.clone();
    take(&mut change, "name");
    patch::apply(container, &change);
    if model.get("image").is_none() {
        set_tag(container, name, model.text_of("runtimeVersion"));
    }
    let mut object = object.clone();
    object.at_mut(&["spec"])?.set("predictor", pod);
    Some(object)
}

/// The runtimes that KServe may select for a model that names none: those of the namespace before those of the cluster, and of these the ones
/// of highest priority (KServe, pkg/apis/serving/v1beta1/predictor_model.go: GetSupportingRuntimes). Between several, their order in the
/// cluster decides.
fn selectable<'o>(
    predictor: &Node,
    namespace: &str,
    objects: &'o Objects,
) -> Vec<(&'o str, &'o Node)> {
    let kinds = [("ServingRuntime", namespace), ("ClusterServingRuntime", "")];
    for (kind, namespace) in kinds {
        let all = objects.runtimes(kind, namespace);
        let supporting = all.filter_map(|it| Some((priority(predictor, it.1)?, it)));
        let mut supporting: Vec<_> = supporting.collect();
        if let Some(highest) = supporting.iter().map(|(priority, _)| *priority).max() {
            supporting.retain(|(priority, _)| *priority == highest);
            let mut highest: Vec<_> = supporting.into_iter().map(|(_, it)| it).collect();
            highest.sort_by_key(|(name, _)| *name);
            return highest;
        }
    }
    Vec::new()
}

/// The priority of a runtime for a model; `None` if it does not support it, or is not selected by itself.
fn priority(predictor: &Node, runtime: &Node) -> Option<i64> {
    let (model, spec) = (predictor.get("model")?, runtime.get("spec")?);
    let is_on = |key: &str| spec.text_of(key) == Some("true");
    let protocol = model.text_of("protocolVersion").unwrap_or(PROTOCOL);
    let mut protocols = spec.items_of("protocolVersions").peekable();
    let speaks = protocols.peek().is_none() || protocols.any(|it| it.text() == Some(protocol));
    let has_workers = |node: &Node| node.get("workerSpec").is_some();
    if is_on("disabled")
        || is_on("multiModel")
        || !speaks
        || has_workers(predictor) != has_workers(spec)
    {
        return None;
    }
    let format = model.get("modelFormat")?;
    let (name, version) = (format.text_of("name")?, format.text_of("version"));
    let mut supported = spec
        .items_of("supportedModelFormats")
        .filter(|it| it.text_of("autoSelect") == Some("true") && it.text_of("name") == Some(name));
    let has_version = |it: &&Node| version.is_none() || it.text_of("version") == version;
    let first = supported.find(has_version)?;
    let priority = first.text_of("priority").and_then(|it| it.parse().ok());
    Some(priority.unwrap_or(0))
}

/// What decides an image that is not in an InferenceService.
pub(super) fn decider(object: &Node, namespace: &str, objects: &Objects) -> Option<String> {
    let predictor = predictor(object)?;
    let model = predictor.get("model");
    if let Some(name) = model.and_then(|it| it.text_of("runtime")) {
        return Some(format!("ServingRuntime {name}"));
    }
    let several = selectable(predictor, namespace, objects);
    if !several.is_empty() {
        let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
        return Some(format!("one of the ServingRuntimes {}", names.join(", ")));
    }
    let format = model.and_then(|it| it.at(["modelFormat", "name"])?.text());
    let mut formats = FORMATS.iter().copied();
    let format = format.or_else(|| formats.find(|it| predictor.get(it).is_some()))?;
    Some(format!("a ServingRuntime for {format}"))
}

fn predictor(object: &Node) -> Option<&Node> {
    let is_service = kind_of(object) == Some(("serving.kserve.io", INFERENCE_SERVICE));
    is_service.then(|| object.at(["spec", "predictor"]))?
}

/// Gives the image of a runtime the tag that it has for a version, or for GPUs. An image that is not certain is empty.
fn set_tag(container: &mut Node, runtime: &str, version: Option<&str>) {
    let has_gpu = ["limits", "requests"].iter().any(|group| {
        let resources = container.at(["resources", group]).into_iter();
        let mut pairs = resources.flat_map(Node::pairs);
        pairs.any(|(name, count)| name.starts_with("nvidia.com/") && count != "0")
    });
    let Some(image) = container.at_mut(&["image"]) else {
        return;
    };
    let Value::Text(text) = &mut image.value else {
        return;
    };
    let tag = text.rsplit('/').next().and_then(|it| it.split_once(':'));
    let tag = tag.map(|(_, tag)| tag.to_owned());
    match (version, tag) {
        _ if text.contains('@') => {}
        (Some(version), Some(tag)) => {
            let name = text.len() - tag.len();
            text.replace_range(name.., version);
        }
        (Some(version), None) => *text = format!("{text}:{version}"),
        (None, Some(tag)) if has_gpu && !tag.ends_with("-gpu") => match runtime {
            PERHAPS_GPU_TAG => text.clear(),
            _ if GPU_TAGS.contains(&runtime) => text.push_str("-gpu"),
            _ => {}
        },
        (None, _) => {}
    }
}

fn take(map: &mut Node, key: &str) {
    if let Some(value) = map.at_mut(&[key]) {
        value.value = Value::Null;
    }
}
