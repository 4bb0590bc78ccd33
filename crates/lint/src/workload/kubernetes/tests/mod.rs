//! Objects in the shape of their projects' samples.
#![allow(clippy::unwrap_used)]

use crate::workload::{Container, Kinds, read};
use imgcheck_model::knowledge;

mod argo;
mod charts;
mod gpus;
mod projects;
mod ray;
mod resources;
mod serving;
mod tekton;

fn kinds() -> Kinds {
    knowledge::table("workloads").unwrap()
}

fn containers(texts: &[&str]) -> (Vec<Container>, Vec<String>) {
    let files = texts
        .iter()
        .map(|it| ("x.yaml".to_owned(), (*it).to_owned()));
    let files: Vec<(String, String)> = files.collect();
    let (workloads, malformed) = read(&files, &[], &kinds());
    assert!(malformed.is_empty(), "{malformed:?}");
    let other = workloads.iter().flat_map(|it| &it.not_understood);
    let other = other.map(|it| it.text.clone()).collect();
    let all = workloads.into_iter().flat_map(|it| it.containers);
    (all.collect(), other)
}

/// `group/name image` of each container, with the GPUs that it requests.
fn shown(text: &str) -> Vec<String> {
    let (containers, other) = containers(&[text]);
    assert_eq!(other, Vec::<String>::new());
    let line = |it: &Container| {
        let gpu = it.gpu.as_ref();
        let gpu = gpu.map(|it| format!(" {}={}", it.resource, it.count.unwrap_or_default()));
        let image = match it.image.as_str() {
            "" => "?",
            image => image,
        };
        format!("{} {image}{}", it.title(), gpu.unwrap_or_default())
    };
    containers.iter().map(line).collect()
}

fn object(api: &str, kind: &str, spec: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec:\n{spec}")
}

/// The containers of an object beside others, and what it refers to and nobody has.
fn beside(others: &str, object: &str) -> (Vec<String>, Vec<String>) {
    let files = [others, object].map(|it| ("x.yaml".to_owned(), it.to_owned()));
    let (workloads, malformed) = read(&files, &[], &kinds());
    assert!(malformed.is_empty(), "{malformed:?}");
    let its = workloads.iter().filter(|it| it.name == "x");
    let its: Vec<_> = its.collect();
    let containers = its.iter().flat_map(|it| &it.containers);
    let missing = its.iter().flat_map(|it| &it.not_understood);
    (
        containers
            .map(|it| format!("{} {}", it.title(), it.image))
            .collect(),
        missing
            .map(|it| format!("{}:{}", it.location.line, it.text))
            .collect(),
    )
}
